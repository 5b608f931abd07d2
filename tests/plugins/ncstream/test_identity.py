"""Values of all kinds and shapes: written in every form that a message has for them, and read again as they were."""

from __future__ import annotations

import io
from typing import Any

import nczarr.ncstream as door
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from tests.support import ncstream_streams as make
from tests.support.ncstream_messages import read, rewritten, same

DTYPES = ["S1", "i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u8", ">i8", "<f4", ">f8", "<f8"]
TEXTS = st.one_of(st.none(), st.text(max_size=200), st.just("x" * 130), st.just(b"\xff\xfe"))
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=3).map(tuple)


def count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


@st.composite
def numbers(draw: Any, shape: tuple[int, ...]) -> Any:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    size = count(shape) * dtype.itemsize
    made = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype) if size else np.zeros(0, dtype)
    return made.reshape(shape)


@st.composite
def objects(draw: Any, shape: tuple[int, ...], items: Any) -> Any:
    made = np.empty(count(shape), object)
    made[:] = [draw(items) for _ in range(count(shape))]
    return made.reshape(shape)


@st.composite
def lists(draw: Any, shape: tuple[int, ...], depth: int) -> Any:
    """Elements of one type, and of one shape in all lists."""
    lengths = [draw(st.integers(0, 4)) for _ in range(count(shape))]
    content = draw(values((sum(lengths),), depth + 1))
    ends = np.cumsum(lengths, dtype=int)
    made = np.empty(len(lengths), object)
    for place, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        made[place] = content[end - length : end]
    return made.reshape(shape)


@st.composite
def records(draw: Any, shape: tuple[int, ...], depth: int) -> Any:
    names = draw(st.lists(st.text("abü.\\/", min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
    members = []
    for name in names:
        own = draw(st.sampled_from([(), (), (2,), (1, 3)]))
        members.append((name, own, draw(values((*shape, *own), depth + 1))))
    made = np.empty(shape, [(name, member.dtype, own) for name, own, member in members])
    for name, _, member in members:
        made[name] = member
    return made


def values(shape: tuple[int, ...], depth: int = 0) -> Any:
    kinds = [numbers(shape), objects(shape, TEXTS)]
    if depth < 3:
        kinds += [records(shape, depth), lists(shape, depth)]
    return st.one_of(kinds)


def typeless(array: Any) -> bool:
    """Whether there are objects, but none that tells what it is: then nobody knows the type of what is not there."""
    if array.dtype.names is not None:
        return any(typeless(array[name]) for name in array.dtype.names)
    if array.dtype.kind != "O":
        return False
    some = [each for each in array.reshape(-1).tolist() if each is not None]
    return not some or any(typeless(each) for each in some if isinstance(each, np.ndarray))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(SHAPES.flatmap(values))
def test_every_form(array: Any) -> None:
    """As columns everything has a form; in messages of the first kind much has."""
    if typeless(array):
        return
    made = door.data("v", array, column=True)
    (found,) = read(rewritten([made]))
    assert same(found.values, array)
    assert rewritten([found]) == rewritten([made])
    stream = of_the_first_kind(array)
    if stream is None:
        return
    header = make.header(*([definition("v", array)] if array.dtype.names else []))
    found = read(header + stream)[-1]
    assert alike(found.values, array)
    assert rewritten([found]) == stream
    assert same(read(io.BytesIO(header + stream))[-1].values, found.values)


def of_the_first_kind(array: Any) -> bytes | None:
    try:
        return rewritten([door.data("v", array, column=False)])
    except CompileError as error:
        if error.diagnostics[0].code != "unwritable-ncstream":
            raise
    return None


def alike(a: Any, b: Any) -> bool:
    """As `same`, but that structures stand behind other members, as headers have them."""
    if a.dtype.names is None or b.dtype.names is None:
        return same(a, b)
    kept = [name for name in b.dtype.names if b.dtype[name].base.names is None]
    wanted = [*kept, *(name for name in b.dtype.names if name not in kept)]
    return list(a.dtype.names) == wanted and all(alike(a[name], b[name]) for name in wanted)


def definition(name: str, array: Any, shape: tuple[int, ...] | None = None) -> Any:
    """What a header says of records."""
    shape = array.shape if shape is None else shape
    dtype = array.dtype
    if dtype.names is None:
        kind = pb.STRING if dtype.kind == "O" else KINDS[f"{dtype.kind}{dtype.itemsize}"]
        return make.variable(name, kind, *shape)
    members = []
    for each in dtype.names:
        own = dtype[each].shape
        members.append(definition(each, array[each], own))
    return make.structure(name, members, *shape)


KINDS = {
    "S1": pb.CHAR, "i1": pb.BYTE, "u1": pb.UBYTE, "i2": pb.SHORT, "u2": pb.USHORT, "i4": pb.INT, "i8": pb.LONG,
    "u8": pb.ULONG, "f4": pb.FLOAT, "f8": pb.DOUBLE,
}  # fmt: skip


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), ()])
def test_nothing_and_one(shape: tuple[int, ...], column: bool) -> None:
    for array, name in (
        (np.zeros(shape, "f8"), None),
        (np.full(shape, "a", object), "STRING"),
        (np.full(shape, b"a", object), "OPAQUE"),
        (np.zeros(shape, [("a", "i4"), ("b", "f8", (2,))]), None),
    ):
        made = door.data("v", array, data_type=name, column=column)
        (found,) = read(rewritten([made]))
        assert found.values.shape == shape
        assert found.section == made.section
        if array.dtype.names is None or column:
            assert same(found.values, array)


def test_what_has_no_form_is_said() -> None:
    huge = np.broadcast_to(np.float64(1), (2**29,))
    row = np.zeros(1, [("l", object)])
    row["l"][0] = np.arange(3)
    for made in (
        door.data("v", huge, column=False),
        door.data("v", huge, column=True),
        door.data("v", row, column=False),
    ):
        with pytest.raises(CompileError) as caught:
            door.write_messages([made], io.BytesIO())
        assert caught.value.diagnostics[0].code == "unwritable-ncstream"
    for wrong in (np.zeros(3, "c8"), np.zeros(3, "M8[s]"), np.array([b"abc"])):
        with pytest.raises(ValueError, match=r"ncstream|chars"):
            door.data("v", wrong)
    with pytest.raises(ValueError, match="shape"):
        door.data("v", np.zeros(3), (range(4),))
