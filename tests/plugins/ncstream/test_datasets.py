"""Streams as datasets: ours written and read whole, those of others read as their messages say."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import registry
from nczarr.__main__ import main
from nczarr.api.handle import DatasetHandle
from nczarr.arrays.regions import Selection
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire import framing
from nczarr.plugins.ncstream.write import backend
from tests.support import ncstream_streams as streams
from tests.support.every_type import CDL
from tests.support.ncstream_datasets import plain, without_model
from tests.support.ncstream_streams import END, RAGGED, START, block, numbers, structure, variable


@pytest.fixture
def dataset() -> Any:
    return nczarr.from_cdl(CDL)


def opened(folder: Path, *messages: bytes, end: bytes = END) -> DatasetHandle:
    path = folder / "a.ncs"
    path.write_bytes(START + b"".join(messages) + end)
    return nczarr.open(path)


def faults(call: Callable[[], object]) -> list[tuple[str, int | None]]:
    """Codes and byte offsets of the errors of a call."""
    with pytest.raises(CompileError) as raised:
        call()
    return [
        (each.code, each.primary.span.start if each.primary else None)
        for each in raised.value.diagnostics
        if each.severity == "error"
    ]


def header(*declared: Any, **more: Any) -> bytes:
    return streams.header(*declared, **more)


# ---- ours ------------------------------------------------------------------------------------------------------------
def test_a_dataset_comes_back_whole(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.ncs")
    with nczarr.open(tmp_path / "d.ncs") as found:
        assert found.diagnostics == ()
        assert found.dataset == dataset.dataset
        assert nczarr.diff(dataset, found, storage=True) == []
    assert nczarr.digest(tmp_path / "d.ncs") == nczarr.digest(dataset)


def test_the_same_dataset_is_the_same_bytes(dataset: Any, tmp_path: Path) -> None:
    for name in ("one.ncs", "two.ncs"):
        nczarr.write(dataset, tmp_path / name)
    assert (tmp_path / "one.ncs").read_bytes() == (tmp_path / "two.ncs").read_bytes()


def test_lists_lie_in_messages_of_bounded_size(dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "CELLS", 2)
    monkeypatch.setattr(backend, "MESSAGE", 8)
    nczarr.write(dataset, tmp_path / "d.ncs")
    kinds = [message.kind for message in nczarr.ncstream.read_messages((tmp_path / "d.ncs").read_bytes())]
    assert kinds.count("column") > 12
    assert nczarr.diff(dataset, tmp_path / "d.ncs", storage=True) == []


def test_the_words_of_the_wire_alone_say_every_value(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.ncs")
    (tmp_path / "e.ncs").write_bytes(without_model((tmp_path / "d.ncs").read_bytes()))
    with nczarr.open(tmp_path / "e.ncs") as found:
        assert set(found) == set(dataset)
        for path in dataset:
            assert found[path].shape == dataset[path].shape, path
            assert plain(found[path][...]) == plain(dataset[path][...]), path
        assert found["/e"].type == "/flag"
        assert found["/k"].type == "/opaque_3"
        assert [each.name for each in found.dataset.dimensions] == ["n", "m", "time", "none"]
        assert found["/i"].attributes["_FillValue"] == dataset["/i"].attributes["_FillValue"]


@pytest.mark.slow
def test_numbers_are_linked_where_they_lie(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf t { dimensions: x = 4 ; variables: double v(x) ; short w(x) ; data: v = 1, 2, 3, 4 ; w = 5, 6, 7, 8 ; }"
    )
    nczarr.write(source, tmp_path / "t.ncs")
    assert main(["convert", str(tmp_path / "t.ncs"), str(tmp_path / "t.json"), "--inline", "0"]) == 0
    assert (tmp_path / "t.json").read_text().count('t.ncs",') == 2
    assert nczarr.diff(source, tmp_path / "t.json") == []
    report = nczarr.convert(tmp_path / "t.ncs", tmp_path / "t.zarr", verify=True)
    assert report.copied_chunks + report.gathered_chunks == 2


# ---- of others -------------------------------------------------------------------------------------------------------
def test_later_messages_count_and_gaps_are_fill(tmp_path: Path) -> None:
    fill = pb.Attribute(name=b"_FillValue", dataType=pb.INT, len=1, data=b"\xff\xff\xff\xf7")
    found = opened(
        tmp_path,
        header(variable("v", pb.INT, 3, 4, atts=[fill])),
        numbers(pb.INT, np.arange(6, dtype="i4").reshape(2, 3)),
        _at(numbers(pb.INT, np.array([[70, 80]], "i4")), (1, 1, 1), (0, 2, 3)),
        _at(numbers(pb.INT, np.array([[9], [10]], "i4")), (0, 2, 2), (3, 1, 1)),
    )
    assert found.diagnostics == ()
    assert found["/v"][...].tolist() == [[0, 1, 2, 9], [70, 4, 5, 80], [-9, -9, -9, 10]]
    assert found["/v"][1:, ::2].tolist() == [[70, 5], [-9, -9]]


def _at(message: bytes, *ranges: tuple[int, int, int]) -> bytes:
    """A message with another section: start, size and stride of each dimension."""
    incoming = framing.Incoming(message, nczarr.ncstream.Limits())
    start, end = incoming.block(4)
    made = pb.Data.FromString(message[start:end])
    del made.section.range[:]
    for first, size, stride in ranges:
        made.section.range.add(start=first, size=size, stride=stride)
    return message[:4] + block(made.SerializeToString()) + message[end:]


@pytest.mark.slow
def test_lists_that_overlap_and_leave_gaps(tmp_path: Path) -> None:
    def lists(*items: list[int], at: tuple[int, int, int]) -> bytes:
        data = [np.array(each, ">i2").tobytes() for each in items]
        made = streams.head(pb.SHORT, (len(items), RAGGED), vdata=True) + streams.counted(data)
        return _at(made, at, (0, RAGGED, 1))

    found = opened(
        tmp_path,
        header(variable("v", pb.SHORT, 6, RAGGED)),
        lists([1, 2], [3], [], at=(0, 3, 1)),
        lists([40, 50, 60], [7], at=(1, 2, 3)),
    )
    assert [each.tolist() for each in found["/v"][...]] == [[1, 2], [40, 50, 60], [], [], [7], []]
    assert [each.tolist() for each in found["/v"][1:5:3]] == [[40, 50, 60], [7]]
    nczarr.convert(tmp_path / "a.ncs", tmp_path / "a.nc", verify=True)


def test_dimensions_behind_a_ragged_one_are_rows(tmp_path: Path) -> None:
    data = [np.arange(count * 3, dtype=">i4").tobytes() for count in (2, 0, 1)]
    found = opened(
        tmp_path,
        header(variable("v", pb.INT, 3, RAGGED, 3)),
        streams.head(pb.INT, (3, RAGGED, 3), vdata=True) + streams.counted(data),
    )
    assert [each["values"].tolist() for each in found["/v"][...]] == [[[0, 1, 2], [3, 4, 5]], [], [[0, 1, 2]]]


def test_a_server_that_sends_all_records_is_cut(tmp_path: Path) -> None:
    records = np.array([(1, 2.0), (3, 4.0), (5, 6.0)], [("a", "<i2"), ("b", "<f8")])
    found = opened(
        tmp_path,
        header(structure("s", [variable("a", pb.SHORT), variable("b", pb.DOUBLE)], 3)),
        _at(
            streams.head(pb.STRUCTURE, (3,), name=b"s", bigend=False) + streams.rows(records.tobytes(), 3, 10),
            (1, 2, 1),
        ),
    )
    assert found["/s"][...].tolist()[1:] == [(3, 4.0), (5, 6.0)]


def test_values_in_the_header_itself(tmp_path: Path) -> None:
    given = variable("v", pb.SHORT, 2, data=b"\x00\x01\xff\xff", unsigned=True)
    found = opened(tmp_path, header(given))
    assert found["/v"].type == "ushort"
    assert found["/v"][...].tolist() == [1, 65535]
    assert opened(tmp_path, header(given), numbers(pb.SHORT, np.array([3, 4], "i2")))["/v"][...].tolist() == [3, 4]


def test_later_headers_add_to_earlier_ones(tmp_path: Path) -> None:
    found = opened(
        tmp_path,
        header(variable("v", pb.INT, 1)),
        numbers(pb.INT, np.array([7], "i4")),
        header(variable("w", pb.INT, 2), variable("v", pb.INT, 2)),
        numbers(pb.INT, np.array([8, 9], "i4"), name=b"w"),
    )
    assert found["/v"][...].tolist() == [7, -2147483647]
    assert found["/w"][...].tolist() == [8, 9]


def test_an_answer_without_a_header_is_a_dataset(tmp_path: Path) -> None:
    column = pb.DataCol(name=b"g/a\\.b", dataType=pb.STRING, nelems=2, stringdata=[b"x", b"y"])
    column.section.range.add(size=2)
    path = tmp_path / "answer"
    path.write_bytes(numbers(pb.DOUBLE, np.array([[1.5, 2.5]])) + streams.COLUMN + block(column.SerializeToString()))
    with nczarr.open(path) as found:
        assert found["/v"][...].tolist() == [[1.5, 2.5]]
        assert found["/g/a.b"][...].tolist() == ["x", "y"]


def test_a_stream_that_was_cut_between_messages_is_told(tmp_path: Path) -> None:
    found = opened(tmp_path, header(variable("v", pb.INT, 1)), end=b"")
    assert [each.code for each in found.diagnostics] == ["unended-stream"]


def test_what_a_sender_said_instead(tmp_path: Path) -> None:
    error = streams.ERROR + block(pb.Error(message=b"out of \x1b[31m luck", code=3).SerializeToString())
    first = header(variable("v", pb.INT, 1))
    assert faults(lambda: opened(tmp_path, first, error, end=b"")) == [("stream-error", 4 + len(first))]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (numbers(pb.INT, np.zeros(3, "i4")), "unreadable-array"),  # more than the variable has
        (_at(numbers(pb.INT, np.zeros(1, "i4")), (2, 1, 1)), "unreadable-array"),
        (numbers(pb.INT, np.zeros(2, "i4"), name=b"nobody"), "unreadable-array"),
        (_at(numbers(pb.INT, np.zeros(2, "i4")), (2**63, 2, 1)), "oversized-ncstream"),
        (b"\xde\xad\xbe\xef", "bad-ncstream"),
        (numbers(pb.INT, np.zeros(2, "i4"))[:-1], "truncated-ncstream"),
    ],
)
def test_messages_that_no_dataset_has(tmp_path: Path, message: bytes, code: str) -> None:
    first = header(variable("v", pb.INT, 2))
    path = tmp_path / "a.ncs"
    path.write_bytes(START + first + message)
    report = Report()
    phases.read_path(str(path), report, Options())
    found = [(each.code, each.primary.span.start) for each in report.list_sorted() if each.severity == "error"]
    assert [each for each, _ in found] == [code]
    assert found[0][1] >= 4 + len(first)


def test_values_that_are_none_of_their_variable(tmp_path: Path) -> None:
    with pytest.raises(nczarr.CompileError, match=r"contradictory-ncstream: values of type INT, but .* type STRING"):
        opened(tmp_path, header(variable("v", pb.STRING, 2)), numbers(pb.INT, np.zeros(2, "i4")))


def test_numbers_are_deflated_where_that_is_asked_for(
    dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "DEFLATED", 16)
    nczarr.write(dataset, tmp_path / "d.ncs", codecs={"": "deflate:4"})
    found = list(nczarr.ncstream.read_messages((tmp_path / "d.ncs").read_bytes()))
    deflated = [each.name for each in found if each.kind == "data" and each.message.compress == pb.Data.DEFLATE]
    assert deflated == ["i", "i", "scalar", "c", "e", "never", "lng", "lng"]
    assert nczarr.diff(dataset, tmp_path / "d.ncs", storage=True) == []


@pytest.mark.parametrize("name", ["d.ncs", "d.awkd"])
def test_what_a_stream_has_no_place_for_is_told(
    dataset: Any, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "d.nc"
    nczarr.write(dataset, source)
    assert main(["convert", str(source), str(tmp_path / name), "--codec", "zstd:3", "--chunks", "n=1"]) == 0
    assert "does not keep storage hints" in capsys.readouterr().err
    assert nczarr.diff(dataset, tmp_path / name) == []


class Gone(ArrayInMemory):
    """An array that is out of reach by the time that it is read."""

    def read(self, selection: Selection) -> Any:
        raise OSError(5, "the disk is gone")


def test_a_stream_that_cannot_go_on_says_why(tmp_path: Path) -> None:
    """What reads a pipe learns that there is no more; a file is not made."""
    whole = nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }").checked
    gone = Gone(Layout("<i4", (2,), (2,)), np.zeros(2, "<i4"))
    checked = whole._replace(parts={"/v": {"": gone}})
    form = registry.find_format("ncstream")
    assert form is not None
    pieces = phases.text(checked, form, Report(), Options())
    assert pieces is not None
    sent: list[bytes] = []
    with pytest.raises(OSError, match="the disk is gone"):
        deque(map(sent.append, pieces))
    *_, last = nczarr.ncstream.read_messages(b"".join(sent))
    assert (last.kind, last.text) == ("error", "the disk is gone")
    with pytest.raises(OSError, match="the disk is gone"):
        nczarr.write(DatasetHandle(checked), tmp_path / "t.ncs")
    assert list(tmp_path.iterdir()) == []


def test_a_header_is_a_tree(dataset: Any, tmp_path: Path) -> None:
    nczarr.write(dataset, tmp_path / "d.ncs")
    _, first, *_ = nczarr.ncstream.read_messages((tmp_path / "d.ncs").read_bytes())
    assert first.dataset == dataset.dataset
    (other,) = nczarr.ncstream.read_messages(header(variable("v", pb.INT, 3), structure("s", [variable("a", pb.BYTE)])))
    assert [(each.name, each.type) for each in other.dataset.variables] == [("v", "int"), ("s", "/s_t")]


@pytest.mark.parametrize("profile", ["mixed", "first", "second"])
def test_answers_of_a_server(dataset: Any, profile: Any) -> None:
    """Header and data of every variable, and of sections with steps, in each form of message."""
    head = nczarr.ncstream.header_message(dataset, location="http://localhost/d")
    for path in dataset:
        shape = dataset[path].shape
        every = tuple(range(0, length, 2) for length in shape)
        for ranges, key in ((None, ...), (every, tuple(slice(None, None, 2) for _ in shape))):
            answer = b"".join(nczarr.ncstream.data_messages(dataset, [(path, ranges)], profile=profile))
            _, message = nczarr.ncstream.read_messages(head + answer)
            wanted = dataset[path][key] if shape else dataset[path][...]
            kind = object if message.values.dtype.hasobject and not message.values.dtype.names else None
            assert similar(plain(message.values), plain(np.asarray(wanted, dtype=kind))), path


def similar(one: Any, other: Any) -> bool:
    """Whether values are equal: members by their names, opaque values as bytes."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(similar(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(similar, one, other))
    if isinstance(one, bytes) and isinstance(other, str):
        one = one.decode("utf-8", "surrogateescape")
    return bool(one == other)
