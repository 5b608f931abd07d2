"""Check of sources before they are joined: one finding for each fault."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline.phases import input_at
from nczarr.plugins.combine.join import check_sources as module
from nczarr.plugins.combine.join.check_sources import JoinedSources, check_sources

TEXT = """netcdf day {{
dimensions:
  time = {time} ; lat = {lat} ;
variables:
  double time(time) ;
    time:units = "{units}" ;
    time:calendar = "{calendar}" ;
  double lat(lat) ;
  {type} v(time, lat) ;
    v:scale_factor = {scale} ;
    {v}
  // global attributes:
    :history = "written {day}" ;
    {more}
data:
  time = {days} ;
  lat = {lats} ;
}}
"""

PLAIN = {
    "units": "days since 2000-01-01", "calendar": "standard", "type": "short", "scale": "0.5", "lat": 3,
    "lats": "10, 20, 30", "v": "", "more": "",
}  # fmt: skip


def write(folder: Path, day: int, **changes: object) -> Path:
    path = folder / f"d{day:03}.nc"
    values = {**PLAIN, "time": "UNLIMITED", "days": day, "day": day, **changes}
    nczarr.convert(nczarr.from_cdl(TEXT.format(**values)), path, "netcdf3")
    return path


@pytest.fixture(scope="module")
def forty(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("forty")
    return [write(folder, day) for day in range(40)]


def run(paths: list[Path], *along: str) -> tuple[JoinedSources | None, dict[str, list[tuple[str, tuple[str, ...]]]]]:
    """The result, and messages with notes by code."""
    report = Report()
    joined = check_sources([input_at(str(path), Options()) for path in paths], along, report)
    findings: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for diagnostic in report.list_sorted():
        notes = tuple(note.replace(f"{paths[0].parent}/", "") for note in diagnostic.notes)
        findings.setdefault(diagnostic.code, []).append((diagnostic.message.replace(f"{paths[0].parent}/", ""), notes))
    return joined, findings


def test_sources_that_fit(tmp_path: Path) -> None:
    joined, findings = run([write(tmp_path, day) for day in range(6)])
    assert findings == {}
    assert joined is not None
    assert (len(joined.names), joined.along, joined.length) == (6, ("/time",), 6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("changes", "message", "note"),
    [
        ({"type": "float"}, "the type of `/v` differs in 1 of 40 sources", "float: `d007.nc`"),
        ({"scale": "0.25"}, "attribute `scale_factor` of `/v` differs", "0.25 (double): `d007.nc`"),
        ({"v": "v:_FillValue = 3s ;"}, "attribute `_FillValue` of `/v` differs", "3 (short): `d007.nc`"),
        ({"calendar": "noleap"}, "attribute `calendar` of `/time` differs", '"noleap" (char): `d007.nc`'),
        ({"lat": 2, "lats": "10, 20"}, "the length of `/lat` differs in 1 of 40", "2: `d007.nc`"),
        (
            {"lats": "10, 20, 30.000001"},
            "values of `/lat` differ",
            "digest",
        ),
    ],
)
@pytest.mark.parametrize("place", [0, 7])
def test_one_source_of_forty(
    changes: dict[str, object], message: str, note: str, place: int, forty: list[Path], tmp_path: Path
) -> None:
    """The majority decides which source is odd, also if it is the first."""
    paths = [Path(shutil.copy(path, tmp_path)) for path in forty]
    paths[place].unlink()
    write(tmp_path, place, **changes)
    _, findings = run(paths)
    assert list(findings) == ["unequal-sources"]
    ((text, notes),) = findings["unequal-sources"]
    assert message in text
    assert len(notes) == 2
    assert notes[0].endswith(f": 39 sources, such as `d{0 if place else 1:03}.nc`")
    if "digest" not in note:
        assert notes[1] == note.replace("d007", f"d{place:03}")


def test_missing_and_surplus_variables(tmp_path: Path) -> None:
    paths = [write(tmp_path, day) for day in range(5)]
    other = nczarr.from_cdl(
        "netcdf a { dimensions: time = UNLIMITED ; lat = 3 ; variables: int w(time) ; data: w = 1 ; }"
    )
    nczarr.convert(other, paths[3], "netcdf3", overwrite=True)
    _, findings = run(paths)
    texts = dict(findings["unequal-sources"])
    assert texts["variable `/time`, `/lat`, `/v` is missing in 1 of 5 sources"] == ("missing in `d003.nc`",)
    assert texts["variable `/w` is missing in 4 of 5 sources"] == ("present in `d003.nc`",)


def test_order_overlap_and_gap(tmp_path: Path) -> None:
    days = [0, 1, 2, 4, 3, 5, 6, 7, 7.5, 8, 9, 15, 16]
    paths = [
        write(tmp_path, number, days=f"{day}, {day + 0.9}" if day == 7 else day) for number, day in enumerate(days)
    ]
    _, findings = run(paths)
    assert findings == {
        "unordered-coordinate": [
            (
                "the values of `/time` do not increase: 2000-01-04 in `d004.nc` after 2000-01-05 in `d003.nc`",
                ("the same at 1 more place",),
            )
        ],
        "overlapping-sources": [
            (
                "the values of `/time` overlap in 1 pair of sources",
                ("`d007.nc` ends at 2000-01-08 21:36, `d008.nc` begins at 2000-01-08 12:00",),
            )
        ],
        "coordinate-gap": [
            (
                "values of `/time` are missing between 1 pair of sources",
                ("`d010.nc` ends at 2000-01-10, `d011.nc` begins at 2000-01-16",),
            )
        ],
    }


def test_dates_are_compared_across_units(tmp_path: Path) -> None:
    paths = [write(tmp_path, 0), write(tmp_path, 1, units="hours since 2000-01-02", days=0), write(tmp_path, 2)]
    _, findings = run(paths)
    assert list(findings) == ["unequal-sources"]
    assert findings["unequal-sources"][0][0] == "attribute `units` of `/time` differs in 1 of 3 sources"


def test_months_leave_no_gap(tmp_path: Path) -> None:
    starts = [0, 31, 60, 91, 121, 152, 182, 213]
    _, findings = run([write(tmp_path, number, days=day) for number, day in enumerate(starts)])
    assert findings == {}


def test_attributes_of_each_file_are_no_finding(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, day, more=f':serial = {day} ; :place = "{"south" if day == 4 else "north"}" ;')
        for day in range(9)
    ]
    _, findings = run(paths)
    assert list(findings) == ["differing-attributes"]
    assert findings["differing-attributes"][0] == (
        "attributes differ; those of `d000.nc` would be kept: `:place`",
        ("`:place` differs in 1 of 9 sources, such as `d004.nc`",),
    )


def test_a_damaged_source_is_reported_and_the_others_compared(tmp_path: Path) -> None:
    paths = [write(tmp_path, day, scale="2." if day == 4 else "1.") for day in range(6)]
    paths[2].write_bytes(b"CDF\x01\x00")
    paths[3].unlink()
    joined, findings = run(paths)
    assert joined is not None
    assert len(joined.names) == 4
    assert {"unequal-sources", "unreachable-file"} < findings.keys()


def test_along_is_found_by_the_coordinate(tmp_path: Path) -> None:
    paths = [write(tmp_path, day, time=1) for day in range(3)]
    joined, findings = run(paths)
    assert (joined and joined.along, findings) == (("/time",), {})
    joined, findings = run(paths, "lon")
    assert (joined, list(findings)) == (None, ["unmatched-dimension"])


def test_memory_follows_the_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a source that equals the first one nothing but its name and the ends of its coordinate stay."""
    surveys = []
    monkeypatch.setattr(module._Survey, "finish", lambda self, report: surveys.append(self))
    run([write(tmp_path, day, scale="2." if day == 4 else "1.") for day in range(30)])
    (survey,) = surveys
    assert {trait[2]: list(texts) for trait, texts in survey.unequal.items()} == {"scale_factor": [4]}
    assert survey.others == {}


def test_sources_that_fail_alike_are_one_finding(tmp_path: Path) -> None:
    paths = [write(tmp_path, day) for day in range(9)]
    for path in paths[2:]:
        path.unlink()
    joined, findings = run(paths)
    assert joined is not None
    assert list(findings) == ["unreachable-file"]
    ((text, notes),) = findings["unreachable-file"]
    assert text == "`d002.nc`: No such file or directory"
    assert notes[-1] == "the same in `d003.nc`, `d004.nc`, `d005.nc`, `d006.nc` and 2 more"


def make_text(folder: Path, name: str, body: str, data: str) -> Path:
    """Return the path of a text with two times in days."""
    path = folder / f"{name}.cdl"
    text = f'variables: double time(time) ; time:units = "days since 2000-01-01" ; {body} data: {data}'
    path.write_text(f"netcdf a {{ dimensions: time = UNLIMITED ; x = 2 ; {text} }}\n")
    return path


@pytest.mark.parametrize(
    ("body", "one", "other", "note"),
    [
        ("double height ;", "height = 2 ;", "height = 10 ;", "10.0: `b.cdl`"),
        ("string x(x) ;", 'x = "a", "b" ;', 'x = "a", "c" ;', "2 values with the digest"),
        ("char name(x) ;", 'name = "ab" ;', 'name = "ac" ;', "2 values with the digest"),
        ("float mask(x) ;", "mask = NaN, 1 ;", "mask = 1, NaN ;", "2 values with the digest"),
    ],
)
def test_values_that_are_not_joined(body: str, one: str, other: str, note: str, tmp_path: Path) -> None:
    paths = [
        make_text(tmp_path, name, body, f"{values} time = {days} ;")
        for name, values, days in (("a", one, "0, 1"), ("b", other, "2, 3"), ("c", one, "4, 5"))
    ]
    _, findings = run(paths)
    ((message, notes),) = findings["unequal-sources"]
    assert message.startswith("values of `/")
    assert message.endswith("differ in 1 of 3 sources")
    assert notes[1].startswith(note)
    assert "unequal-sources" not in run([paths[0], paths[2]])[1]
    with pytest.raises(nczarr.CompileError, match="unequal-sources"):
        nczarr.combine([*map(str, paths)], tmp_path / "all.zarr", along=["time"])


@pytest.mark.parametrize("calendar", ["standard", "gregorian", "Standard", "string"])
def test_names_of_the_standard_calendar_are_equal(calendar: str, tmp_path: Path) -> None:
    """CF 4.4.1: without the attribute, the calendar is `standard`, which has another name."""
    paths = [make_text(tmp_path, "a", "", "time = 0, 1 ;")]
    attribute = f'time:calendar = "{calendar}" ;' if calendar != "string" else 'string time:calendar = "standard" ;'
    paths.append(make_text(tmp_path, "b", attribute, "time = 2, 3 ;"))
    assert run(paths)[1] == {}
    assert run(paths[::-1])[1].keys() == {"unordered-coordinate"}
    nczarr.combine([*map(str, paths)], tmp_path / "all.zarr", along=["time"])
    assert nczarr.open(tmp_path / "all.zarr")["/time"][:].tolist() == [0, 1, 2, 3]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("times", ["_, 3", "_, _", "NaN, NaN", "2, _, 4, 5"])
@pytest.mark.parametrize("order", [1, -1])
def test_missing_times(times: str, order: int, tmp_path: Path) -> None:
    fill = "time:_FillValue = -9. ;"
    paths = [make_text(tmp_path, "a", fill, "time = 0, 1 ;"), make_text(tmp_path, "b", fill, f"time = {times} ;")]
    _, findings = run(paths[::order])
    ((text, _),) = findings["unordered-coordinate"]
    assert "missing" in text
    assert "`b.cdl`" in text
    with pytest.raises(nczarr.CompileError, match="unordered-coordinate: "):
        nczarr.combine([*map(str, paths[::order])], tmp_path / "all.zarr", along="time")


def test_types_and_groups(tmp_path: Path) -> None:
    texts = ["good = 0, bad = 1", "good = 0, bad = 2", "good = 0, bad = 1"]
    paths = []
    for number, members in enumerate(texts):
        group = "group: g { variables: int v(time) ; }" if number else ""
        paths.append(tmp_path / f"{number}.cdl")
        paths[-1].write_text(
            f"netcdf a {{ types: byte enum q {{{members}}} ; dimensions: time = UNLIMITED ; variables: int v(time) ; "
            f"data: v = 1 ; {group} }}"
        )
    messages = [message for message, _ in run(paths)[1]["unequal-sources"]]
    assert messages == [
        "group `/g` is missing in 1 of 3 sources", "the definition of `/q` differs in 1 of 3 sources",
    ]  # fmt: skip


def test_no_dimension_to_join_along(tmp_path: Path) -> None:
    path = tmp_path / "a.cdl"
    path.write_text("netcdf a { dimensions: x = 1 ; variables: int v(x) ; data: v = 1 ; }")
    joined, findings = run([path, path])
    text = "no dimension is unlimited, and no coordinate differs between the first two sources"
    assert (joined, findings) == (None, {"unmatched-dimension": [(text, ())]})


def test_a_shifted_coordinate_is_not_the_joined_one(tmp_path: Path) -> None:
    paths = [write(tmp_path, day, time=1, lats=f"10, 20, {30 + day * 1e-9:.10f}") for day in range(2)]
    joined, findings = run(paths)
    assert joined is not None
    assert joined.along == ("/time",)
    ((message, _),) = findings["unequal-sources"]
    assert message == "values of `/lat` differ in 1 of 2 sources"
