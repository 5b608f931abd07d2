"""Datasets over DAP2 through netCDF4-python: values are those of the dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.serving import serving

pytestmark = pytest.mark.peer

GRIDS = """netcdf t {
dimensions: x = 2 ; n = 3 ;
variables: double x(x) ; float y(x) ; int plain(n) ; int z(x) ;
data: x = 1, 2 ; y = 3, 4 ; plain = 5, 6, 7 ; z = 8, 9 ;
}
"""


def test_grids_between_arrays(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """libnetcdf requests all arrays before all grids, and reads the answer in the order of the declarations."""
    peer("uvicorn")
    library = peer("netCDF4")
    (tmp_path / "t.cdl").write_text(GRIDS, encoding="utf-8")
    with serving(tmp_path) as served, library.Dataset(f"{served.url}dap2/t.cdl") as found:
        read = {name: variable[...].tolist() for name, variable in found.variables.items()}
    assert read == {"x": [1, 2], "y": [3, 4], "plain": [5, 6, 7], "z": [8, 9]}
