"""Files by h5py: filters in every order, allocation, fill times, resized datasets, odd types."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from .elements import Draw, Element, Source, attribute_lines, boxes, chunk_lengths, extent, indices, numbers, shapes

ODD_HDF5 = (
    Element("'<f2'", ("0.5", "np.nan", "-0.0", "6e-8"), numeric=True),
    Element("'S1'", ("b'a'", "b''", "b'\\xff'")),
    Element("'S3'", ("b'ab'", "b''", "b'abc'", "b'\\xc3\\xa9'")),
    Element("h5py.string_dtype()", ("'a'", "''", "'\\xe9\\u20ac'", "'longer than others'")),
    Element("h5py.enum_dtype({'a': 0, 'b': 1, 'c': 7}, '<i2')", ("0", "7", "1")),
    Element("h5py.enum_dtype({'a': 0, 'b': 200}, '>u1')", ("200", "0", "3")),
    Element("bool", ("True", "False")),
    Element("np.dtype([('a', '<i2'), ('b', '>f8')])", ("(1, 0.5)", "(-1, np.nan)", "(0, 0)")),
    Element("np.dtype([('a', 'i1'), ('b', '<f8')], align=True)", ("(1, 0.5)", "(-1, -0.0)")),
    Element("np.dtype([('n', [('x', '>i4'), ('y', '<u2')]), ('v', '<f4', (2,))])", ("((1, 2), (0.5, np.inf))",)),
    Element("np.dtype([('t', 'S2'), ('n', '<i8')])", ("(b'a', 1)", "(b'', -1)")),
    Element("'V3'", ("b'abc'", "b'\\x00\\x00\\x01'")),
    Element("'<c8'", ("1 + 2j", "0", "-1j")),
)

FILTERS = ("p.set_shuffle()", "p.set_deflate(4)", "p.set_fletcher32()", "p.set_filter(32000, 1)", "p.set_deflate(1)")
"""Filters of HDF5 that suit every type, in any order."""


@st.composite
def files(draw: Draw) -> Source:
    """Files by h5py: filters in every order, never written and half written, shrunk and extended, fill values."""
    lines = [
        "import h5py",
        f"f = h5py.File(path, 'w', libver={draw(st.sampled_from(['earliest', 'latest', 'v110']))!r})",
    ]
    lines += draw(attribute_lines("f", "{target}.attrs['{name}'] = {value}", ("f4", "f8", "i8")))
    undefined: dict[str, NDArray[np.bool_]] = {}
    for number in range(draw(st.integers(1, 3))):
        name = f"{'g/' if draw(st.booleans()) else ''}v{number}"
        element = draw(numbers() | st.sampled_from(ODD_HDF5))
        made, missing = draw(_dataset(name, element))
        lines += made
        if missing is not None:
            undefined[name] = missing
    return Source("hdf5", "hdf5", ".h5", "\n".join([*lines, "f.close()"]), undefined)


@st.composite
def _dataset(draw: Draw, name: str, element: Element) -> tuple[list[str], NDArray[np.bool_] | None]:
    """The lines that make one dataset, and its undefined cells."""
    shape = draw(shapes())
    chunked = bool(shape) and draw(st.booleans())
    lines = ["p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)"]
    options = [f"dtype={element.dtype}", "dcpl=p"]
    grows = False
    if chunked:
        options.append(f"chunks={draw(chunk_lengths(shape, beyond=True))}")
        grows = draw(st.booleans())
        limits = [draw(st.sampled_from([None, length])) if grows else length for length in shape]
        chunk = eval(options[-1].removeprefix("chunks="))
        limits = [
            None if limit is not None and limit < part else limit for limit, part in zip(limits, chunk, strict=True)
        ]
        options.append(f"maxshape=({', '.join(map(str, limits))},)")
        text = "string_dtype" in element.dtype
        for step in draw(st.lists(st.sampled_from(FILTERS[:3] if text else FILTERS), max_size=3, unique=True)):
            lines += [step]
    never = draw(st.integers(0, 3)) == 3
    if never:
        lines.append("p.set_fill_time(h5py.h5d.FILL_TIME_NEVER)")
    if draw(st.booleans()) and "string" not in element.dtype and "enum" not in element.dtype:
        options.append(f"fillvalue={element.one(draw(st.integers(0, 3)))}")
    alloc = draw(st.sampled_from([None, None, "EARLY", "LATE", "INCR"]))
    if alloc == "EARLY" or (alloc == "INCR" and chunked) or alloc == "LATE":
        lines.append(f"p.set_alloc_time(h5py.h5d.ALLOC_TIME_{alloc})")
    lines.append(f"d = f.create_dataset({name!r}, {shape}, {', '.join(options)})")
    written = np.zeros(shape, bool)
    for turn in range(draw(st.integers(0, 2))):
        if grows and draw(st.booleans()):
            shape, written = draw(_resized(shape, limits, written))
            lines.append(f"d.resize({shape})")
        if 0 in shape:
            continue
        box = draw(boxes(shape))
        lines.append(f"d[{indices(box)}] = {element.array(extent(box), turn)}")
        written[box] = True
    if grows and draw(st.booleans()):
        shape, written = draw(_resized(shape, limits, written))
        lines.append(f"d.resize({shape})")
    lines += draw(attribute_lines("d", "{target}.attrs['{name}'] = {value}", ("f4", "f8", "u1")))
    return lines, ~written if never and not written.all() else None


@st.composite
def _resized(
    draw: Draw, shape: tuple[int, ...], limits: list[int | None], written: NDArray[np.bool_]
) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
    """Another shape within the limits, and what remains written."""
    wanted = tuple(draw(st.integers(0, 8 if limit is None else limit)) for limit in limits)
    kept = tuple(slice(0, min(old, new)) for old, new in zip(shape, wanted, strict=True))
    after = np.zeros(wanted, bool)
    after[kept] = written[kept]
    return wanted, after
