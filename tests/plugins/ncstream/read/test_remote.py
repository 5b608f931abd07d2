"""Datasets on servers of CDM Remote: what is read, how little is asked for, and what is no server."""

from __future__ import annotations

import json
import math
import pickle
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.common import dataset_service, remote_variable
from nczarr.plugins.ncstream.read import remote
from nczarr.stores.url import BadURLError, is_remote, location
from tests.conftest import Ran
from tests.support.cdmremote import Asked, Reply, given, recorded, serving

CDL = r"""netcdf t {
types:
  byte enum cloud { Clear = 0, Missing = -1 } ;
  opaque(3) key ;
  int(*) row ;
  compound rec { byte day ; double elev(2) ; cloud sky ; } ;
  compound log { string name ; row counts ; rec inner ; } ;
  rec(*) track ;
  row(*) rows ;
  string(*) words ;
  compound texts { string pair(2) ; int n ; } ;
dimensions:
  time = UNLIMITED ; x = 6 ; empty = UNLIMITED ;
variables:
  int64 big(time, x) ; float v(time, x) ; v:_FillValue = -1.f ; char c(x) ; string s(time) ; cloud sky(x) ; key k(x) ;
  row r(time, x) ; rec records(time) ; log logs(time) ; double scalar ; ubyte none(empty) ; string title ;
  row alone ;
  track tracks(time) ; track route ; rows nested(time) ; words said(time) ; texts labels(time) ;
data:
  big = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 9223372036854775807 ;
  v = 1, 2, 3, 4, 5, 6, 7, 8, 9, _, _, _, 1.5, 2.5, NaN, -0., 1, 0 ;
  c = "abcdef" ; s = "a", "", "é" ; sky = Clear, Missing, Clear, Clear, Missing, Clear ;
  k = 0x000102, 0x030405, 0x060708, 0x090a0b, 0x0c0d0e, 0x0f1011 ;
  r = {1}, {}, {2, 3}, {4}, {5}, {}, {}, {}, {}, {}, {}, {6, 7, 8}, {9}, {10}, {11}, {12}, {13}, {14, 15} ;
  records = {1, {1.5, 2.5}, Clear}, {2, {3.5, 4.5}, Missing}, {3, {5.5, 6.5}, Clear} ;
  logs = {"one", {1, 2}, {1, {1, 2}, Clear}}, {"", {}, {2, {3, 4}, Missing}}, {"three", {3}, {3, {5, 6}, Clear}} ;
  scalar = 2.5 ; title = "a title" ; alone = {1, 2, 3} ;
  tracks = {{1, {1.5, 2.5}, Clear}}, {}, {{2, {3.5, 4.5}, Missing}, {3, {5.5, 6.5}, Clear}} ;
  route = {{4, {7.5, 8.5}, Clear}, {5, {9.5, 10.5}, Missing}} ;
  nested = {{1}, {}, {2, 3}}, {}, {{4}} ; said = {"a", "b"}, {}, {"c"} ;
  labels = {{"a", "b"}, 1}, {{"c", "d"}, 2}, {{"e", ""}, 3} ;
group: g.1 {
variables:
  short odd\ name\(1\)(x) ; row r(x) ;
data:
  odd\ name\(1\) = 1, 2, 3, 4, 5, -6 ;
  r = {1}, {2}, {}, {3}, {4, 5}, {6} ;
}
}
"""


def dataset() -> DatasetHandle:
    report = Report()
    checked = phases.read(Source("t.cdl", CDL.encode()), report, Options())
    assert checked is not None, report.list_sorted()
    return DatasetHandle(checked)


def same(one: Any, other: Any) -> bool:
    return repr(np.asarray(one).tolist()) == repr(np.asarray(other).tolist())


# ---- URLs ------------------------------------------------------------------------------------------------------------


def test_places_of_services() -> None:
    for text in ("cdmremote:http://h:1/a/b.nc", "CDMRemote:HTTP://h:1/a/b.nc", "cdmremote://h:1/a/b.nc"):
        assert is_remote(text)
        assert location(text).kind
        assert location(text).path == "http://h:1/a/b.nc"
    assert location("cdmremote:https://h/a").path == "https://h/a"
    assert not location("cdmremote:a").kind, "a path"
    assert not location("http://h/a").kind
    for text in ("cdmremote://", "cdmremote:http:///a"):
        with pytest.raises(BadURLError):
            location(text)


# ---- recorded answers ------------------------------------------------------------------------------------------------


def test_recorded_answers_are_datasets(shared: Path) -> None:
    index = json.loads((shared / "data/ncstream/index.json").read_text("utf-8"))["payloads"]
    paths = {urlsplit(each["request"]).path for each in index if each["first_magic"] == "HEADER"}
    assert len(paths) > 10
    with serving(recorded(shared)) as server:
        with pytest.raises(OSError, match="not recorded: /vo"):  # how long opaque values are is asked for
            nczarr.open(server.url("/thredds/cdmremote/nc4/test_atomic_types.nc"))
        for path in sorted(each for each in paths if not each.endswith("test_atomic_types.nc")):
            with nczarr.open(server.url(path)) as found:
                assert found.dataset.variables or found.dataset.attributes or found.dataset.groups, path


@pytest.mark.slow
def test_recorded_values_of_both_generations(shared: Path) -> None:
    with serving(recorded(shared)) as server:

        def opened(path: str) -> DatasetHandle:
            return nczarr.open(server.url(f"/thredds/cdmremote/nc4/{path}"))

        temperature = opened("tst/nc4_sfc_pres_temp.nc")["/temperature"][:]
        assert (temperature.shape, temperature.dtype.kind, float(temperature.sum())) == ((6, 12), "f", 1287.0)
        chars = opened("chararr.nc")["/ca"][:]
        assert b"".join(chars.tolist()) == b"some chars"
        for path in ("compound/ref_tst_compounds.nc4",):
            records = opened(path)["/obs"][:]
            assert records["day"].tolist() == [15, -99, 20]
            assert records["time"].tolist()[:2] == [3600.01, -99.0]
        assert [each.tolist() for each in opened("vlen/tst_vl.nc4")["/var"][:]] == [[-99], [-99] * 2, [-99] * 3]
        clouds = opened("tst/test_enum_type.nc")["/primary_cloud"][:]
        assert clouds.tolist() == [0, 2, 0, 1, 255]
        assert opened("tst/tst_opaques.nc")["/var"][:].tobytes() == bytes(60)
        nested = opened("testNestedStructure.nc")["/x"][()]
        assert nested["field1"].tolist() == (1, -2)


def test_sections_alone_are_asked_for(shared: Path) -> None:
    """Of 7.6 million values of a variable on the server those that are read."""
    path = "/thredds/cdmremote/grib/NCEP/RAP/CONUS_13km/RR_CONUS_13km_20150518_1200.grib2/GC"
    with serving(recorded(shared)) as server:
        variable = nczarr.open(server.url(path))["/Temperature_isobaric"]
        assert variable.shape == (19, 37, 337, 451)
        assert server.variables == []
        found = variable[5, 10]
        assert abs(float(found.astype("f8").sum()) - 36692402.9) < 1
        assert variable[:, :, :, 2].shape == (19, 37, 337)
        assert variable[0, 0, 0:3].shape == (3, 451)
        assert server.variables == [
            "/Temperature_isobaric(5:5,10:10,0:336,0:450)",
            "/Temperature_isobaric(0:18,0:36,0:336,2:2)",
            "/Temperature_isobaric(0:0,0:0,0:2,0:450)",
        ]
        with pytest.raises(OSError, match="400: not recorded"):
            variable[0, 0, 0]


# ---- datasets of ours ------------------------------------------------------------------------------------------------

PROFILES = [("mixed", None), ("first", None), ("first", 4), ("second", None)]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "deflate"), PROFILES)
def test_the_dataset_is_the_same(profile: str, deflate: int | None) -> None:
    ours = dataset()
    with serving(given(ours.checked, profile=profile, deflate=deflate)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert there.dataset == ours.dataset
        for path in ours:
            assert same(there[path][...], ours[path][...]), path
        assert nczarr.diff(ours, there) == []
        assert nczarr.digest(there) == nczarr.digest(ours)


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "deflate"), PROFILES)
def test_headers_without_model_are_enough_for_values(profile: str, deflate: int | None) -> None:
    """As from servers of others: types have other names, char attributes are strings; values are the same."""
    ours = dataset()
    with serving(given(ours.checked, profile=profile, deflate=deflate, told=False)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert set(there) == set(ours)
        for path in ours:
            found, wanted = there[path][...], ours[path][...]
            if path in (
                "/sky",
                "/records",
                "/logs",
                "/tracks",
                "/route",
                "/labels",
            ):  # codes of enums have no sign, structures stand behind
                assert found.shape == wanted.shape
                continue
            assert same(found, wanted), path
        assert there["/sky"][:].tolist() == [0, 255, 0, 0, 255, 0]
        assert there["/logs"][:]["name"].tolist() == ["one", "", "three"]
        assert there["/logs"][:]["inner"]["elev"].tolist() == [[1, 2], [3, 4], [5, 6]]
        assert [each.tolist() for each in there["/logs"][:]["counts"]] == [[1, 2], [], [3]]


def test_regions_are_asked_for_as_they_are_read() -> None:
    ours = dataset()
    with serving(given(ours.checked)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert same(there["/v"][1:3, 2:4], ours["/v"][1:3, 2:4])
        assert same(there[r"/g.1/odd\ name(1)"][2], ours[r"/g.1/odd\ name(1)"][2])
        assert same(there["/s"][2:], ours["/s"][2:])
        assert there["/v"][0:0].shape == (0, 6)
        assert there["/none"][:].shape == (0,)
        assert server.variables == ["/v(1:2,2:3)", r"/g\.1/odd name\(1\)(2:2)", "/s(2:2)"]


def test_large_regions_come_in_pieces_several_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = dataset()
    monkeypatch.setattr(remote_variable, "PIECE", 32)
    answer = given(ours.checked)

    def slowly(path: str, query: dict[str, str]) -> Reply:
        time.sleep(0.02)
        return answer(path, query)

    with serving(slowly) as server:
        there = nczarr.open(server.url("t.nc"))
        assert same(there["/big"][:], ours["/big"][:])
        assert len(server.variables) == 6
        assert server.most > 2
        assert sorted(server.variables)[:2] == ["/big(0:0,0:3)", "/big(0:0,4:5)"]
        assert same(there["/records"][:], ours["/records"][:])
        assert same(there["/s"][:], ours["/s"][:])


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 4, 7, 100])
def test_lists_come_in_blocks_of_cells(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    ours = dataset()
    monkeypatch.setattr(remote_variable, "MOST", most)
    with serving(given(ours.checked)) as server:
        there = nczarr.open(server.url("t.nc"))
        for path in ("/r", "/logs", "/alone", r"/g.1/r", "/tracks", "/nested", "/said", "/labels", "/route"):
            assert same(there[path][...], ours[path][...]), path
        assert same(there["/r"][1:, 3:5], ours["/r"][1:, 3:5])
        assert nczarr.diff(ours, there) == []
        if most == 1:
            assert "/r(0:0,1:1,:)" in server.variables


def test_blocks_of_cells_cover_each_cell_once(monkeypatch: pytest.MonkeyPatch) -> None:
    service: Any = None
    codec = remote.CdmCodec("/v", "int", (), {}, 0, b"")
    for shape in [(), (5,), (3, 4), (2, 3, 5), (1, 1), (7, 1, 2)]:
        for most in (1, 2, 3, 5, 8, 1000):
            monkeypatch.setattr(remote_variable, "MOST", most)
            blocks = remote_variable.Blocks(remote_variable.RemoteVariable(service, replace(codec, shape=shape)))
            seen = np.zeros(shape, int)
            for number in range(math.prod(blocks.counts)):
                region = blocks.region(number)
                assert 1 <= int(np.prod([len(each) for each in region])) <= max(1, most)
                seen[tuple(slice(each.start, each.stop) for each in region)] += 1
                assert (number, region) in list(blocks.meeting(region))
            assert (seen == 1).all()


def test_a_declared_size_costs_nothing() -> None:
    """Sources of a list variable of 2^40 cells are made at once, and one cell is one question."""
    report = Report()
    cdl = "netcdf t { types: int(*) row ; dimensions: x = 1048576 ; variables: row r(x, x) ; double d(x, x) ; }"
    checked = phases.read(Source("t.cdl", cdl.encode()), report, Options())
    assert checked is not None
    with serving(given(checked)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert there["/r"].shape == (1 << 20, 1 << 20)
        assert server.variables == []
        assert there["/d"][5, 7:9].shape == (2,)
        assert server.variables == ["/d(5:5,7:8)"]


@pytest.mark.slow
def test_sources_travel() -> None:
    ours = dataset()
    with serving(given(ours.checked)) as server:
        there = nczarr.open(server.url("t.nc"))
        for path, parts in there.checked.parts.items():
            for part, source in parts.items():
                again = pickle.loads(pickle.dumps(source))
                assert again.distant == source.distant
                everything = tuple(slice(0, length) for length in source.layout.shape)
                assert same(again.read(everything), source.read(everything)), (path, part)


# ---- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_read_servers(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    ours = dataset()
    (tmp_path / "t.cdl").write_text(CDL, "utf-8")
    with serving(given(ours.checked)) as server:
        url = server.url("t.nc")
        for target in ("t.nc", "t.zarr", "t.ncs"):
            ran = nczarr_command("convert", url, str(tmp_path / target), "--verify")
            assert ran.status == 0, ran.err
            assert nczarr_command("diff", str(tmp_path / "t.cdl"), str(tmp_path / target)).status == 0
        assert nczarr_command("diff", str(tmp_path / "t.cdl"), url).status == 0
        digests = {nczarr_command("digest", place).text.split()[0] for place in (url, str(tmp_path / "t.nc"))}
        assert len(digests) == 1
        dumped = nczarr_command("dump", "-v", "scalar", url)
        assert "scalar = 2.5" in dumped.text
        section = nczarr_command("convert", url, str(tmp_path / "s.nc"), "--section", "v(1:2,:)", "--var", "v")
        assert section.status == 0, section.err
        assert nczarr.open(str(tmp_path / "s.nc"))["/v"].shape == (2, 6)


# ---- what is no server -----------------------------------------------------------------------------------------------

HEADER = b"\xad\xec\xce\xda"
WRONG: dict[str, tuple[Reply, str]] = {
    "a page": (Reply(data=b"<!DOCTYPE html>", type="text/html", description=None), "not a CDM Remote server"),
    "nothing": (Reply(data=b"", description=None), "an empty answer"),
    "another place": (Reply(404, b"there is no dataset of this name", "text/plain"), "404: there is no dataset"),
    "no right": (Reply(403, b"not for you", "text/plain"), "403: not for you"),
    "a page that says so": (Reply(404, b"<html>many words</html>", "text/html"), "404: Not Found"),
    "a page in other words": (Reply(500, b"\xff\xfe", "text/plain"), "500"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_server_is_out_of_reach(what: str, nczarr_command: Callable[..., Ran]) -> None:
    reply, words = WRONG[what]
    with serving(lambda path, query: reply) as server:
        url = server.url("t.nc?token=verysecret")
        ran = nczarr_command("dump", url, "--storage-option", "retries=0")
        assert ran.status == 3
        assert words in ran.err
        assert "verysecret" not in ran.err


def test_secrets_of_a_url_travel_and_stay_unseen() -> None:
    ours = dataset()
    with serving(given(ours.checked)) as server:
        there = nczarr.open(server.url("t.nc?token=verysecret"))
        assert there["/scalar"][()] == 2.5
        assert all(query["token"] == "verysecret" for query in server.queries)
        assert "verysecret" not in repr(there.checked.parts["/v"][""])


def test_secrets_in_the_words_of_a_server_stay_unseen(nczarr_command: Callable[..., Ran]) -> None:
    words = b"somebody with swordfish99 may not see verysecret"
    with serving(lambda path, query: Reply(403, words, "text/plain")) as server:
        url = f"cdmremote:http://somebody:swordfish99@127.0.0.1:{server.port}/t.nc?token=verysecret"
        ran = nczarr_command("dump", url)
    assert ran.status == 3
    assert "may not see" in ran.err
    for secret in ("somebody", "swordfish99", "verysecret"):
        assert secret not in ran.err


def test_a_server_that_goes_away_is_out_of_reach(nczarr_command: Callable[..., Ran]) -> None:
    with serving(lambda path, query: Reply()) as server:
        url = server.url("t.nc")
    assert nczarr_command("dump", url, "--storage-option", "retries=1").status == 3


@pytest.mark.slow
def test_answers_are_asked_for_again_where_that_may_help() -> None:
    ours = dataset()
    answer = given(ours.checked)
    failures = iter([503, 503])

    def sometimes(path: str, query: dict[str, str]) -> Reply:
        status = next(failures, 200)
        return Reply(status, b"busy", "text/plain") if status != 200 else answer(path, query)

    with serving(sometimes) as server:
        assert nczarr.open(server.url("t.nc"))["/scalar"][()] == 2.5
        assert len(server.queries) == 4


def bad_headers() -> dict[str, bytes]:
    ours = dataset()
    with serving(given(ours.checked)) as server:
        import urllib.request

        with urllib.request.urlopen(server.url("t").partition(":")[2] + "?req=header") as answer:
            whole = answer.read()
    return {"truncated": whole[:-5], "no message": HEADER + b"\x02\xff\xff", "data": b"\xab\xec\xce\xba\x00\x00"}


@pytest.mark.parametrize("what", ["truncated", "no message", "data"])
def test_headers_that_cannot_be_read_are_told(what: str) -> None:
    data = bad_headers()[what]
    with serving(lambda path, query: Reply(data=data)) as server:
        with pytest.raises(CompileError) as raised:
            nczarr.open(server.url("t.nc"))
        assert any(found.code.endswith("ncstream") for found in raised.value.diagnostics)


def changed(change: Callable[[bytes], bytes]) -> Callable[[str, dict[str, str]], Reply]:
    answer = given(dataset().checked)

    def answering(path: str, query: dict[str, str]) -> Reply:
        reply = answer(path, query)
        return reply if query["req"] == "header" else reply._replace(data=change(reply.data))

    return answering


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v", "/s", "/r", "/records", "/logs", "/k"])
def test_answers_that_are_wrong_are_no_values(path: str) -> None:
    other = dataset()
    [message] = nczarr.ncstream.read_messages(
        b"".join(nczarr.ncstream.data_messages(other.checked, [("/big", (range(1), range(2)))]))
    )
    changes: list[Callable[[bytes], bytes]] = [
        lambda data: data[:-1],
        lambda data: data[:3],
        lambda data: b"".join(nczarr.ncstream.data_messages(other.checked, [("/big", (range(1), range(2)))])),
        lambda data: b"\xab\xad\xba\xda\x06\x0a\x04full",
        lambda data: b"\xed\xed\xde\xde",
    ]
    assert message.name == "big"
    for change in changes:
        with serving(changed(change)) as server:
            there = nczarr.open(server.url("t.nc"), storage_options={"retries": 0})
            with pytest.raises((CompileError, OSError)) as raised:
                there[path][...]
            if isinstance(raised.value, OSError):
                assert "this is not a CDM Remote server" in str(raised.value)
            else:
                assert all(found.primary.offset is not None for found in raised.value.diagnostics)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_mutated_answers_are_values_or_faults(seed: int) -> None:
    """Whatever a server sends: a diagnostic, an OSError, or a dataset, and never anything else."""
    chosen = random.Random(seed)
    answer = given(dataset().checked, profile=("first", "second")[seed], told=False)
    state = {"header": True}

    def answering(path: str, query: dict[str, str]) -> Reply:
        reply = answer(path, query)
        if (query["req"] == "header") is not state["header"]:
            return reply
        data = bytearray(reply.data)
        for _ in range(chosen.randint(1, 3)):
            data[chosen.randrange(len(data))] = chosen.choice([0, 0xFF, 0x80, chosen.randrange(256)])
        return reply._replace(data=bytes(data))

    read = faults = 0
    with serving(answering) as server:
        for number in range(60):
            state["header"] = bool(number % 2)
            try:
                there = nczarr.open(server.url("t.nc"), storage_options={"retries": 0})
                path = chosen.choice(list(there) or ["/v"])
                if path in there and int(np.prod(there[path].shape)) < 1000:
                    there[path][...]
                read += 1
            except (CompileError, OSError):
                faults += 1
    assert read > 5
    assert faults > 5


@pytest.mark.parametrize("what", ["header", "data"])
def test_answers_without_end_are_left(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """No more is taken than there can be; and it is not asked for again."""
    monkeypatch.setattr(dataset_service, "LONGEST_DOCUMENT", 1 << 20)
    monkeypatch.setattr(remote_variable, "LONGEST_HEAD", 1 << 20)
    answer = given(dataset().checked)

    def endlessly(path: str, query: dict[str, str]) -> Reply:
        reply = answer(path, query)
        return reply._replace(data=reply.data + bytes(64 << 20)) if query["req"] == what else reply

    with serving(endlessly) as server:
        with pytest.raises(OSError, match="the answer has more than"):
            nczarr.open(server.url("t.nc"))["/v"][:]
        assert [query["req"] for query in server.queries].count(what) == 1


def test_sections_of_answers_are_looked_at() -> None:
    other = dataset()

    def elsewhere(data: bytes) -> bytes:
        return b"".join(nczarr.ncstream.data_messages(other.checked, [("/v", (range(1, 2), range(6)))]))

    with serving(changed(elsewhere)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert same(there["/v"][1], other["/v"][1])
        with pytest.raises(
            nczarr.CompileError, match=r"contradictory-ncstream: the section .* is not the requested one"
        ):
            there["/v"][0]


def test_asked_counts() -> None:
    with serving(lambda path, query: Reply(404)) as server:
        assert isinstance(server, Asked)
        assert server.queries == []


def test_the_first_lists_take_the_first_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = dataset()
    monkeypatch.setattr(remote_variable, "MOST", 2)
    with serving(given(ours.checked)) as server:
        there = nczarr.open(server.url("t.nc"))
        assert same(there["/g.1/r"][:2], ours["/g.1/r"][:2])
        assert server.variables == [r"/g\.1/r(0:1,:)"]
        assert same(there["/r"][0, :2], ours["/r"][0, :2])
        assert set(server.variables[1:]) == {"/r(0:0,0:1,:)", "/r(0:0,2:3,:)", "/r(0:0,4:5,:)"}, "one row of three"
