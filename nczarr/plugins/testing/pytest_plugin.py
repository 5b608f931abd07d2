"""Plugin of pytest: the fixture `cdl`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle


@pytest.fixture
def cdl(tmp_path: Path) -> Callable[..., DatasetHandle | Path]:
    """Return a function that makes a dataset from CDL: `cdl(text)`, or a file `cdl(text, "a.nc")`.

    The file or store is in `tmp_path`; its format follows from the suffix, unless
    it is named: `cdl(text, "a.zarr", "zarr3")`. The function raises CompileError
    with the diagnostics of a wrong text.
    """

    def make(text: str, name: str | None = None, to: str | None = None) -> DatasetHandle | Path:
        """Return the open dataset, or the path of the one that is written."""
        import nczarr

        dataset = nczarr.from_cdl(text)
        if name is None:
            return dataset
        nczarr.convert(dataset, tmp_path / name, to)
        return tmp_path / name

    return make
