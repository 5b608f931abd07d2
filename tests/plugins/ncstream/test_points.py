"""Streams of points: read from bytes built by hand, written from records, and never trusted."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.points import reader, writer
from nczarr.plugins.ncstream.wire.framing import END, ERROR
from nczarr.plugins.ncstream.wire.protobuf import encode
from nczarr.semantics import check
from tests.conftest import run_command


def block(magic: bytes, message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return magic + encode(len(data)) + data


def collection(members: Iterable[tuple[str, int, tuple[int, ...]]], **said: Any) -> bytes:
    made = points_pb.PointFeatureCollection(**said)
    for name, data_type, shape in members:
        one = made.members.add(name=name.encode(), dataType=data_type, units=b"m", desc=b"a " + name.encode())
        one.section.SetInParent()
        for size in shape:
            one.section.range.add(size=size)
    return block(reader.COLLECTION, made)


def feature(place: tuple[float, ...], data: bytes, texts: Iterable[bytes] = ()) -> bytes:
    time, lat, lon, alt, nominal = place
    loc = points_pb.Location(time=time, lat=lat, lon=lon, alt=alt, nomTime=nominal)
    return block(reader.FEATURE, points_pb.PointFeature(loc=loc, data=data, sdata=texts))


def opened(data: bytes) -> tuple[DatasetHandle | None, Report]:
    report = Report()
    unchecked = reader.read(Source("p.ncs", data, binary=True), report, Options())
    if unchecked is None:
        return None, report
    checked = check(unchecked, report)
    return (None if checked is None else DatasetHandle(checked)), report


def codes(report: Report) -> list[str]:
    return [found.code for found in report.list_sorted()]


NUMBERS = [("depth", pb.FLOAT, ()), ("flags", pb.SHORT, (2,)), ("quality", pb.ENUM1, ()), ("id", pb.CHAR, (3,))]
PLACES = [(0.5, 10.0, -20.0, 3.0, 1.0), (1.5, 11.0, -21.0, 4.0, 2.0), (2.5, 12.0, -22.0, 5.0, 3.0)]
ROWS = [struct.pack(">f2hB3s", depth, 1, -2, 200, b"abc") for depth in (1.25, 2.5, -1.0)]
PLAIN = b"".join(
    [
        collection(NUMBERS, name=b"buoys", timeUnit=b"hours since 2020-01-01", altUnit=b"km"),
        *(feature(place, row) for place, row in zip(PLACES, ROWS, strict=True)),
        END,
    ]
)
STRINGS = [("name", pb.STRING, ()), ("n", pb.INT, ()), ("notes", pb.STRING, (2,)), ("time", pb.LONG, ())]
WITH_TEXTS = b"".join(
    [
        block(reader.STATIONS, points_pb.StationList(stations=[points_pb.Station(id=b"KBOU", lat=40.0)])),
        collection(STRINGS, name=b"stations"),
        feature(PLACES[0], struct.pack(">iiiq", 0, 7, 1, -1), [b"a", b"b", b"c"]),
        feature(PLACES[1], struct.pack(">iiiq", 1, 8, 0, -2), [b"b", "é".encode(), b"a"]),
        END,
    ]
)


def test_rows_become_records() -> None:
    found, report = opened(PLAIN)
    assert found is not None
    assert codes(report) == []
    obs = found["/obs"]
    assert found.dataset.dimensions[0].size == 3
    values = obs[:]
    wanted = "time latitude longitude altitude nominal_time depth flags quality id"
    assert values.dtype.names == tuple(wanted.split())
    assert values["time"].tolist() == [0.5, 1.5, 2.5]
    assert values["nominal_time"].tolist() == [1.0, 2.0, 3.0]
    assert values["depth"].tolist() == [1.25, 2.5, -1.0]
    assert values["flags"].tolist() == [[1, -2]] * 3
    assert values["quality"].tolist() == [200] * 3
    assert values["id"].tolist() == [[b"a", b"b", b"c"]] * 3
    said = {each.name: each.value.data for each in obs.variable.attributes}
    assert said["long_name"] == b"buoys"
    assert said["time.units"] == said["nominal_time.units"] == b"hours since 2020-01-01"
    assert (said["latitude.units"], said["altitude.units"]) == (b"degrees_north", b"km")
    assert (said["depth.units"], said["flags.long_name"]) == (b"m", b"a flags")
    assert said["location"] == b"time latitude longitude altitude nominal_time"


def test_strings_lie_behind_indices() -> None:
    """Indices count members: in the second row the two notes come first."""
    found, report = opened(WITH_TEXTS)
    assert found is not None
    assert codes(report) == ["skipped-stations"]
    values = found["/obs"][:]
    assert values["name"].tolist() == ["a", "a"]
    assert values["notes"].tolist() == [["b", "c"], ["b", "é"]]
    assert values["time"].tolist() == [-1, -2], "a member keeps its name"
    assert values["time_"].tolist() == [0.5, 1.5]


def test_several_collections_and_none() -> None:
    found, report = opened(PLAIN[: -len(END)] + WITH_TEXTS)
    assert found is not None
    assert codes(report) == ["skipped-stations"]
    assert [len(found[path][:]) for path in ("/obs", "/obs_2")] == [3, 2]
    found, report = opened(collection([]) + END)
    assert found is not None
    assert found["/obs"][:].shape == (0,)
    found, report = opened(collection([("s", pb.STRING, (3,))]))
    assert found is not None
    assert found["/obs"][:].shape == (0,)


def test_errors_of_the_sender_are_told() -> None:
    _, report = opened(PLAIN[: -len(END)] + block(ERROR, pb.Error(message=b"disk full")))
    [found] = report.list_sorted()
    assert (found.code, found.message) == ("stream-error", "the sender of the stream reported an error: 'disk full'")
    assert found.primary.offset == len(PLAIN) - len(END)


HEAD = len(collection(NUMBERS, name=b"buoys", timeUnit=b"hours since 2020-01-01", altUnit=b"km"))
WRONG = {
    "a row of another length": (collection(NUMBERS) + feature(PLACES[0], b"abc"), "contradictory-ncstream"),
    "a point without collection": (feature(PLACES[0], b""), "bad-ncstream"),
    "an index beyond the strings": (
        collection([("s", pb.STRING, ())]) + feature(PLACES[0], struct.pack(">i", 1), [b"a"]),
        "contradictory-ncstream",
    ),
    "an index below zero": (
        collection([("s", pb.STRING, ())]) + feature(PLACES[0], struct.pack(">i", -1), [b"a"]),
        "contradictory-ncstream",
    ),
    "one index for two lengths": (
        collection([("s", pb.STRING, ()), ("t", pb.STRING, (2,))])
        + feature(PLACES[0], struct.pack(">ii", 0, 0), [b"a", b"b"]),
        "contradictory-ncstream",
    ),
    "members with one name": (collection([("s", pb.INT, ()), ("s", pb.INT, ())]), "contradictory-ncstream"),
    "a structure": (collection([("s", pb.STRUCTURE, ())]), "bad-ncstream"),
    "a type that there is not": (reader.COLLECTION + b"\x07\x1a\x05\x0a\x01s\x20\x63", "bad-ncstream"),
    "no name": (collection([("", pb.INT, ())]), "bad-ncstream"),
    "a dimension without length": (collection([("s", pb.INT, (0,))]), "bad-ncstream"),
    "a row beyond all": (collection([("s", pb.DOUBLE, (2**30,))]), "oversized-ncstream"),
    "a length beyond all": (collection([("s", pb.INT, (2**63,))]), "bad-ncstream"),
    "another magic": (PLAIN[:HEAD] + b"CDFS", "bad-ncstream"),
    "bytes behind the end": (PLAIN + b"x", "bad-ncstream"),
    "no message": (reader.COLLECTION + b"\x02\xff\xff", "bad-ncstream"),
    "a block that announces more": (reader.COLLECTION + b"\xff\xff\xff\xff\x07x", "truncated-ncstream"),
    "a length of 2^60": (reader.COLLECTION + b"\x80\x80\x80\x80\x80\x80\x80\x80\x10", "oversized-ncstream"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_has_an_offset(what: str) -> None:
    data, code = WRONG[what]
    found, report = opened(data)
    assert found is None
    [diagnostic] = report.list_sorted()
    assert diagnostic.code == code
    assert diagnostic.primary.offset is not None
    assert 0 <= diagnostic.primary.offset <= len(data)


@pytest.mark.parametrize("data", [PLAIN, WITH_TEXTS], ids=["numbers", "strings"])
def test_truncation_at_every_byte(data: bytes) -> None:
    """Between messages the stream is one without END; anywhere else it is truncated."""
    whole = 0
    for length in range(len(data)):
        found, report = opened(data[:length])
        assert not found or not report.errors
        if report.errors:
            [diagnostic] = [each for each in report.list_sorted() if each.code != "skipped-stations"]
            assert diagnostic.code == "truncated-ncstream"
            assert diagnostic.primary.offset is not None
            assert diagnostic.primary.offset <= length
        else:
            whole += 1
    assert 3 < whole < 8


@pytest.mark.parametrize("seed", range(3))
def test_mutations_are_read_or_reported(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(200):
        data = bytearray(chosen.choice([PLAIN, WITH_TEXTS]))
        for _ in range(chosen.randint(1, 4)):
            data[chosen.randrange(len(data))] = chosen.choice([0, 0xFF, 0x80, chosen.randrange(256)])
        found, report = opened(bytes(data))
        if found is None:
            assert report.errors
            continue
        for path in found:
            found[path][:]


# ---- writing ---------------------------------------------------------------------------------------------------------


def written(handle: DatasetHandle, path: str | None = None) -> tuple[bytes | None, Report]:
    report = Report()
    pieces = writer.write(handle.checked, report, path)
    return (None if pieces is None else b"".join(pieces)), report


@pytest.mark.parametrize("data", [PLAIN, WITH_TEXTS], ids=["numbers", "strings"])
def test_what_was_read_is_written_again(data: bytes) -> None:
    first, _ = opened(data)
    assert first is not None
    again, report = written(first)
    assert codes(report) == []
    assert again is not None
    second, report = opened(again)
    assert codes(report) == []
    assert second is not None
    assert second.dataset == first.dataset
    assert repr(second["/obs"][:].tolist()) == repr(first["/obs"][:].tolist())


def test_the_bytes_are_those_of_the_format() -> None:
    """Places and rows; what is said of members has strides besides, and enums are integers."""
    handle, _ = opened(PLAIN)
    assert handle is not None
    data, _ = written(handle)
    assert data is not None
    assert data.startswith(reader.COLLECTION)
    assert data.index(reader.FEATURE) < HEAD + 30
    assert data[data.index(reader.FEATURE) :] == PLAIN[HEAD:]


CDL = """netcdf t {
types:
  byte enum cloud { Clear = 0, Missing = -1 } ;
  compound rec { float lat ; float lon ; int64 time ; string name ; cloud c ; char code(2) ; ubyte b ; } ;
dimensions: n = 2 ;
variables:
  rec r(n) ; r:time.units = "days since 1970-01-01" ; r:comment = "x" ;
  int other(n) ;
data:
  r = {1.5, 2.5, 3, "a", Clear, "xy", 250}, {-1.5, -2.5, -3, "é", Missing, "z", 1} ;
}
"""


def from_cdl(text: str) -> DatasetHandle:
    report = Report()
    checked = phases.read(Source("t.cdl", text.encode()), report, Options())
    assert checked is not None, report.list_sorted()
    return DatasetHandle(checked)


def test_records_of_any_dataset_are_points() -> None:
    data, report = written(from_cdl(CDL))
    assert data is not None
    [warning] = report.list_sorted()
    assert warning.code == "lost-beside-points"
    assert "variable `/other`" in warning.message
    assert "attribute `comment`" in warning.message
    found, report = opened(data)
    assert codes(report) == []
    assert found is not None
    values = found["/obs"][:]
    assert values["latitude"].tolist() == [1.5, -1.5]
    assert values["lat"].tolist() == [1.5, -1.5], "a float is no double: it stays in the row"
    assert values["time_"].tolist() == [3.0, -3.0]
    assert values["nominal_time"].tolist() == [3.0, -3.0]
    assert np.isnan(values["altitude"]).all()
    assert values["name"].tolist() == ["a", "é"]
    assert values["c"].tolist() == [0, -1]
    assert values["code"].tolist() == [[b"x", b"y"], [b"z", b""]]
    assert values["b"].tolist() == [250, 1]
    assert found["/obs"].attributes["time_.units"] == "days since 1970-01-01"


def test_records_without_values_are_points_of_fill() -> None:
    handle = from_cdl(CDL.partition("data:")[0] + "}")
    data, _ = written(handle, "/r")
    assert data is not None
    found, report = opened(data)
    assert codes(report) == []
    assert found is not None
    assert found["/obs"][:]["name"].tolist() == ["", ""]


def test_the_door_writes_points() -> None:
    stream = io.BytesIO()
    report = nczarr.ncstream.write_points(from_cdl(CDL), stream, "/r")
    assert codes(report) == ["lost-beside-points"]
    assert len(opened(stream.getvalue())[0]["/obs"][:]) == 2  # type: ignore[index]
    with pytest.raises(nczarr.CompileError, match="unsuited-points: there is no variable `/x`"):
        nczarr.ncstream.write_points(from_cdl(CDL), stream, "/x")


def test_streams_of_points_are_files(tmp_path: Path) -> None:
    """Any name, any suffix: they are told by how they begin."""
    path = tmp_path / "points.bin"
    path.write_bytes(WITH_TEXTS)
    ran = run_command("dump", str(path))
    assert ran.status == 0, ran.err
    assert "skipped-stations" in ran.err
    assert 'obs:location = "time_ latitude longitude altitude nominal_time"' in ran.text
    assert '{0.5, 10, -20, 3, 1, "a", 7, {"b", "c"}, -1}' in ran.text
    target = tmp_path / "points.nc"
    assert run_command("convert", str(path), str(target), "-q").status == 0
    assert nczarr.diff(str(path), str(target)) == []


UNSUITED = {
    "netcdf t { variables: int v ; }": None,
    "netcdf t { types: compound c { double time ; } ; dimensions: n = 1 ; variables: c v(n) ; }": "/v",
    "netcdf t { types: compound c { double time, lat, lon ; } ; variables: c v ; }": "/v",
    "netcdf t { variables: int v ; int w ; }": "/x",
    "netcdf t { types: int(*) l ; compound c { double time, lat, lon ; l x ; } ; dimensions: n = 1 ; "
    "variables: c v(n) ; }": "/v",
    "netcdf t { types: compound c { double time, lat, lon ; } ; dimensions: n = 1 ; variables: c v(n), w(n) ; }": None,
}


@pytest.mark.parametrize("cdl", UNSUITED)
def test_other_variables_are_refused(cdl: str) -> None:
    data, report = written(from_cdl(cdl), UNSUITED[cdl])
    assert data is None
    assert codes(report) == ["unsuited-points"]


ATOMS = {
    "byte": st.integers(-128, 127), "ubyte": st.integers(0, 255), "short": st.integers(-(2**15), 2**15 - 1),
    "ushort": st.integers(0, 2**16 - 1), "int": st.integers(-(2**31), 2**31 - 1), "uint": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1), "uint64": st.integers(0, 2**64 - 1),
    "float": st.floats(width=32, allow_nan=False), "double": st.floats(allow_nan=False),
    "string": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
}  # fmt: skip


@pytest.mark.slow
@given(st.data())
def test_any_records_come_back(data: st.DataObject) -> None:
    """Written twice and read twice: values, types and names are the same."""
    chosen = data.draw(
        st.lists(st.tuples(st.sampled_from(sorted(ATOMS)), st.sampled_from([(), (2,), (2, 1)])), max_size=5)
    )
    count = data.draw(st.integers(0, 4))
    members = [(f"m{number}", name, shape) for number, (name, shape) in enumerate(chosen)]
    form = {name: (word, *shape) for name, word, shape in members}
    from nczarr.api.builder import DatasetBuilder

    builder = DatasetBuilder("t")
    record = builder.compound("rec", {"time": "double", "lat": "double", "lon": "double", **form})
    builder.variable("r", record, [builder.dimension("n", count)])
    dtype: list[Any] = [("time", "f8"), ("lat", "f8"), ("lon", "f8")]
    plain = {"byte": "i1", "ubyte": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "int64": "i8",
             "uint64": "u8", "float": "f4", "double": "f8", "string": "O"}  # fmt: skip
    dtype += [(name, plain[word], shape) for name, word, shape in members]
    values = np.zeros(count, dtype)
    for name, word, shape in members:
        size = count * int(np.prod(shape))
        drawn = data.draw(st.lists(ATOMS[word], min_size=size, max_size=size))
        column = np.empty(size, plain[word])
        column[:] = drawn
        values[name] = column.reshape(count, *shape)
    stream, report = written(builder.finish(data={"/r": values}))
    assert codes(report) == []
    assert stream is not None
    found, report = opened(stream)
    assert codes(report) == []
    assert found is not None
    read = found["/obs"][:]
    for name, *_ in members:
        assert read[name].tolist() == values[name].tolist()
    again, _ = written(found)
    assert again is not None
    second, _ = opened(again)
    assert second is not None
    assert repr(second["/obs"][:].tolist()) == repr(read.tolist()), "NaN is NaN"
