"""Sources as scripts: each draw is a short program for the library that writes the source.

A script is self-contained Python: it uses `np` and `path` and imports its library, so that a failing draw can be pasted
into a file and run. The library that wrote the source reads it back, and what it reads is the truth. Only cells that no
library defines (never written, and the file says not to fill) are tracked here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Draw = Any


class Source(NamedTuple):
    """One file or store that a library of others writes and reads."""

    process: str
    """Which judge runs the script and reads the source: `old`, `hdf5` (h5py alone), `new` (the newest zarr-python)."""
    reader: str
    """The reader of the judge that gives the truth."""
    suffix: str
    script: str
    undefined: dict[str, NDArray[np.bool_]]
    """Cells that no library defines, by variable."""
    growing: str | None = None
    """The dimension along which two sources of this kind can be joined."""


INTEGERS = {
    f"{kind}{size}": [str(value) for value in (0, 1, low, high, 7)]
    for kind in "iu"
    for size in (1, 2, 4, 8)
    for low, high in [(np.iinfo(f"{kind}{size}").min, np.iinfo(f"{kind}{size}").max)]
}
FLOATS = {
    "f4": ["0.5", "-0.0", "np.nan", "np.inf", "1e20", "0.1", "np.uint32(0x7fc12345).view('f4')"],
    "f8": ["0.5", "-0.0", "np.nan", "-np.inf", "1e300", "0.1", "np.uint64(0x7ff8000000012345).view('f8')"],
}
NUMBERS = INTEGERS | FLOATS


@st.composite
def shapes(draw: Draw, most: int = 3, longest: int = 7, least: int = 0) -> tuple[int, ...]:
    """A shape of few small lengths; lengths of 0 are rare."""
    rank = draw(st.integers(least, most))
    return tuple(draw(st.sampled_from([5, 3, 1, 2, 4, longest, 0])) for _ in range(rank))


@st.composite
def chunk_lengths(draw: Draw, shape: tuple[int, ...], beyond: bool = False) -> tuple[int, ...]:
    """Chunk lengths that suit a shape, some longer than the array where the library takes them."""
    return tuple(draw(st.integers(1, max(1, length) + (2 if beyond else 0))) for length in shape)


@st.composite
def boxes(draw: Draw, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """A region of an array of at least one cell."""
    found = []
    for length in shape:
        start = draw(st.integers(0, length - 1))
        found.append(slice(start, draw(st.integers(start + 1, length))))
    return tuple(found)


def indices(box: tuple[slice, ...]) -> str:
    """A region as it stands in a script."""
    return ", ".join(f"{part.start}:{part.stop}" for part in box) or "()"


def extent(box: tuple[slice, ...]) -> tuple[int, ...]:
    """The lengths of a region."""
    return tuple(part.stop - part.start for part in box)


class Element(NamedTuple):
    """A type of elements: its dtype and some values, as they stand in a script."""

    dtype: str
    values: tuple[str, ...]
    numeric: bool = False

    def array(self, shape: tuple[int, ...], turn: int = 0) -> str:
        """An array of these values over and over, beginning with another one each turn."""
        values = [self.values[(turn + place) % len(self.values)] for place in range(len(self.values))]
        return f"np.resize(np.array([{', '.join(values)}], {self.dtype}), {shape})"

    def one(self, turn: int) -> str:
        """One value."""
        return f"np.array({self.values[turn % len(self.values)]}, {self.dtype})[()]"


@st.composite
def numbers(draw: Draw, names: tuple[str, ...] = tuple(NUMBERS), orders: str = "<>") -> Element:
    """A type of numbers in one of the byte orders."""
    name = draw(st.sampled_from(names))
    order = draw(st.sampled_from(orders)) if not name.endswith("1") else ""
    values = draw(st.lists(st.sampled_from(NUMBERS[name]), min_size=1, max_size=4, unique=True))
    return Element(repr(order + name), tuple(values), numeric=True)


@st.composite
def attribute_lines(draw: Draw, target: str, setter: str, kinds: tuple[str, ...]) -> list[str]:
    """Attributes of exact values; `setter` is a line with places for target, name and value."""
    lines: list[str] = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from(kinds), max_size=2, unique=True))):
        count = draw(st.integers(1, 2))
        values = ", ".join(draw(st.sampled_from(NUMBERS[kind][:6])) for _ in range(count))
        text = f"np.array([{values}], '{kind}')" if count > 1 else f"np.{np.dtype(kind).name}({values})"
        lines.append(setter.format(target=target, name=f"att{number}", value=text))
    return lines
