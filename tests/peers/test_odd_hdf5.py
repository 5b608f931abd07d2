"""HDF5 files of other projects: every dataset that h5py reads has the same values here, or a reason is reported."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import CompileError
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE
from nczarr.formats.netcdf4.header_model import DEEPEST
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.open import open_source
from tests.conftest import shared_folder

SCALE_ALONE = b"This is a netCDF dimension but not a netCDF variable"
"""Start of the name of a scale without values."""


def odd_files() -> list[Path]:
    """The files of other projects, if they are there."""
    shared = shared_folder()
    folder = None if shared is None else shared / "data" / "hdf5-odd"
    return [] if folder is None else sorted(path for path in folder.glob("*.*") if path.suffix != ".json")


def datasets(h5py: ModuleType, group: Any, path: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Yield path and dataset of all that h5py opens, of links to the same group each."""
    for name in group:
        try:
            node = group[name]
        except (KeyError, OSError):
            continue  # the link has no target
        if isinstance(node, h5py.Dataset):
            yield f"{path}/{name}", node
        elif isinstance(node, h5py.Group) and depth < DEEPEST:
            yield from datasets(h5py, node, f"{path}/{name}", depth + 1)


def plain(value: Any) -> Any:
    """Return a value as nested lists: texts and opaque values flat, as bytes without padding; records as lists."""
    if value is None:
        return b""  # a NIL, which h5py shows as an empty text
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value.rstrip(b"\0")
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.names:
            cells = value.reshape(-1) if value.shape else [value]
            fields = [[plain(cell[name]) for name in value.dtype.names] for cell in cells]
            return fields if value.shape else fields[0]
        if value.dtype.kind in "MmV":
            return plain([cell.tobytes() for cell in value.reshape(-1)])
        if value.dtype == "S1" and value.ndim:  # texts of records are chars
            value = np.ascontiguousarray(value).view(f"S{value.shape[-1]}").reshape(value.shape[:-1])
        if value.dtype.kind in "OS":
            return plain(value.reshape(-1).tolist() if value.shape else value.item())
        return value.astype(value.dtype.newbyteorder("=")).tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two values are equal; NaN equals NaN."""
    if type(theirs).__name__ == "Empty":  # without a dataspace
        return bool(ours.size == 0)
    numbers = [isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iufb" for value in (ours, theirs)]
    if all(numbers):
        return np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f")
    return repr(plain(ours)) == repr(plain(theirs))  # NaN, whose text is equal


def compared(h5py: ModuleType, path: Path) -> dict[str, str]:
    """Return the outcome of each dataset that h5py reads."""
    report = Report(limit=100_000)
    checked = phases.read(open_source(str(path)), report, Options())
    messages = [each.message for each in report.list_sorted()]
    assert checked is not None, messages
    messages += [one.text for one in checked.omitted]
    outcome = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nczarr.DataWarning)
        dataset = nczarr.open(path)
    with h5py.File(path) as file, dataset:
        for place, node in datasets(h5py, file):
            try:
                theirs = node[()]
            except (OSError, TypeError, ValueError):
                continue
            outcome[place] = _compared(dataset, place, node, theirs, messages)
    return outcome


def _compared(dataset: nczarr.DatasetHandle, place: str, node: Any, theirs: Any, messages: list[str]) -> str:
    """Return the outcome of a dataset with its values by h5py."""
    if np.asarray(node.attrs.get("NAME", b"")).tobytes().startswith(SCALE_ALONE):
        return "dimension"
    try:
        variable = dataset[place.replace(NON_COORDINATE, "")]
        if not isinstance(variable, nczarr.VariableHandle):
            raise KeyError(place)
    except KeyError:
        return "named" if any(f"`{place}`" in message for message in messages) else "MISSING"
    try:
        ours = variable[...]
    except (CompileError, OSError) as error:
        return f"REFUSED: {error}"
    if same(ours, theirs):
        return "same"
    return f"DIFFERENT: {str(ours)[:200]} of h5py's {str(theirs)[:200]}"


@pytest.mark.long
@pytest.mark.skipif(not odd_files(), reason="the files of other projects are not there")
def test_values_are_those_of_h5py(peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    h5py = peer("h5py")
    outcomes = {f"{path.name} {place}": what for path in odd_files() for place, what in compared(h5py, path).items()}
    faults = [f"{place}: {what}" for place, what in outcomes.items() if what not in ("same", "dimension", "named")]
    assert faults == []
    assert len(outcomes) > 900
