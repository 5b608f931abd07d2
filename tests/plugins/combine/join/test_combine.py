"""Several datasets as one: what is joined or stacked, what has to be equal, and what is said where it is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import refs
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report
from nczarr.plugins.combine.join import CombineSpec, combine
from nczarr.plugins.combine.join.sources import home_of
from tests.conftest import Ran
from tests.support.combining import combined, refused

SERIES = """netcdf s {{
dimensions:
  time = {time} ;
  x = 2 ;
variables:
  double time(time) ;
    time:units = "{units}" ;
  float x(x) ;
  short v(time, x) ;
    v:scale_factor = {scale} ;
  int crs ;
    crs:radius = {radius} ;
  :history = "{history}" ;
data:
  time = {times} ;
  x = {xs} ;
  v = {values} ;
}}
"""


def series(*times: float, unlimited: bool = False, extra: str = "", **members: Any) -> DatasetHandle:
    """Some times, and values that tell of which."""
    given = {
        "time": "UNLIMITED" if unlimited else len(times), "units": "days since 2000-01-01", "scale": "0.5",
        "radius": "1.", "history": "made", "xs": "1, 2", "times": ", ".join(map(str, times)),
        "values": ", ".join(f"{10 * time:.0f}, {10 * time + 1:.0f}" for time in times), **members,
    }  # fmt: skip
    return nczarr.from_cdl(SERIES.format(**given).replace("data:", extra + "\ndata:", 1))


def test_variables_along_the_dimension_are_joined() -> None:
    made = combined(series(1, 2), series(3), series(4, 5, 6), along=("time",))
    assert made["time"][...].tolist() == [1, 2, 3, 4, 5, 6]
    assert made["v"][...].tolist() == [[10 * time, 10 * time + 1] for time in range(1, 7)]
    assert made["x"][...].tolist() == [1, 2]
    assert made.checked.dimensions["/time"].size == 6
    assert made.checked.shapes["/v"] == (6, 2)
    assert not made.diagnostics


def test_an_unlimited_dimension_stays_one() -> None:
    made = combined(series(1, unlimited=True), series(2, unlimited=True), along=("/time",))
    assert made.checked.dimensions["/time"].unlimited
    assert made["v"].shape == (2, 2)


def test_one_source_is_itself() -> None:
    one = series(1, 2)
    assert combined(one, along=("time",)).dataset == one.dataset


def test_the_result_is_a_dataset_as_any_other() -> None:
    made = combined(series(1, 2), series(3), along=("time",))
    again = nczarr.from_cdl(made.to_cdl())
    assert nczarr.diff(made, again) == []


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"units": "hours since 2000-01-01"}, 'attribute `units` of `/time` differs: "days since 2000-01-01" in `s0`, '
         '"hours since 2000-01-01" in `s1`'),
        ({"scale": "0.25"}, "attribute `scale_factor` of `/v` differs: 0.5 in `s0`, 0.25 in `s1`"),
        ({"scale": "0.5f"}, "attribute `scale_factor` of `/v` differs: 0.5 (double, 1) in `s0`, "
         "0.5 (float, 1) in `s1`"),
        ({"extra": "  int more ;"}, "variable `/more` is in `s1` but not in `s0`"),
        ({"extra": "  v:_FillValue = 0s ;"}, "attribute `_FillValue` of `/v` differs: none in `s0`, 0 in `s1`"),
        ({"xs": "1, 3"}, "`/x` does not have `/time`, and is not the same in all sources: 1 of 2 values differ, "
         "first at (1): 2.0 | 3.0, in `s0` and `s1`"),
    ],
)  # fmt: skip
def test_what_has_to_be_equal(members: dict[str, Any], message: str) -> None:
    assert refused(series(1), series(2, **members)) == [f"unequal-sources: {message}"]


def test_types_ranks_and_lengths_have_to_be_equal() -> None:
    texts = [
        "netcdf t { dimensions: t = 1 ; x = 2 ; variables: int v(t, x) ; int w(t) ; }",
        "netcdf t { dimensions: t = 1 ; x = 3 ; variables: short v(t, x) ; int w(t, x) ; }",
    ]
    assert refused(*map(nczarr.from_cdl, texts), along=("t",)) == [
        "unequal-sources: the dimensions of `/w` differ: (/t) in `s0`, (/t, /x) in `s1`",
        "unequal-sources: the length of `/x` differs: 2 in `s0`, 3 in `s1`",
        "unequal-sources: the type of `/v` differs: int in `s0`, short in `s1`",
    ]


def test_user_types_have_to_be_equal() -> None:
    text = "netcdf t {{ types: byte enum e {{a = {}}} ; dimensions: t = 1 ; variables: e v(t) ; data: v = a ; }}"
    messages = refused(*(nczarr.from_cdl(text.format(value)) for value in (1, 2)), along=("t",))
    assert messages == [
        "unequal-sources: the definition of `/e` differs: byte enum {a = 1} in `s0`, byte enum {a = 2} in `s1`"
    ]


def test_a_fault_of_many_sources_is_told_once() -> None:
    report = Report()
    handles = [series(1), *(series(time, units="hours") for time in (2, 3, 4))]
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate(handles)]
    assert combine(sources, CombineSpec(("time",)), report) is None
    (found,) = report.list_sorted()
    assert found.notes == ("the same difference in 2 more sources",)


def test_attributes_that_nobody_computes_with_are_those_of_the_first() -> None:
    made = combined(series(1), series(2, history="later", radius="2."), series(3, history="last"), along=("time",))
    assert [each.code for each in made.diagnostics] == ["differing-attributes"]
    assert made.diagnostics[0].message == "attributes differ; those of `s0` are kept: `/crs:radius`, `:history`"
    assert made.dataset.attributes == series(1).dataset.attributes


def test_attributes_of_a_grid_mapping_have_to_be_equal() -> None:
    named = '  v:grid_mapping = "crs" ;'
    found = refused(series(1, extra=named), series(2, extra=named, radius="2."))
    assert found == ["unequal-sources: attribute `radius` of `/crs` differs: 1.0 in `s0`, 2.0 in `s1`"]


@pytest.mark.parametrize(
    ("handles", "message"),
    [
        (
            (series(1, 2), series(2, 3)),
            "the values of `/time` do not increase: 2000-01-03 in `s1` after 2000-01-03 in `s0`",
        ),
        ((series(1, 3, 2), series(4)), "the values of `/time` do not increase: 2000-01-03 after 2000-01-04 in `s0`"),
    ],
)
def test_a_coordinate_that_does_not_ascend(handles: tuple[DatasetHandle, ...], message: str) -> None:
    assert refused(*handles) == [f"unordered-coordinate: {message}"]
    made = combined(*handles, along=("time",), ordered=False)
    assert made.diagnostics == ()


def test_lists_strings_and_records_are_joined() -> None:
    text = """netcdf t {{
types:
  int(*) row ;
  compound rec {{ int n ; string s(2) ; row r ; }} ;
dimensions: t = UNLIMITED ;
variables: row v(t) ; string s(t) ; rec c(t) ;
data: v = {} ; s = {} ; c = {} ;
}}"""
    first = nczarr.from_cdl(text.format("{1}, {2, 3}", '"a", "bc"', '{1, {"x", "y"}, {4}}, {2, {"", "z"}, {5, 6}}'))
    second = nczarr.from_cdl(text.format("{}", '"d"', '{3, {"p", "q"}, {}}'))
    whole = text.format(
        "{1}, {2, 3}, {}", '"a", "bc", "d"', '{1, {"x", "y"}, {4}}, {2, {"", "z"}, {5, 6}}, {3, {"p", "q"}, {}}'
    )
    assert nczarr.diff(combined(first, second, along=("t",)), nczarr.from_cdl(whole)) == []


def test_variables_never_written_are_joined_with_written_ones() -> None:
    text = "netcdf t {{ dimensions: t = {} ; variables: int v(t) ; {} }}"
    handles = [nczarr.from_cdl(text.format(2, "")), nczarr.from_cdl(text.format(1, "data: v = 5 ;"))]
    assert combined(*handles, along=("t",))["v"][...].tolist() == [-2147483647, -2147483647, 5]
    assert "/v" not in combined(handles[0], handles[0], along=("t",)).checked.parts


def test_a_simple_name_means_the_dimensions_of_all_groups() -> None:
    group = "dimensions: t = {0} ; variables: int v(t) ; data: v = {1} ;"
    text = f"netcdf t {{{{ group: a {{{{ {group} }}}} group: b {{{{ {group.replace('{0}', '{2}')} }}}} }}}}"
    handles = [nczarr.from_cdl(text.format(*each)) for each in ((1, "1", 1), (2, "2, 3", 2))]
    made = combined(*handles, along=("t",))
    assert made["/a/v"][...].tolist() == made["/b/v"][...].tolist() == [1, 2, 3]
    found = refused(*handles, along=("/a/t",))
    assert found == ["unequal-sources: the length of `/b/t` differs: 1 in `s0`, 2 in `s1`"]


def test_what_differs_is_stacked() -> None:
    made = combined(series(1, 2, values="1, 2, 3, 4"), series(1, 2, values="5, 6, 7, 8"), new_dim="run")
    assert made["v"][...].tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert made["v"].dimensions == ("/run", "/time", "/x")
    assert made["time"].dimensions == ("/time",)
    assert made["x"].shape == (2,)
    assert made.checked.dimensions["/run"].size == 2


def test_a_variable_that_is_named_is_stacked_and_becomes_the_coordinate() -> None:
    text = "netcdf t {{ dimensions: x = 2 ; variables: double time ; int v(x), k(x) ; data: time = {} ; v = {} ; }}"
    handles = [nczarr.from_cdl(text.format(*each)) for each in ((1, "1, 2"), (2, "3, 4"), (3, "3, 4"))]
    made = combined(*handles, along=("time",), new_dim="time")
    assert made["time"][...].tolist() == [1, 2, 3]
    assert made["time"].dimensions == ("/time",)
    assert made["v"][...].tolist() == [[1, 2], [3, 4], [3, 4]]
    assert made["k"].shape == (2,)
    stacked = combined(handles[0], handles[0], along=("k",), new_dim="n")
    assert (stacked["k"].shape, stacked["v"].shape) == ((2, 2), (2,))
    falling = combined(handles[1], handles[0], along=("time",), new_dim="time")
    assert [each.code for each in falling.diagnostics] == ["unordered-coordinate"]
    assert refused(*handles, handles[0], along=("time",), new_dim="time") == [
        "unordered-coordinate: the values of `/time` do not increase: 1.0 in `s3` after 3.0 in `s2`"
    ]
    assert combined(*handles, handles[0], along=("time",), new_dim="run").diagnostics == ()


def test_a_kind_of_file_that_cannot_hold_the_result_is_asked_for_no_more(tmp_path: Path) -> None:
    for number in range(2):
        nczarr.write(series(1, 2, unlimited=True, values=f"{number}, 2, 3, 4"), tmp_path / f"{number}.nc", kind="nc7")
    paths = [tmp_path / "0.nc", tmp_path / "1.nc"]
    assert refs.combine(paths, new_dim="run").dataset.kind is None
    assert refs.combine(paths, new_dim="run", variables=["x"], along="x").dataset.kind == "nc7"
    refs.combine(paths, tmp_path / "out.nc", new_dim="run")
    assert nczarr.open(tmp_path / "out.nc")["v"].shape == (2, 2, 2)


def test_a_difference_at_the_last_source_stacks_all() -> None:
    handles = [series(1, values="1, 2")] * 3 + [series(1, values="1, 3")]
    assert combined(*handles, new_dim="run")["v"][...].tolist() == [[[1, 2]]] * 3 + [[[1, 3]]]


def test_stacking_sources_of_other_lengths_is_refused() -> None:
    assert refused(series(1), series(1, 2), along=(), new_dim="run") == [
        "unequal-sources: the length of `/time` differs: 1 in `s0`, 2 in `s1`"
    ]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"along": ("tim",)}, "`s0` has no dimension `tim`"),
        ({"along": ("crs",)}, "`s0` has no dimension `crs`"),
        ({"along": ("time", "x")}, "`/v` has several of the dimensions `/time`, `/x` but can be joined along only one"),
        ({"along": (), "new_dim": "x"}, "`s0` already has a dimension `/x`"),
        ({"along": ("no",), "new_dim": "n"}, "`s0` has no variable `no` to stack along `n`"),
        ({"along": (), "new_dim": "n"}, "no variable differs between the sources, so no variable would have `/n`"),
    ],
)
def test_dimensions_that_do_not_suit(wanted: dict[str, Any], message: str) -> None:
    assert refused(series(1), series(1), **wanted) == [f"unmatched-dimension: {message}"]


def test_missing_chunks_that_mean_different_values_are_refused() -> None:
    from nczarr.arrays.sources.memory import GivenValues, Runs
    from nczarr.arrays.sources.source import Layout

    def sparse(fill: int) -> DatasetHandle:
        handle = nczarr.from_cdl("netcdf t { dimensions: t = 4 ; variables: int v(t) ; data: v = 1 ; }")
        layout = Layout("<i4", (4,), (2,), fill=np.array(fill, "<i4").tobytes())
        parts = {"/v": {"": Runs(layout, [0], [0, 1], GivenValues(layout.dtype, np.ones(1, "<i4")))}}
        return DatasetHandle(handle.checked._replace(parts=parts))

    assert combined(sparse(7), sparse(7), along=("t",))["v"][...].tolist() == [1, 7, 7, 7] * 2
    assert refused(sparse(7), sparse(8), along=("t",)) == [
        "unequal-sources: `/v` has unwritten chunks, which are read as 7 in `s0`, 8 in `s1`"
    ]


def test_the_door_returns_an_open_dataset() -> None:
    made = refs.combine([series(1, 2), series(3, history="later")], along="time")
    assert made["time"][...].tolist() == [1, 2, 3]
    assert [each.code for each in made.diagnostics] == ["differing-attributes"]
    few = refs.combine([series(1), series(2, scale="4.")], along=["time"], variables=["time"])
    assert list(few) == ["/time"]


def test_the_door_writes_a_target(tmp_path: Path) -> None:
    for number, each in enumerate((series(1, 2), series(3))):
        nczarr.write(each, tmp_path / f"{number}.nc")
    done = refs.combine([tmp_path / "0.nc", tmp_path / "1.nc"], tmp_path / "out.zarr", "nczarr", along="time")
    assert done.format == "nczarr"
    assert nczarr.open(tmp_path / "out.zarr")["v"].shape == (3, 2)
    with pytest.raises(FileExistsError):
        refs.combine([tmp_path / "0.nc"], tmp_path / "out.zarr", "nczarr", along="time")


def test_the_door_raises_what_is_wrong() -> None:
    with pytest.raises(nczarr.CompileError, match="unequal-sources"):
        refs.combine([series(1), series(2, units="hours")], along="time")


def test_a_source_in_error_is_named(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "bad.cdl").write_text("netcdf t { variables: int v(x) ; }")
    ran = nczarr_command("refs", "combine", str(tmp_path / "bad.cdl"), "-o", str(tmp_path / "o.nc"), "--along", "x")
    assert (ran.status, "undefined-dimension" in ran.err) == (1, True)
    assert not (tmp_path / "o.nc").exists()


def test_without_a_dimension_the_unlimited_one_grows(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    text = "netcdf t {{ dimensions: {} ; x = 2 ; variables: int t(t) ; data: t = {} ; }}"
    for number in (1, 2):
        (tmp_path / f"{number}.cdl").write_text(text.format("t = UNLIMITED", number))
        (tmp_path / f"fixed{number}.cdl").write_text(text.format("t = 1", number))
    sources, target = [str(tmp_path / f"{number}.cdl") for number in (1, 2)], tmp_path / "all.nc"
    assert nczarr_command("combine", *sources, str(target)).status == 0
    assert nczarr.open(target)["t"][:].tolist() == [1, 2]
    ran = nczarr_command(
        "combine", *(str(tmp_path / f"fixed{number}.cdl") for number in (1, 2)), str(tmp_path / "none.nc")
    )
    assert ran.status == 1
    assert "is unlimited" in ran.err
    assert "name one of its dimensions (`/t`, `/x`) with `--along`, or a new one with `--new-dim`" in ran.err


@pytest.mark.parametrize(
    ("paths", "home"),
    [
        (["/d/a.nc", "/d/b.nc"], "/d"),
        (["/d/2001/a.nc", "/d/2002/a.nc"], "/d"),
        (["/a.nc", "/d/b.nc"], "/"),
        (["s3://b/d/a.nc", "s3://b/d/b.nc"], "s3://b/d"),
        (["s3://b/d/1/a.zarr/", "s3://b/d/2/a.zarr"], "s3://b/d"),
        (["s3://b/a.nc", "s3://c/a.nc"], None),
        (["/d/a.nc", "s3://b/a.nc"], None),
    ],
)
def test_the_folder_of_all_sources(paths: list[str], home: str | None) -> None:
    assert home_of(paths) == home


def test_a_base_stands_for_the_folder_of_all_sources(tmp_path: Path) -> None:
    paths = []
    for year in (2001, 2002):
        (tmp_path / str(year)).mkdir()
        paths.append(str(tmp_path / str(year) / "a.nc"))
        nczarr.write(series(year), paths[-1])
    writing = refs.Writing(inline=0, base="s3://b/d/")
    refs.combine(paths, tmp_path / "all.json", along="time", writing=writing, variables=["v"])
    urls = {value[0] for value in refs.expand(tmp_path / "all.json").values() if isinstance(value, list)}
    assert urls == {"s3://b/d/2001/a.nc", "s3://b/d/2002/a.nc"}
    documents = []
    for path in paths:
        documents.append(f"{path}.json")
        nczarr.convert(path, documents[-1], writing=refs.Writing(inline=0))
    elsewhere = writing._replace(home="/elsewhere")
    with pytest.raises(nczarr.CompileError, match=r"would both be `a\.nc` below the base"):
        refs.combine(documents, tmp_path / "no.json", along="time", writing=elsewhere, variables=["v"])


def test_without_a_target_the_document_goes_to_standard_output(
    nczarr_command: Callable[..., Ran], tmp_path: Path
) -> None:
    for number, each in enumerate((series(1, 2), series(3))):
        nczarr.write(each, tmp_path / f"{number}.nc", kind="nc3")
    ran = nczarr_command("refs", "combine", str(tmp_path / "0.nc"), str(tmp_path / "1.nc"), "--along", "time")
    assert (ran.status, ran.err) == (0, "")
    (tmp_path / "all.json").write_bytes(ran.out)
    assert nczarr.open(tmp_path / "all.json")["time"][...].tolist() == [1, 2, 3]
    ran = nczarr_command(
        "refs",
        "combine",
        str(tmp_path / "0.nc"),
        str(tmp_path / "1.nc"),
        "--along",
        "time",
        "-o",
        str(tmp_path / "o.nc"),
    )
    assert ran.err.startswith(f"`{tmp_path / 'o.nc'}`: 2 sources, netcdf3, 4 variables")
    nothing = nczarr_command("refs", "combine", str(tmp_path / "0.nc"), "--along", "no")
    assert (nothing.status, nothing.out) == (1, b"")
