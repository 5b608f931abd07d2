"""Files to serve, and their values as the netCDF library reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.peers import exactness

REAL = exactness.real_folder()


FILES = [subject.path for subject in exactness.real(REAL)] if REAL is not None else []


SMALL = sorted(path for path in FILES if path.stat().st_size < 120_000)[::4]


needs_files = pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")


WRONG = {("bad_missing_data.nc", "temp")}
"""Variables that netCDF4-python alone misreads: arrays that are shorter than their dimension."""


def truth(path: Path) -> dict[str, Any]:
    """Every variable whose values are numbers, chars or texts, by its path, as libnetcdf reads it."""
    import netCDF4

    found: dict[str, Any] = {}

    def collect(group: Any, prefix: str) -> None:
        for name, variable in group.variables.items():
            if isinstance(variable.datatype, netCDF4.CompoundType | netCDF4.VLType) or "/" in name:
                continue
            if (Path(path).name, name) not in WRONG:
                found[prefix + name] = variable[...]
        for name, child in group.groups.items():
            collect(child, f"{prefix}{name}/")

    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        collect(file, "")
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two arrays have equal shapes and values, bit by bit; texts as texts."""
    import numpy as np

    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "OTU" or other.dtype.kind in "OTU":
        return bool((one.astype(object) == other.astype(object)).all())
    if one.dtype.kind != other.dtype.kind and "V" in one.dtype.kind + other.dtype.kind:
        return one.tobytes() == other.tobytes()
    return one.astype(one.dtype.newbyteorder("<")).tobytes() == other.astype(other.dtype.newbyteorder("<")).tobytes()
