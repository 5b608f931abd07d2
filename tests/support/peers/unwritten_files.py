"""HDF5 files in which cells were never written, in every way in which HDF5 keeps that: made by h5py."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

SHAPE = (10, 13)
CHUNKS = (4, 5)
WRITTEN = np.s_[4:8, 5:10]
"""One whole chunk."""


class Case(NamedTuple):
    """One dataset: its type, who gives its fill value, when that is written, when space is allocated, its layout."""

    type: str
    fill: str
    time: str
    space: str
    layout: str
    written: bool

    @property
    def name(self) -> str:
        """The name of its dataset."""
        return "_".join((*self[:5], "some" if self.written else "none"))

    @property
    def defined(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The cells whose values HDF5 defines."""
        whole = self.time != "never" or (self.layout == "contiguous" and self.written)
        found = np.full(SHAPE, whole)
        found[WRITTEN] |= self.written
        return found


TYPES: dict[str, tuple[Any, Any, Any]] = {
    "i4": ("<i4", 7, 1),
    "big": (">i2", 7, 1),
    "f8": ("<f8", 7.5, 1),
    "char": ("S1", b"z", b"q"),
    "enum": ("enum", 7, 1),
    "opaque": ("V3", b"abc", b"xyz"),
    "record": ([("a", "<i4"), ("b", ">f4")], (5, 2.5), (1, 1)),
    "gaps": (np.dtype([("a", "i1"), ("b", "<f8")], align=True), (5, 2.5), (1, 1)),
}
"""By name: dtype, fill value, value."""

LAYOUTS = ("chunked", "deflated", "contiguous")


def cases() -> list[Case]:
    """All of them, but for contiguous data whose space grows, which HDF5 has not."""
    found = itertools.product(
        TYPES, ("zeros", "own"), ("ifset", "alloc", "never"), ("early", "late", "incr"), LAYOUTS, (True, False)
    )
    made = (Case(*each) for each in found)
    return [
        case
        for case in made
        if (case.layout, case.space) != ("contiguous", "incr") and (case.type in ("i4", "big") or case.space == "late")
    ]


def value(name: str, number: int, h5py: ModuleType) -> Any:
    """The fill value of a type (0), or the value that is written (1)."""
    dtype = dtype_of(name, h5py)
    given = TYPES[name][1 + number]
    return np.frombuffer(given, dtype)[0] if dtype.kind in "VS" and dtype.names is None else np.array(given, dtype)


def dtype_of(name: str, h5py: ModuleType) -> np.dtype[Any]:
    """The dtype of a type."""
    given = TYPES[name][0]
    found: np.dtype[Any] = h5py.enum_dtype({"A": 0, "B": 1, "C": 7}, "i1") if given == "enum" else np.dtype(given)
    return found


def make(path: Path, h5py: ModuleType) -> None:
    """A file with all cases."""
    d = h5py.h5d
    times = {"ifset": d.FILL_TIME_IFSET, "alloc": d.FILL_TIME_ALLOC, "never": d.FILL_TIME_NEVER}
    spaces = {"early": d.ALLOC_TIME_EARLY, "late": d.ALLOC_TIME_LATE, "incr": d.ALLOC_TIME_INCR}
    with h5py.File(path, "w") as file:
        for name, length in zip("yx", SHAPE, strict=True):
            file.create_dataset(name, data=np.arange(length, dtype="<i4")).make_scale(name)
        for case in cases():
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if case.layout != "contiguous":
                plist.set_chunk(CHUNKS)
            if case.layout == "deflated":
                plist.set_deflate(1)
            plist.set_fill_time(times[case.time])
            plist.set_alloc_time(spaces[case.space])
            if case.fill == "own":
                plist.set_fill_value(np.asarray(value(case.type, 0, h5py)))
            kind = h5py.h5t.py_create(dtype_of(case.type, h5py), logical=True)
            space = h5py.h5s.create_simple(SHAPE)
            made = h5py.Dataset(d.create(file.id, case.name.encode(), kind, space, plist))
            for axis, name in enumerate("yx"):
                made.dims[axis].attach_scale(file[name])
            if case.written:
                made[WRITTEN] = np.broadcast_to(value(case.type, 1, h5py), (4, 5))
