"""Any array as a dataset: what netCDF can say comes back from a netCDF file, what it cannot has a name."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import ArrayPieces, Flat, Indexed, ListNode, Spans, TextNode
from tests.support.columns import columns
from tests.support.proof import share

NAMED = {"lost-union", "lost-mask", "unreadable-array", "cut-string", "lost-nil", "type-too-large", "rank-limit"}


@pytest.mark.slow
@settings(max_examples=share(2000), suppress_health_check=list(HealthCheck), deadline=None)
@given(columns())
def test_any_array(column: Any) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        nczarr.awkward0.save(folder / "a.awkd", column, "a")
        try:
            nczarr.convert(folder / "a.awkd", folder / "a.nc")
        except CompileError as error:
            unnamed = {each.code for each in error.diagnostics if each.severity == "error"} - NAMED
            if unnamed:
                raise
            nczarr.convert(folder / "a.awkd", folder / "a.nc", allow_loss=["all"])
        nczarr.convert(folder / "a.nc", folder / "b.awkd")
        nczarr.convert(folder / "b.awkd", folder / "b.nc")
        assert nczarr.diff(folder / "a.nc", folder / "b.nc", storage=True) == []
        nczarr.convert(folder / "a.nc", folder / "c.zarr")
        assert nczarr.diff(folder / "a.nc", folder / "c.zarr") == []
        if _simple(column):
            values = nczarr.awkward0.items(nczarr.awkward0.columns(_unpacked(folder / "b.awkd"), "a.json"))
            assert repr(values) == repr(nczarr.awkward0.items(column))


def _unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _simple(column: Any) -> bool:
    """Whether netCDF has the very items of a column: numbers, lists and texts, none of them missing."""
    match column:
        case Flat():
            return column.values.ndim == 1 and column.values.dtype.kind in "iuf" and column.values.dtype.itemsize > 2
        case ListNode() | Spans() | Indexed():
            return not (isinstance(column, Indexed) and column.optional) and _simple(column.content)
        case TextNode():
            items = nczarr.awkward0.items(column)
            return column.encoding == "utf-8" and not any("\0" in each or not each.isprintable() for each in items)
        case ArrayPieces():
            return bool(column.pieces) and all(map(_simple, column.pieces))
    return False
