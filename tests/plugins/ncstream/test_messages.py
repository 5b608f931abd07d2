"""Messages of streams made by hand: what each kind is read as, whatever the stream comes in."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import nczarr.ncstream as door
import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.read.decode import column_tree
from nczarr.plugins.ncstream.read.scan import scan
from nczarr.plugins.ncstream.wire.element_types import Definitions
from nczarr.plugins.ncstream.wire.trees import values as tree_values
from tests.support import ncstream_streams as make
from tests.support.ncstream_messages import OBS, lists, obs_rows, read, rewritten, same
from tests.support.ncstream_streams import RAGGED


def one(stream: bytes, **options: Any) -> Any:
    """The last message, which is that of the data."""
    return read(stream, **options)[-1]


def test_the_smallest_file() -> None:
    """70 bytes, which are also what the writer makes of it."""
    stream = bytes.fromhex(
        "43444653 adecceda 1c 0a0178 2215 12050a01781003 1a0c 0a0161 1002 1a05 0a01781003 2801"
        "abecceba 11 0a0161 1002 1a06 0a0410031801 2001 2803 06 0001fffe0003 ededdede".replace("1002 1a06", "1002 1a06")
    )
    messages = read(stream)
    assert [type(each).__name__ for each in messages] == ["Start", "Header", "Data", "End"]
    assert messages[2].values.tolist() == [1, -2, 3]
    assert messages[2].section == (range(3),)
    assert messages[2].data_type == "SHORT"
    assert rewritten(messages) == stream


NUMBERS = {
    "CHAR": "S1", "BYTE": "i1", "SHORT": "i2", "INT": "i4", "LONG": "i8", "FLOAT": "f4", "DOUBLE": "f8",
    "ENUM1": "u1", "ENUM2": "u2", "ENUM4": "u4", "UBYTE": "u1", "USHORT": "u2", "UINT": "u4", "ULONG": "u8",
}  # fmt: skip


def numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    raw = np.random.default_rng(7).integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype=np.uint8)
    return raw.tobytes() and np.frombuffer(raw.tobytes(), dtype).reshape(shape)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_both_kinds(name: str) -> None:
    """Big-endian in messages of the first kind, whatever the flag; by the flag in columns; deflated or not."""
    kind = pb.DataType.Value(name)
    array = numbers(NUMBERS[name], (2, 3))
    little, big = (array.astype(array.dtype.newbyteorder(order)).tobytes() for order in "<>")
    streams = [
        make.numbers(kind, array),
        make.numbers(kind, array, bigend=False),
        make.deflated(kind, array, bigend=False),
        make.columns(
            make.column(kind, (2, 3), nelems=6, primdata=array.astype(array.dtype.newbyteorder("<")).tobytes())
        ),
        make.columns(make.column(kind, (2, 3), primdata=big, bigend=True)),
    ]
    assert little[:1] == array.tobytes()[:1]
    for stream in streams:
        message = one(stream)
        assert message.data_type == name
        assert same(message.values, array)
        again = read(rewritten([message]))[0]
        assert type(again) is type(message)
        assert same(again.values, array)
        assert again.section == message.section
        assert again.data_type == name


def test_numbers_are_views() -> None:
    array = np.arange(1000.0)
    for stream in (
        make.numbers(pb.DOUBLE, array),
        make.columns(make.column(pb.DOUBLE, (1000,), primdata=array.tobytes())),
    ):
        values = one(stream).values
        assert np.shares_memory(values, np.frombuffer(stream, np.uint8))
        assert values.dtype.itemsize == 8


def test_sections_have_starts_and_strides() -> None:
    message = pb.Data(varName=b"v", dataType=pb.BYTE, version=2)
    message.section.range.add(start=4, size=3, stride=2)
    message.section.range.add(size=1)
    stream = make.DATA + make.block(message.SerializeToString()) + make.block(b"\1\2\3")
    found = one(stream)
    assert found.section == (range(4, 10, 2), range(1))
    assert found.values.tolist() == [[1], [2], [3]]
    assert one(rewritten([found])).section == found.section


def test_a_scalar_has_a_section_without_ranges() -> None:
    for stream in (
        make.numbers(pb.INT, np.array(5, "i4")),
        make.columns(make.column(pb.INT, (), primdata=b"\5\0\0\0")),
    ):
        found = one(stream)
        assert found.section == ()
        assert found.values.shape == ()
        assert found.values == 5


def test_a_checksum_of_the_draft_is_verified() -> None:
    """Field 7 was to be one, of four bytes; in practice it says whether there are lists."""
    message = pb.Data(varName=b"v", dataType=pb.BYTE, version=2, section=make.section(2)).SerializeToString()
    values = make.block(b"\1\2")
    stated = crc32(values).to_bytes(4, "little")
    assert one(make.DATA + make.block(message + b"\x3d" + stated) + values).values.tolist() == [1, 2]
    with pytest.raises(CompileError, match="the message states 04030201"):
        one(make.DATA + make.block(message + b"\x3d\1\2\3\4") + values)


def test_without_a_section_the_header_tells_the_shape() -> None:
    data = make.head(pb.BYTE, None) + make.block(bytes(range(6)))
    assert one(data).values.shape == (6,)
    assert one(make.header(make.variable("v", pb.BYTE, 2, 3)) + data).values.shape == (2, 3)
    definitions = read(make.header(make.variable("v", pb.BYTE, 3, 2)))[0].header
    assert one(data, definitions=definitions).values.shape == (3, 2)
    again = one(rewritten([one(make.header(make.variable("v", pb.BYTE, 2, 3)) + data)]))
    assert again.values.shape == (2, 3)


def test_a_header_says_that_integers_have_no_sign() -> None:
    stream = make.header(make.variable("v", pb.SHORT, 2, unsigned=True)) + make.numbers(
        pb.SHORT, np.array([-1, 1], "i2")
    )
    assert one(stream).values.tolist() == [65535, 1]
    assert one(rewritten(read(stream))).values.tolist() == [65535, 1]
    later = make.header(make.variable("w", pb.INT)) + make.header(make.variable("v", pb.SHORT, 2, unsigned=True))
    assert one(later + make.numbers(pb.SHORT, np.array([-1, 1], "i2"))).values.tolist() == [65535, 1]


def test_names_within_groups_are_escaped() -> None:
    inner = pb.Group(name=b"g.1", vars=[make.variable("a\\b", pb.BYTE, 1, unsigned=True)])
    head = make.header(groups=[pb.Group(name=b"g", groups=[inner])])
    for name in (b"g/g\\.1/a\\\\b", b"/g/g\\.1/a\\\\b", b"g/g\\.1/a\\b"):
        assert one(head + make.numbers(pb.BYTE, np.array([-1], "i1"), name=name)).values.tolist() == [255]


# ---- strings and opaque values ---------------------------------------------------------------------------------------

STRINGS = ["Grüße", "", "x" * 200, "日本", "a", "b"]


@pytest.mark.parametrize("deflate", [False, True])
def test_strings(deflate: bool) -> None:
    raw = [each.encode() for each in STRINGS]
    plain = make.head(pb.STRING, (2, 3)) + make.counted(raw)
    if deflate:  # without their count, as one writer has them
        import zlib

        data = b"".join(map(make.block, raw))
        plain = make.head(pb.STRING, (2, 3), compress=1, uncompressedSize=6) + make.block(zlib.compress(data))
    for stream in (plain, make.columns(make.column(pb.STRING, (2, 3), stringdata=raw, nelems=6))):
        found = one(stream)
        assert found.values.tolist() == [STRINGS[:3], STRINGS[3:]]
        assert one(rewritten([found])).values.tolist() == [STRINGS[:3], STRINGS[3:]]


def test_strings_that_are_no_text_are_bytes_and_nil_is_none() -> None:
    values = np.array([None, None, "", "a", None, b"\xff"], object)
    for column in (False, True):
        message = door.data("v", values, column=column, data_type="STRING")
        found = one(rewritten([message]))
        assert type(found).__name__ == ("DataColumn" if column else "Data")
        assert found.values.tolist() == values.tolist()
        assert rewritten([found]) == rewritten([message])


def test_opaque_values() -> None:
    raw = [b"\0" * 5, b"", b"abc", b"\xff" * 300]
    for stream in (
        make.head(pb.OPAQUE, (4,)) + make.counted(raw),
        make.columns(make.column(pb.OPAQUE, (4,), opaquedata=raw, nelems=4)),
    ):
        found = one(stream)
        assert found.values.tolist() == raw
        assert one(rewritten([found])).values.tolist() == raw


# ---- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [3, 400])
def test_lists_of_numbers(length: int) -> None:
    parts = [np.arange(each, dtype="f4") for each in (0, length, 1, 0, 2, length)]
    wanted = lists((3, 2), parts)
    swapped = [each.astype(">f4").tobytes() for each in parts]
    flat = b"".join(each.tobytes() for each in parts)
    lengths = list(map(len, parts))
    for stream in (
        make.head(pb.FLOAT, (3, 2, RAGGED), vdata=True) + make.counted(swapped),
        make.columns(make.column(pb.FLOAT, (3, 2), isVlen=True, vlens=lengths, nelems=sum(lengths), primdata=flat)),
    ):
        found = one(stream)
        assert same(found.values, wanted)
        assert same(one(rewritten([found])).values, wanted)


def test_lengths_of_lists_may_have_a_tag_each() -> None:
    """proto2 does not pack repeated integers."""
    made = make.column(pb.BYTE, (3,), isVlen=True, nelems=131, primdata=bytes(131)).SerializeToString()
    unpacked = b"\x60\x01\x60\x82\x01\x60\x00"
    found = one(make.COLUMN + make.block(made + unpacked))
    assert [len(each) for each in found.values] == [1, 130, 0]


def test_a_ragged_dimension_may_stand_before_others() -> None:
    """(outer, *, inner): lists of rows of inner."""
    parts = [np.arange(6, dtype="i2").reshape(2, 3), np.zeros((0, 3), "i2")]
    stream = make.head(pb.SHORT, (2, RAGGED, 3), vdata=True) + make.counted(
        each.astype(">i2").tobytes() for each in parts
    )
    found = one(stream)
    assert same(found.values, lists((2,), parts))
    assert same(one(rewritten([found])).values, found.values)
    flat = make.head(pb.SHORT, (2, RAGGED, 3), vdata=True) + make.counted([b"\0\1"] * 6)
    assert one(flat).values.shape == (2, 3)
    for column in (None, True):
        made = door.data("v", found.values, column=column)
        assert same(one(rewritten([made])).values, found.values)


def test_columns_may_count_elements_of_lists_or_whole_arrays() -> None:
    numbers = np.arange(18, dtype="<i4")
    definition = make.header(make.variable("v", pb.INT, 2, RAGGED, 3))
    for lengths in ([2, 4], [6, 12]):
        made = make.column(pb.INT, (2, 3), isVlen=True, vlens=lengths, nelems=sum(lengths), primdata=numbers.tobytes())
        for stream in (make.columns(made), definition + make.columns(made)):
            found = one(stream)
            assert same(found.values, lists((2,), [numbers[:6].reshape(2, 3), numbers[6:].reshape(4, 3)]))
            assert same(one(rewritten([found])).values, found.values)
    many = make.column(pb.INT, (2, 3), isVlen=True, vlens=[3] * 6, nelems=18, primdata=numbers.tobytes())
    assert one(definition + make.columns(many)).values.shape == (2, 3)


def test_columns_without_a_section() -> None:
    for made, wanted in (
        (pb.DataCol(name=b"v", dataType=pb.SHORT, primdata=b"\1\0\2\0"), [1, 2]),
        (pb.DataCol(name=b"v", dataType=pb.STRING, stringdata=[b"a", b"b"]), ["a", "b"]),
        (pb.DataCol(name=b"v", dataType=pb.OPAQUE, nelems=1, opaquedata=[b"a"]), [b"a"]),
    ):
        assert one(make.columns(made)).values.tolist() == wanted
        head = make.header(make.variable("v", made.dataType, 1, len(wanted)))
        assert one(head + make.columns(made)).values.tolist() == [wanted]


def test_lists_of_lists_strings_opaque_values_and_records() -> None:
    inner = lists((2,), [np.array([1, 2], "i4"), np.array([], "i4")])
    record = np.array([(1, "a"), (2, "b")], [("n", "<i4"), ("s", object)])
    cases = {
        "lists": (lists((2,), [inner, inner[:1]]), None),
        "strings": (lists((3,), [np.array(["a", None], object), np.array([], object), np.array(["ü"], object)]), None),
        "opaque": (lists((1,), [np.array([b"a", b"\0"], object)]), "OPAQUE"),
        "records": (lists((2, 1), [record, record[:1]]), None),
    }
    for name, (wanted, data_type) in cases.items():
        found = one(rewritten([door.data(name, wanted, data_type=data_type)]))
        assert type(found).__name__ == "DataColumn"
        assert same(found.values, wanted), name


# ---- structures ------------------------------------------------------------------------------------------------------


OBS_VALUES = [
    (1, "a", [65535, 2], ["b", "c"], [(1, 2), (3, 4)]),
    (2, "f", [5, 6], ["d", "e"], [(5, 6), (7, 8)]),
]


def plain(values: Any) -> list[Any]:
    """Records as tuples, members of several elements as lists."""

    def item(value: Any) -> Any:
        if isinstance(value, np.void | tuple):
            return tuple(item(each) for each in value)
        if isinstance(value, np.ndarray):
            return [item(each) for each in value]
        return value.item() if isinstance(value, np.generic) else value

    return [item(each) for each in values.reshape(-1)]


@pytest.mark.parametrize(
    ("order", "flag"),
    [("<", {"bigend": False}), (">", {"bigend": True}), (">", {"version": 2}), ("<", {"version": 3})],
)
def test_structures_by_their_definition(order: str, flag: dict[str, Any]) -> None:
    data, heap = obs_rows(order)
    stream = make.header(make.structure("v", OBS, 2)) + make.head(pb.STRUCTURE, (2,), **flag)
    stream += make.rows(data, 2, len(data) // 2, heap)
    messages = read(stream)
    assert messages[-1].values.dtype.names == ("day", "name", "w", "two", "at")
    assert plain(messages[-1].values) == OBS_VALUES
    assert plain(one(rewritten(messages)).values) == OBS_VALUES
    as_columns = door.data("v", messages[-1].values)
    found = one(rewritten([as_columns]))
    assert type(found).__name__ == "DataColumn"
    assert plain(found.values) == OBS_VALUES
    assert rewritten([found]) == rewritten([as_columns])


def test_structures_that_nobody_has_defined_are_rows() -> None:
    data, heap = obs_rows("<")
    stream = make.head(pb.STRUCTURE, (2,), bigend=False) + make.rows(data, 2, len(data) // 2, heap)
    found = one(stream)
    assert found.values.dtype == f"V{len(data) // 2}"
    assert found.values.tobytes() == data
    assert found.tree.heap == ((b"a",), (b"b", b"c"), (b"d", b"e"), (b"f",))
    again = one(rewritten([found]))
    assert again.values.tobytes() == data
    assert again.tree.heap == found.tree.heap
    assert not again.tree.big


def test_a_server_that_sends_all_rows_is_cut_down() -> None:
    data = np.arange(6, dtype=">i4").tobytes()
    definition = make.header(make.structure("v", [make.variable("x", pb.INT)], 2, 3))
    message = pb.Data(varName=b"v", dataType=pb.STRUCTURE, version=2)
    message.section.range.add(start=1, size=1)
    message.section.range.add(start=0, size=2, stride=2)
    stream = make.DATA + make.block(message.SerializeToString()) + make.rows(data, 6, 4)
    assert one(definition + stream).values["x"].tolist() == [[3, 5]]
    assert one(stream).values.shape == (6,)
    first = pb.Data(varName=b"v", dataType=pb.STRUCTURE, version=2)
    first.section.range.add(start=4, size=2)
    stream = make.DATA + make.block(first.SerializeToString()) + make.rows(data, 6, 4)
    assert one(stream).values.tobytes() == data[16:]


def test_some_members_and_the_oldest_form() -> None:
    definition = make.header(make.structure("v", [make.variable("a", pb.BYTE), make.variable("b", pb.SHORT)], 2))
    some = make.head(pb.STRUCTURE, (2,)) + make.rows(b"\0\1\0\2", 2, 2, member=[1])
    assert one(definition + some).values.tolist() == [(1,), (2,)]
    bare = make.head(pb.STRUCTURE, (2,), version=0) + make.block(b"\1\0\2\3\0\4")
    assert one(definition + bare).values.tolist() == [(1, 2), (3, 4)]
    assert one(bare).values.dtype == "V3"


def test_members_without_a_form_in_rows_are_left_out() -> None:
    members = [make.variable("a", pb.BYTE), make.variable("l", pb.INT, RAGGED), make.variable("o", pb.OPAQUE)]
    stream = make.header(make.structure("v", members, 2)) + make.head(pb.STRUCTURE, (2,)) + make.rows(b"\1\2", 2, 1)
    assert one(stream).values.tolist() == [(1,), (2,)]


def test_columns_of_structures_in_structures() -> None:
    """Sections of members begin with those of all that they are in; big-endian is said at the top alone."""
    x = make.column(pb.INT, (2, 3), name=b"x", primdata=np.arange(6, dtype=">i4").tobytes(), nelems=6)
    inner = make.column(pb.STRUCTURE, (2, 3), name=b"p", nelems=6)
    inner.structdata.memberData.append(x)
    listed = make.column(pb.BYTE, (2,), name=b"l", isVlen=True, vlens=[1, 2], primdata=b"\1\2\3", nelems=3)
    top = make.column(pb.STRUCTURE, (2,), nelems=2, bigend=True)
    top.structdata.memberData.extend([inner, listed])
    found = one(make.columns(top))
    assert found.values["p"]["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [each.tolist() for each in found.values["l"]] == [[1], [2, 3]]
    assert same(one(rewritten([found])).values, found.values)


def test_sequences() -> None:
    members = [make.variable("n", pb.INT), make.variable("s", pb.STRING), make.variable("t", pb.STRING, 2)]
    definition = make.header(make.structure("v", members, kind=pb.SEQUENCE))
    stream = make.head(pb.SEQUENCE, None)
    for number in range(3):
        row = np.array([number, 0, 1], ">i4").tobytes()
        stream += make.RECORD + make.rows(row, 1, 12, [[b"%d" % number], [b"a", b"b%d" % number]])
    stream += make.LAST_RECORD
    wanted = [(number, str(number), ["a", f"b{number}"]) for number in range(3)]
    found = one(definition + stream)
    assert plain(found.values) == wanted
    assert found.data_type == "SEQUENCE"
    again = one(rewritten(read(definition + stream)))
    assert plain(again.values) == wanted
    assert again.data_type == "SEQUENCE"
    none = one(definition + make.head(pb.SEQUENCE, None) + make.LAST_RECORD)
    assert none.values.shape == (0,)
    assert none.values.dtype.names == ("n", "s", "t")


def test_sequences_of_numbers_by_the_thousand() -> None:
    values = np.zeros(40_000, [("a", "<i4"), ("b", "<f8")])
    values["a"] = np.arange(40_000)
    head = make.header(
        make.structure("v", [make.variable("a", pb.INT), make.variable("b", pb.DOUBLE)], kind=pb.SEQUENCE)
    )
    found = one(head + rewritten([door.data("v", values, data_type="SEQUENCE")]))
    assert same(found.values, values)


# ---- the stream itself -----------------------------------------------------------------------------------------------


def stream_of_everything() -> bytes:
    data, heap = obs_rows(">")
    parts = [
        make.START,
        make.header(make.structure("v", OBS, 2)),
        make.numbers(pb.DOUBLE, np.arange(70_000.0), name=b"numbers"),
        make.deflated(pb.INT, np.arange(12, dtype="i4").reshape(3, 4), name=b"deflated"),
        make.head(pb.STRING, (600,), name=b"strings") + make.counted([b"x" * (each % 300) for each in range(600)]),
        make.head(pb.STRUCTURE, (2,), version=2) + make.rows(data, 2, len(data) // 2, heap),
        make.columns(make.column(pb.STRING, (3,), stringdata=[b"a", b"", b"c"])),
        make.ERROR + make.block(pb.Error(message=b"gone", code=7).SerializeToString()),
        make.END,
    ]
    return b"".join(parts)


class Dripping(io.RawIOBase):
    """A file that gives as many bytes at once as it likes."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data, self._step = data, step

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._data[: min(self._step, size if size >= 0 else self._step)]
        self._data = self._data[len(found) :]
        return found


def forms(stream: bytes, path: Any) -> Iterator[Any]:
    import mmap

    yield stream
    yield bytearray(stream)
    yield memoryview(stream)
    yield io.BytesIO(stream)
    yield Dripping(stream, 1 + len(stream) // 1000)
    path.write_bytes(stream)
    with path.open("rb") as file:
        yield file
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    readable, writable = os.pipe()

    def push() -> None:
        with open(writable, "wb", buffering=0) as out:
            out.writelines(stream[start : start + 1000] for start in range(0, len(stream), 1000))

    thread = threading.Thread(target=push)
    thread.start()
    with open(readable, "rb") as file:
        yield file
    thread.join()


def test_streams_come_in_many_forms(tmp_path: Any) -> None:
    stream = stream_of_everything()
    wanted = read(stream)
    assert [each.kind for each in wanted] == [
        "start", "header", "data", "data", "data", "data", "column", "error", "end"
    ]  # fmt: skip
    assert (wanted[-2].text, wanted[-2].code) == ("gone", 7)
    for form in forms(stream, tmp_path / "s.ncs"):
        found = read(form)
        assert [each.offset for each in found] == [each.offset for each in wanted]
        for mine, theirs in zip(found, wanted, strict=True):
            if hasattr(theirs, "values"):
                assert same(mine.values, theirs.values)
    assert [each.kind for each in read(rewritten(wanted))] == [each.kind for each in wanted]


def test_a_raw_file_that_takes_little_at_a_time_gets_everything() -> None:
    class Narrow(io.RawIOBase):
        taken = b""

        def write(self, data: Any) -> int:
            self.taken += bytes(data[:1000])
            return len(data[:1000])

    out, whole = Narrow(), read(stream_of_everything())
    door.write_messages(whole, out)
    assert out.taken == rewritten(whole)


def test_messages_come_as_soon_as_they_are_there() -> None:
    """A pipe that goes on later is not waited for."""
    readable, writable = os.pipe()
    with open(readable, "rb") as file, open(writable, "wb", buffering=0) as out:
        messages = door.read_messages(file)
        for number in range(3):
            out.write(make.numbers(pb.BYTE, np.array([number], "i1")))
            assert next(messages).values.tolist() == [number]  # type: ignore[attr-defined]
        out.write(make.END)
        assert [each.kind for each in messages] == ["end"]


def test_nothing_behind_the_end_is_looked_at() -> None:
    assert [each.kind for each in read(make.START + make.END + b"what else")] == ["start", "end"]
    assert read(b"") == []


def test_records_of_a_sequence_may_differ_in_form() -> None:
    """Some have two rows, or say nothing of their number; one that says what it has not is refused."""
    head = make.head(pb.SEQUENCE, None, version=2)
    two = make.RECORD + make.rows(b"\1\2\3\4", 2, 2)
    silent = make.RECORD + make.block(pb.StructureData(data=b"\5\6", rowLength=2).SerializeToString())
    definition = make.header(make.structure("v", [make.variable("s", pb.SHORT)], kind=pb.SEQUENCE))
    found = one(definition + head + two + silent + silent + make.LAST_RECORD)
    assert found.values["s"].tolist() == [0x102, 0x304, 0x506, 0x506]
    wrong = make.RECORD + make.rows(b"\1\2\3\4", 3, 2)
    for stream in (head + wrong + make.LAST_RECORD, head + wrong * 3 + make.LAST_RECORD):
        with pytest.raises(CompileError) as caught:
            one(stream)
        assert caught.value.diagnostics[0].code == "contradictory-ncstream"


def test_rows_without_members_are_none() -> None:
    definition = make.header(make.structure("v", [make.variable("o", pb.OPAQUE)], 0))
    assert one(definition + make.head(pb.STRUCTURE, (0,)) + make.rows(b"", 0, 0)).values.shape == (0,)


def test_messages_of_points() -> None:
    collection = points_pb.PointFeatureCollection(name=b"buoys", timeUnit=b"days since 2000-01-01")
    feature = points_pb.PointFeature(loc=points_pb.Location(time=1, lat=2, lon=3), data=b"1234")
    stations = points_pb.StationList(stations=[points_pb.Station(id=b"a", lat=1, lon=2)])
    blocks = {"fefeefef": stations, "fafaafaf": collection, "f0f00f0f": feature}
    stream = b"".join(bytes.fromhex(magic) + make.block(each.SerializeToString()) for magic, each in blocks.items())
    found = read(stream + make.END)
    assert [type(each).__name__ for each in found] == ["Stations", "Points", "Point", "End"]
    assert [each.message for each in found[:3]] == [stations, collection, feature]
    assert rewritten(found) == stream + make.END


# ---- the index -------------------------------------------------------------------------------------------------------


def test_the_index_says_where_values_lie() -> None:
    """Without decoding one: numbers, deflated or not, are one stretch of the file."""
    stream = stream_of_everything()
    report = Report()
    found = scan(Source("s", stream, binary=True), report)
    assert not report.list_sorted()
    assert [each.kind for each in found] == [each.kind for each in read(stream)]
    assert [each.offset for each in found[1:]] == [each.end for each in found[:-1]]
    numbers = found[2]
    assert numbers.payload is not None
    assert np.frombuffer(stream[slice(*numbers.payload)], ">f8").tolist() == list(range(70_000))
    assert found[4].blocks == 600
    for entry, message in zip(found, read(stream), strict=True):
        if entry.kind in ("data", "column"):
            tree = column_tree(entry, stream, Definitions(read(stream)[1].header)).tree
            assert same(tree_values(tree, message.shape), message.values)


def test_the_index_of_columns_copies_no_numbers() -> None:
    array = np.arange(1000.0)
    stream = make.columns(make.column(pb.DOUBLE, (1000,), primdata=array.tobytes(), nelems=1000))
    (entry,) = scan(Source("s", stream, binary=True), Report())
    assert entry.payload is not None
    assert stream[slice(*entry.payload)] == array.tobytes()
    assert entry.message.ByteSize() < 100


def test_the_index_of_what_is_cut_has_what_lies_before() -> None:
    stream = stream_of_everything()
    report = Report()
    assert len(scan(Source("s", stream[:-10], binary=True), report)) == 7
    (found,) = report.list_sorted()
    assert (found.code, found.primary.offset) == ("truncated-ncstream", len(stream) - 13)


@pytest.mark.parametrize(
    "items",
    [
        [1, 2], [1.5, None], ["a", 1], [[1, 2], [3]], [{}, {}], [bytearray(b"x")], [np.zeros(2), None],
        [np.zeros(2), "a"], [np.zeros(2), np.array(1.0)], [np.zeros(1, "u8"), np.zeros(1, "i8")],
        [np.zeros(1, "i4"), np.zeros(1, "f8")],
    ],
)  # fmt: skip
def test_objects_that_are_no_values_are_not_made_texts(items: list[Any]) -> None:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    with pytest.raises(ValueError, match=r"not of type|arrays|kinds"):
        door.data("v", array)


@pytest.mark.parametrize("given", [None, "CDFS", 3, [b"CDFS"], io.StringIO("CDFS")])
def test_what_is_no_stream_is_told(given: Any) -> None:
    with pytest.raises(TypeError, match="a stream must be"):
        list(door.read_messages(given))


def test_a_view_with_gaps_is_a_stream() -> None:
    wide = bytearray(2 * len(make.START + make.END))
    wide[::2] = make.START + make.END
    assert [each.kind for each in door.read_messages(memoryview(wide)[::2])] == ["start", "end"]


def test_a_pipe_that_does_not_wait_is_not_at_its_end() -> None:
    class Empty(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> None:
            return None

    with pytest.raises(BlockingIOError):
        list(door.read_messages(Empty()))


@pytest.mark.parametrize("profile", ["mixed", "first", "second"])
@pytest.mark.parametrize(
    "ranges",
    [(range(5, 9),), (range(4),), (range(-1, 1),), (range(1, -1, -1),), (), (range(1), range(1)), (slice(0, 1),), (0,)],
)
def test_indices_that_a_variable_lacks_have_no_message(ranges: Any, profile: Any) -> None:
    source = Source("a.cdl", b"netcdf a { dimensions: x = 3; variables: int v(x); data: v = 1, 2, 3; }")
    checked = phases.read(source, Report(), Options())
    assert checked is not None
    with pytest.raises(ValueError, match="`/v` has"):
        b"".join(door.data_messages(checked, [("/v", ranges)], profile=profile))
