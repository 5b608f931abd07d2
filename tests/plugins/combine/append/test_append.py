"""Extension of targets: what is written, what has to agree, and what is refused before anything is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import refs
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import CompileError
from tests.conftest import run_command

SERIES = """netcdf s {{
dimensions:
  time = UNLIMITED ;
  x = 3 ;
variables:
  {type} time(time) ;
    time:units = "{units}" ;
    time:calendar = "{calendar}" ;
  {place} x(x) ;
  short v(time, x) ;
    v:scale_factor = {scale} ;
    v:_FillValue = {fill}s ;
  {extra}
data:
  time = {times} ;
  x = {xs} ;
  v = {values} ;
}}
"""


def series(*times: float, **members: Any) -> DatasetHandle:
    """Some times, and values that tell of which."""
    given = {
        "type": "double", "place": "float", "units": "days since 2000-01-01", "calendar": "standard", "scale": "0.5",
        "fill": -1, "extra": "", "xs": "1, 2, 3", "times": ", ".join(map(str, times)),
        "values": ", ".join(f"{10 * each:.0f}, {10 * each + 1:.0f}, {10 * each + 2:.0f}" for each in times), **members,
    }  # fmt: skip
    return nczarr.from_cdl(SERIES.format(**given))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(target: Path, *sources: Any, **given: Any) -> list[str]:
    """The messages of all errors, each behind its code; the target stays as it was."""
    before = files(target) if target.is_dir() else {"": target.read_bytes()}
    with pytest.raises(CompileError) as caught:
        nczarr.append(sources, target, **{"along": "time", **given})
    assert (files(target) if target.is_dir() else {"": target.read_bytes()}) == before
    return [f"{each.code}: {each.message}" for each in caught.value.diagnostics if each.severity == "error"]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    nczarr.write(series(0, 1, 2), tmp_path / "t.zarr", "nczarr3", chunks={"/v": (2, 2), "/time": (2,)})
    return tmp_path / "t.zarr"


STORES = ("nczarr", "zarr2", "zarr3", "nczarr3")


@pytest.mark.sampled(27)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("form", [*STORES, "netcdf3", "netcdf4"])
def test_months_one_by_one_equal_all_at_once(tmp_path: Path, form: str, length: int) -> None:
    """Twelve sources; chunks of 1 to 4 records, so that the last one is complete or not."""
    months = [series(3 * month, 3 * month + 1, 3 * month + 2) for month in range(12)]
    options: dict[str, Any] = {"allow_loss": "all"} if form.startswith("zarr") else {}
    if form != "netcdf3":
        options["chunks"] = {"time": length, "/time": (length,)}
    if form in STORES:
        options["consolidated"] = length == 2
    if form == "nczarr3":
        options["shards"] = {"/v": (length, 3)}
    target, whole = tmp_path / f"t.{form}", tmp_path / f"whole.{form}"
    nczarr.write(refs.combine(months[:2], along="time"), target, form, **options)
    for month in months[2:]:
        nczarr.append(month, target, along="time")
    nczarr.write(refs.combine(months, along="time"), whole, form, **options)
    assert nczarr.diff(target, whole) == []
    assert nczarr.open(target)["v"].chunks == nczarr.open(whole)["v"].chunks
    if form in STORES:
        here, there = files(target), files(whole)
        assert here.keys() == there.keys()
        changed = {key for key in here if here[key] != there[key]}
        assert all(json.loads(here[key]) == json.loads(there[key]) for key in changed)


def test_several_sources_in_one_run(target: Path, tmp_path: Path) -> None:
    done = nczarr.append([series(3), series(4, 5)], target, along="time")
    assert done.variables == 3
    assert nczarr.diff(target, refs.combine([series(0, 1, 2), series(3), series(4, 5)], along="time")) == []


def test_only_the_lengths_of_documents_change(tmp_path: Path) -> None:
    """Documents of other programs keep their form: blanks, order, numbers that Python would write otherwise."""
    nczarr.write(series(0, 1), tmp_path / "t.zarr", "zarr3", allow_loss="all")
    path = tmp_path / "t.zarr" / "v" / "zarr.json"
    document = json.loads(path.read_text())
    document["attributes"]["tiny"] = "HERE"
    text = json.dumps(document, indent=3).replace('"HERE"', "1.50000000000000000000e-3")
    path.write_text(text)
    nczarr.append(series(2), tmp_path / "t.zarr", along="time")
    assert path.read_text() == text.replace("      2,\n      3\n", "      3,\n      3\n", 1)


@pytest.mark.long
@pytest.mark.parametrize("chunk", [5, 4])
def test_chunks_are_copied_where_the_grid_allows(tmp_path: Path, chunk: int) -> None:
    """Of sources of 5 records in chunks of one, those that lie whole in a source; of those of another codec, none."""
    built = {}
    for number in range(3):
        values = np.arange(20, dtype="i4").reshape(20, 1) + 20 * number
        builder = nczarr.DatasetBuilder("t")
        time, x = builder.dimension("time", 20, unlimited=True), builder.dimension("x", 1)
        builder.variable("v", "int", [time, x], chunks=(chunk, 1))
        built[number] = builder.finish(data={"/v": values})
    nczarr.write(built[0], tmp_path / "t.zarr", "zarr3", codecs="zlib:5", allow_loss="all")
    nczarr.write(built[1], tmp_path / "one.zarr", "zarr3", codecs="zlib:5", allow_loss="all")
    nczarr.write(built[2], tmp_path / "two.nc", kind="nc4", codecs="zlib:1")
    done = nczarr.append([tmp_path / "one.zarr", tmp_path / "two.nc"], tmp_path / "t.zarr", along="time")
    assert (done.copied_chunks, done.transcoded_chunks) == (20 // chunk, 20 // chunk)
    assert nczarr.open(tmp_path / "t.zarr")["v"][:, 0].tolist() == list(range(60))
    shutil.copytree(tmp_path / "t.zarr", tmp_path / "u.zarr")
    nczarr.append(series_of(7, chunk), tmp_path / "t.zarr", along="time")
    done = nczarr.append(tmp_path / "one.zarr", tmp_path / "t.zarr", along="time")
    assert done.copied_chunks == 0


def series_of(length: int, chunk: int) -> DatasetHandle:
    builder = nczarr.DatasetBuilder("t")
    time, x = builder.dimension("time", length, unlimited=True), builder.dimension("x", 1)
    builder.variable("v", "int", [time, x], chunks=(chunk, 1))
    return builder.finish(data={"/v": np.arange(length, dtype="i4")[:, None]})


def test_times_get_the_type_of_the_target(target: Path) -> None:
    nczarr.append(series(3, 4, type="int"), target, along="time")
    with nczarr.open(target) as found:
        assert (found["time"].dtype, found["time"][:].tolist()[-2:]) == (np.dtype("f8"), [3, 4])


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"scale": "0.25"}, "attribute `scale_factor` of `/v` differs: 0.5 in `TARGET`, 0.25 in `s`"),
    ({"fill": -9}, "attribute `_FillValue` of `/v` differs"),
    ({"place": "double"}, "the type of `/x` differs: float in `TARGET`, double in `s`"),
    ({"extra": "int more ;"}, "variable `/more` is in `s` but not in `TARGET`"),
    ({"xs": "1, 2, 9"}, "`/x` does not have `/time`, and is not the same in all sources"),
]


@pytest.mark.parametrize(("members", "message"), FAULTS, ids=[next(iter(members)) for members, _ in FAULTS])
def test_each_fault_is_one_message(target: Path, members: dict[str, Any], message: str) -> None:
    found = refused(target, series(3, 4, **members))
    assert len(found) == 1
    assert found[0].startswith("unequal-sources: " + message.replace("TARGET", str(target)))


def test_all_faults_are_told_at_once(target: Path) -> None:
    found = refused(target, series(1, 4, scale="0.25", extra="int more ;"))
    assert [each.partition(":")[0] for each in found] == ["misplaced-records", "unequal-sources", "unequal-sources"]


def test_another_length_of_another_dimension(target: Path) -> None:
    text = SERIES.replace("x = 3", "x = 2").format(
        type="double", place="float", units="days since 2000-01-01", calendar="standard", scale="0.5", fill=-1,
        extra="", xs="1, 2", times="3", values="1, 2",
    )  # fmt: skip
    assert any("the length of `/x` differs: 3" in each for each in refused(target, nczarr.from_cdl(text)))


ORDERS: list[tuple[tuple[float, ...], str]] = [
    ((2, 3), "do not increase: 2000-01-03 in `s` after 2000-01-03 in"),
    ((1.5, 3), "do not increase: 2000-01-02 12:00 in `s` after 2000-01-03 in"),
    ((3, 5, 4), "do not increase: 2000-01-05 in `s` after 2000-01-06"),
    ((-1,), "do not increase: 1999-12-31 in `s` after 2000-01-03 in"),
]


@pytest.mark.parametrize(("times", "message"), ORDERS)
def test_the_coordinate_continues_strictly(target: Path, times: tuple[float, ...], message: str) -> None:
    (found,) = refused(target, series(*times))
    assert found.startswith("misplaced-records: ")
    assert message in found


def test_a_falling_coordinate_continues(tmp_path: Path) -> None:
    target = tmp_path / "t.zarr"
    nczarr.write(series(9, 8), target)
    nczarr.append(series(7, 5), target, along="time")
    assert nczarr.open(target)["time"][:].tolist() == [9, 8, 7, 5]
    (found,) = refused(target, series(6))
    assert "do not decrease: 2000-01-07" in found


def test_times_are_counted_in_the_units_of_the_target(target: Path) -> None:
    nczarr.append(series(0, 36, units="hours since 2000-01-04"), target, along="time")
    assert nczarr.open(target)["time"][:].tolist() == [0, 1, 2, 3, 4.5]


def test_another_calendar_is_refused(target: Path) -> None:
    (found,) = refused(target, series(3, calendar="noleap"))
    assert found == "inexact-times: `/time` has dates of the calendar `noleap` in `s`, `standard` before"


def test_inexact_times_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "t.zarr"
    nczarr.write(series(0, 1, type="int"), target)
    (found,) = refused(target, series(30, type="int", units="hours since 2000-01-02"))
    assert found.startswith("inexact-times")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", ["nczarr", "zarr3", "netcdf4"])
@pytest.mark.parametrize("times", [(1,), (1, 2), (2, 3, 4), (0, 1, 2), (0, 1, 2, 3), (3, 4)])
def test_a_region_is_replaced_and_extended(tmp_path: Path, form: str, times: tuple[int, ...]) -> None:
    target = tmp_path / f"t.{form}"
    nczarr.write(series(0, 1, 2), target, form, chunks={"time": 2}, allow_loss="all" if form == "zarr3" else ())
    given = ", ".join(f"{100 + each}, {200 + each}, {300 + each}" for each in times)
    nczarr.append(series(*times, values=given), target, along="time", region="auto")
    expected = {each: [10 * each, 10 * each + 1, 10 * each + 2] for each in range(3)}
    expected |= {each: [100 + each, 200 + each, 300 + each] for each in times}
    found = nczarr.open(target)
    assert found["time"][:].tolist() == sorted(expected)
    assert found["v"][:].tolist() == [expected[each] for each in sorted(expected)]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((1, 3), "do not match: 3.0 in `s` where the target has 2.0"),
        ((0.5, 1), "do not match: 0.5 in `s` where the target has 1.0"),
        ((-1, 0), "do not match: -1.0"),
        ((2, 2.5, 2.25), "do not increase: 2.25"),
    ],
)
def test_a_region_fits_exactly(target: Path, times: tuple[float, ...], message: str) -> None:
    (found,) = refused(target, series(*times), region="auto")
    assert found.startswith("misplaced-records: ")


def test_a_region_needs_a_coordinate(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = 1, 2 ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.zarr")
    (found,) = refused(tmp_path / "t.zarr", nczarr.from_cdl(text), along="t", region="auto")
    assert "has no coordinate `/t`" in found


def test_fill_replaces_a_chunk(tmp_path: Path) -> None:
    """A chunk that becomes fill is removed, so that the old one is not read."""
    target = tmp_path / "t.zarr"
    nczarr.write(series(0, 1, 2), target, "zarr3", chunks={"time": 1}, allow_loss="all")
    nczarr.append(series(1, values="_, _, _"), target, along="time", region="auto")
    assert nczarr.open(target)["v"][:].tolist()[1] == [-1, -1, -1]
    assert not (target / "v" / "c" / "1" / "0").exists()


@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "zarr2", "zarr3"])
def test_chunks_left_beyond_the_end_are_not_read(tmp_path: Path, form: str) -> None:
    """Some program may have left them: appended records of fill have no chunk of their own."""
    target, options = tmp_path / "t.zarr", {"allow_loss": "all"}
    chunks = {"time": 2, "/time": (2,)}
    nczarr.write(series(0, 1, 2, 3), target, form, chunks=chunks, **options)
    right = tmp_path / "right.zarr"
    nczarr.write(series(0, 1), right, form, chunks=chunks, **options)
    for path in right.rglob("*"):
        if path.is_file() and (path.name.startswith(".z") or path.name == "zarr.json"):
            shutil.copy(path, target / path.relative_to(right))
    nczarr.append(series(2, 3, values="_, _, _, _, _, _"), target, along="time")
    assert nczarr.open(target)["v"][:].tolist()[2:] == [[-1, -1, -1], [-1, -1, -1]]


CASES: list[tuple[str, Callable[[Path], None], str]] = [
    ("t.zip", lambda path: nczarr.write(series(0), path), "compressed or an archive, whose content cannot be replaced"),
    ("t.cdl", lambda path: nczarr.write(series(0), path), "has the format `cdl`, which cannot be extended"),
    ("t.ncs", lambda path: nczarr.write(series(0), path), "has the format `ncstream`, which cannot be extended"),
]


@pytest.mark.parametrize(("name", "make", "message"), CASES, ids=[name for name, _, _ in CASES])
def test_other_targets_are_refused(tmp_path: Path, name: str, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / name)
    (found,) = refused(tmp_path / name, series(1))
    assert found.endswith(message)


def test_references_are_extended_by_their_suffix(tmp_path: Path) -> None:
    nczarr.write(series(0, 1), tmp_path / "a.nc")
    nczarr.convert(tmp_path / "a.nc", tmp_path / "refs.json")
    shutil.copy(tmp_path / "refs.json", tmp_path / "refs.txt")
    shutil.copy(tmp_path / "refs.json", tmp_path / "same.json")
    nczarr.write(series(2), tmp_path / "b.nc")
    command = ("append", str(tmp_path / "b.nc"))
    ran = run_command(*command, str(tmp_path / "refs.json"), "--along", "time")
    assert ran.status == 0, ran.err
    assert nczarr.open(tmp_path / "refs.json")["time"][:].tolist() == [0, 1, 2]
    nczarr.append(tmp_path / "b.nc", tmp_path / "same.json", along="time")
    assert nczarr.diff(tmp_path / "same.json", tmp_path / "refs.json") == []
    ran = run_command(*command, str(tmp_path / "refs.json"), "--along", "time", "--region", "auto")
    assert (ran.status, "whose records are not replaced" in ran.err) == (2, True)
    ran = run_command(*command, str(tmp_path / "refs.txt"), "--along", "time")
    assert (ran.status, ran.err.count("error")) == (2, 2)
    assert "is a reference document, which `nczarr refs append` extends" in ran.err


def test_a_missing_target(tmp_path: Path) -> None:
    nczarr.write(series(0), tmp_path / "a.nc")
    ran = run_command("append", str(tmp_path / "a.nc"), str(tmp_path / "none.zarr"), "--along", "time")
    assert ran.status == 3


def test_a_dry_run_writes_nothing(target: Path, tmp_path: Path) -> None:
    nczarr.write(series(3, 4, 5), tmp_path / "s.nc", kind="nc4", chunks={"time": 1})
    before = files(target)
    ran = run_command("append", str(tmp_path / "s.nc"), str(target), "--along", "time", "--dry-run")
    assert ran.status == 0, ran.err
    assert "nothing was written" in ran.out.decode()
    assert "3 keys of the target would be replaced" in ran.out.decode()
    assert files(target) == before


EVERY = """netcdf a {{
types:
  compound rec {{ int a ; float b(2) ; }} ;
  int(*) list ;
  byte enum e {{ one = 1, two = 2 }} ;
dimensions:
  t = UNLIMITED ;
  y = 3 ;
variables:
  int t(t) ;
  string s(t) ;
  rec r(t) ;
  list l(t) ;
  e k(t) ;
  char c(t, y) ;
  int64 inner(y, t) ;
data:
  t = {t} ;
  s = {s} ;
  r = {{1, {{2, 3}}}}, {{4, {{5, 6}}}} ;
  l = {l} ;
  k = one, two ;
  c = "abc", "def" ;
  inner = {{1, 2}}, {{3, 4}}, {{5, 6}} ;
group: g {{
  variables:
    short w(t) ;
  data:
    w = {t} ;
}}
}}
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "netcdf4"])
def test_every_type(tmp_path: Path, form: str, length: int) -> None:
    one = nczarr.from_cdl(EVERY.format(t="0, 1", s='"a", "bb"', l="{1, 2}, {}"))
    two = nczarr.from_cdl(EVERY.format(t="2, 3", s='"c", "d"', l="{3}, {4, 5, 6}"))
    nczarr.write(one, tmp_path / f"t.{form}", form, chunks={"t": length})
    nczarr.append([two], tmp_path / f"t.{form}", along="t")
    assert nczarr.diff(tmp_path / f"t.{form}", refs.combine([one, two], along="t")) == []


def test_texts_that_do_not_fit(tmp_path: Path) -> None:
    one = nczarr.from_cdl(EVERY.format(t="0, 1", s='"a", "bb"', l="{}, {}"))
    two = nczarr.from_cdl(EVERY.format(t="2, 3", s='"c", "long"', l="{}, {}"))
    nczarr.write(one, tmp_path / "t.zarr", "nczarr")
    (found,) = refused(tmp_path / "t.zarr", two, along="t")
    assert found == "unextendable-target: `/s`: the sources have texts of 4 bytes, and the target those of 2"


def test_lists_are_not_replaced(tmp_path: Path) -> None:
    one = nczarr.from_cdl(EVERY.format(t="0, 1", s='"a", "bb"', l="{1}, {2}"))
    two = nczarr.from_cdl(EVERY.format(t="1, 2", s='"c", "d"', l="{3, 4}, {5}"))
    nczarr.write(one, tmp_path / "t.zarr", "nczarr3")
    assert any(
        "unextendable-target: `/l`" in each for each in refused(tmp_path / "t.zarr", two, along="t", region="auto")
    )


def test_nothing_to_append(target: Path) -> None:
    before = files(target)
    empty = SERIES.replace("time = {times} ;", "").replace("v = {values} ;", "")
    source = nczarr.from_cdl(
        empty.format(
            type="double",
            place="float",
            units="days since 2000-01-01",
            calendar="standard",
            scale="0.5",
            fill=-1,
            extra="",
            xs="1, 2, 3",
        )
    )
    nczarr.append(source, target, along="time")
    assert files(target) == before


def test_an_empty_target_grows(tmp_path: Path) -> None:
    empty = SERIES.replace("time = {times} ;", "").replace("v = {values} ;", "")
    source = nczarr.from_cdl(
        empty.format(
            type="double",
            place="float",
            units="days since 2000-01-01",
            calendar="standard",
            scale="0.5",
            fill=-1,
            extra="",
            xs="1, 2, 3",
        )
    )
    for form in ("nczarr", "nczarr3", "netcdf4"):
        target = tmp_path / f"t.{form}"
        nczarr.write(source, target, form)
        nczarr.append([series(1, 2), series(3)], target, along="time")
        assert nczarr.diff(target, series(1, 2, 3)) == [], form


def test_a_document_changed_by_another_writer(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.combine.append import store

    original = store.link

    def late(*given: Any) -> None:
        original(*given)
        path = target / "v" / "zarr.json"
        path.write_text(path.read_text().replace("0.5", "0.75"))

    monkeypatch.setattr(store, "link", late)
    with pytest.raises(CompileError, match="another writer has changed"):
        nczarr.append(series(3), target, along="time")
    assert nczarr.open(target)["time"].shape == (3,)


def test_dimensions_of_several_groups_grow_together(tmp_path: Path) -> None:
    text = """netcdf t {{
group: a {{
  dimensions: t = UNLIMITED ;
  variables: int t(t) ; int v(t) ;
  data: t = {one} ; v = {one} ;
}}
group: b {{
  dimensions: t = UNLIMITED ;
  variables: int t(t) ; int v(t) ;
  data: t = {two} ; v = {two} ;
}}
}}"""
    one, two = (nczarr.from_cdl(text.format(one=a, two=b)) for a, b in (("0, 1, 2", "5"), ("3", "6, 7, 8, 9")))
    nczarr.write(one, tmp_path / "t.zarr", "nczarr3", chunks={"t": 2})
    nczarr.append(two, tmp_path / "t.zarr", along="t")
    assert nczarr.diff(tmp_path / "t.zarr", refs.combine([one, two], along="t")) == []
    assert refused(tmp_path / "t.zarr", two, along="t")[0].startswith("misplaced-records")
    assert "name one dimension" in refused(tmp_path / "t.zarr", two, along="t", region="auto")[0]


def test_a_file_with_other_objects_is_not_written_again(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """A new file would not have what netCDF cannot represent."""
    h5py = peer("h5py")
    target = tmp_path / "t.nc"
    nczarr.write(series(0, 1), target, kind="nc4")
    with h5py.File(target, "a") as file:
        file.create_dataset("odd", (2,), h5py.ref_dtype)
    (found,) = refused(target, series(2))
    assert found.startswith("unextendable-target: ")
    assert "odd" in found


def test_a_truncated_file_is_not_written_again(tmp_path: Path) -> None:
    target = tmp_path / "t.nc"
    nczarr.write(series(0, 1, 2), target, kind="nc3")
    target.write_bytes(target.read_bytes()[:-12])
    found = refused(target, series(3))
    assert any(each.startswith("unextendable-target: ") for each in found)


def test_an_unreadable_array_stops_the_extension(target: Path) -> None:
    """Its length would stay as it was."""
    path = target / "v" / "zarr.json"
    path.write_text(path.read_text().replace('"int16"', '"unknown"'))
    assert refused(target, series(3), allow_loss="all")[0].startswith("unreadable-array: ")


def test_a_target_is_appended_to_itself(tmp_path: Path) -> None:
    text = "netcdf t { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = 1, 2, 3 ; }"
    for form in ("nczarr", "netcdf4"):
        target = tmp_path / f"t.{form}"
        nczarr.write(nczarr.from_cdl(text), target, form, chunks={"t": 2})
        nczarr.append([target, target], target, along="t")
        assert nczarr.open(target)["v"][:].tolist() == [1, 2, 3] * 3


def test_a_link_leads_to_the_target(tmp_path: Path) -> None:
    """The link stays, and what it leads to is extended."""
    for form in ("nczarr", "netcdf4"):
        target, link = tmp_path / f"t.{form}", tmp_path / f"link.{form}"
        nczarr.write(series(0), target, form)
        target.chmod(0o750)
        link.symlink_to(target)
        nczarr.append(series(1), link, along="time")
        assert link.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o750
        assert nczarr.open(target)["time"].shape == (2,)


def test_chunks_of_a_file_are_copied(tmp_path: Path) -> None:
    """Also if its last chunk is incomplete, so that those of the source lie across."""
    one, two = series_of(11, 2), series_of(4, 2)
    nczarr.write(one, tmp_path / "t.nc", kind="nc4", codecs="zlib:3")
    nczarr.write(two, tmp_path / "s.nc", kind="nc4", codecs="zlib:3")
    done = nczarr.append(tmp_path / "s.nc", tmp_path / "t.nc", along="time")
    assert (done.copied_chunks, done.transcoded_chunks) == (5, 3)
    assert nczarr.open(tmp_path / "t.nc")["v"][:, 0].tolist() == [*range(11), *range(4)]
