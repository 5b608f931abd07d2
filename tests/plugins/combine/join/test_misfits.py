"""Sources that do not quite fit: unions of coordinates, order, equal values, and what is refused by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import refs
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report
from nczarr.plugins.combine.join import CombineSpec, combine
from nczarr.plugins.combine.join.agreement import Recoding
from tests.conftest import run_command
from tests.support.combining import combined, list_helps, refused

TEXT = """netcdf t {{
dimensions: t = UNLIMITED ; x = {length} ;
variables: {coordinate} t(t) ; int x(x) ; {type} v(t, x) ; {attributes} {more}
data: t = {t} ; x = {x} ; v = {v} ; {values} }}"""


def source(t: list[Any], x: list[int] = [1, 2], **members: str) -> DatasetHandle:  # noqa: B006
    """Some times and places, with values that tell of both."""
    given = {"coordinate": "double", "type": "float", "attributes": "", "more": "", "values": "", **members}
    v = ", ".join(str(10 * time + place) for time in t for place in x)
    return nczarr.from_cdl(TEXT.format(length=len(x), t=", ".join(map(str, t)), x=", ".join(map(str, x)), v=v, **given))


def codes(handle: DatasetHandle) -> list[str]:
    return [each.code for each in handle.diagnostics]


def test_sources_are_sorted_by_their_coordinate() -> None:
    made = combined(source([5, 6]), source([1]), source([3, 2]), along=("t",), sort=True)
    assert made["t"][...].tolist() == [1, 2, 3, 5, 6]
    assert made["v"][...].tolist() == [[10 * t + 1, 10 * t + 2] for t in (1, 2, 3, 5, 6)]
    assert codes(made) == []


def test_values_that_descend_in_all_sources_do_so_in_the_result() -> None:
    made = combined(source([2, 1]), source([4]), source([6, 5]), along=("t",), sort=True)
    assert made["t"][...].tolist() == [6, 5, 4, 2, 1]


def test_values_of_sources_alternate() -> None:
    made = combined(source([0, 2, 4]), source([1, 3]), along=("t",), sort=True)
    assert made["v"][..., 0].tolist() == [1, 11, 21, 31, 41]


@pytest.mark.parametrize(("rule", "value"), [("first", 21), ("last", 25)])
def test_one_of_equal_values_is_kept(rule: Any, value: int) -> None:
    other = source([2, 3], values="").to_cdl().replace("21, 22", "25, 26")
    made = combined(source([1, 2]), nczarr.from_cdl(other), along=("t",), duplicates=rule)
    assert made["t"][...].tolist() == [1, 2, 3]
    assert made["v"][1, 0].item() == value
    assert [each.message for each in made.diagnostics] == [f"`/t` has 1 value several times; the {rule} cell is used"]


def test_equal_values_are_an_error_that_names_the_sources() -> None:
    assert refused(source([1, 2]), source([2, 3]), along=("t",), sort=True) == [
        "repeated-coordinate: `/t` has the value 2.0 in `s0` and in `s1`, with values of `/v`"
    ]
    assert refused(source([1, 1]), source([3]), along=("t",), sort=True) == [
        "repeated-coordinate: `/t` has the value 1.0 several times in `s0`, with values of `/v`"
    ]


def test_sources_with_other_variables_share_times_where_values_are_equal() -> None:
    aux = {"more": "float a(t) ; float w(t) ;", "values": "a = 1, 2 ; w = 7, 8 ;"}
    other = {"more": "float a(t) ; float u(t) ;", "values": "a = 2, 3 ; u = 9, 9 ;"}
    first = combined(source([1, 2], **aux), along=("t",))
    second = nczarr.from_cdl(source([2, 3], **other).to_cdl().replace(" v(", " z(").replace(" v =", " z ="))
    made = combined(first, second, along=("t",), join="outer")
    assert made["a"][...].tolist() == [1, 2, 3]
    assert np.isnan(made["z"][0]).all()
    unequal = nczarr.from_cdl(second.to_cdl().replace("a = 2", "a = 4"))
    assert refused(first, unequal, along=("t",), join="outer") == [
        "repeated-coordinate: `/t` has the value 2.0 in `s0` and in `s1`, with values of `/a`"
    ]


def test_other_coordinates_become_their_sorted_union() -> None:
    made = combined(source([1], [3, 1]), source([2], [2, 3]), source([3], [3, 1]), along=("t",), join="outer")
    assert made["x"][...].tolist() == [1, 2, 3]
    nan = math.nan
    assert np.array_equal(made["v"][...], [[11, nan, 13], [nan, 22, 23], [31, nan, 33]], equal_nan=True)
    assert made.diagnostics[0].notes == ("`/v`: 3 of 9 cells, read as nan",)


def test_equal_coordinates_stay_in_their_order() -> None:
    made = combined(source([1], [3, 1, 2]), source([2], [3, 1, 2]), along=("t",), join="outer")
    assert made["x"][...].tolist() == [3, 1, 2]
    assert made["v"][...].tolist() == [[13, 11, 12], [23, 21, 22]]


def test_coordinates_of_the_first_source_stand_for_all() -> None:
    made = combined(source([1], [1, 2]), source([2], [4, 5]), along=("t",), join="override")
    assert made["x"][...].tolist() == [1, 2]
    assert made["v"][...].tolist() == [[11, 12], [24, 25]]
    lengths = refused(source([1], [1, 2]), source([2], [4, 5, 6]), along=("t",), join="override")
    assert lengths == ["unequal-sources: the length of `/x` differs: 2 in `s0`, 3 in `s1`"]


@pytest.mark.parametrize("values", [[3, 2, 1], [1, 3, 2]])
def test_coordinates_in_another_order_are_not_overridden(values: list[int]) -> None:
    """They would move cells to other places, which a join of all coordinates does not."""
    sources = source([1], [1, 2, 3]), source([2], values)
    (message,) = refused(*sources, along=("t",), join="override")
    assert message.startswith("unequal-sources: `/x` has the values of the first source in another order, in `s1`")
    made = combined(*sources, along=("t",), join="outer")
    assert made["v"][...].tolist() == [[11, 12, 13], [21, 22, 23]]


@pytest.mark.parametrize(
    ("members", "fill", "code"),
    [
        ({}, math.nan, "absent-cells"),
        ({"attributes": "v:_FillValue = -1.f ;"}, -1, "absent-cells"),
        ({"attributes": "v:missing_value = -2.f ;"}, -2, "absent-cells"),
        ({"type": "short"}, -32767, "assigned-fill-value"),
        ({"type": "short", "attributes": "v:_FillValue = 9s ;"}, 9, "absent-cells"),
        ({"type": "ubyte"}, 255, "assigned-fill-value"),
    ],
)
def test_cells_without_a_source_are_fill_values(members: dict[str, str], fill: float, code: str) -> None:
    made = combined(source([1], [1, 2], **members), source([2], [2, 3], **members), along=("t",), join="outer")
    assert np.array_equal(made["v"][0, 2], fill, equal_nan=True)
    attribute = next(each for each in made.dataset.variables[2].attributes if each.name == "_FillValue")
    assert np.array_equal(attribute.value.as_numbers()[0], fill, equal_nan=True)
    assert codes(made) == [code]


def test_variables_that_are_not_joined_are_merged() -> None:
    left = source([1], [1, 2], more="int m(x) ; int k ;", values="m = 5, 6 ; k = 1 ;")
    right = source([2], [2, 3], more="int m(x) ; int k ;", values="m = 6, 7 ; k = 1 ;")
    made = combined(left, right, along=("t",), join="outer")
    assert made["m"][...].tolist() == [5, 6, 7]
    other = source([2], [2, 3], more="int m(x) ; int k ;", values="m = 8, 7 ; k = 1 ;")
    assert refused(left, other, along=("t",), join="outer") == [
        "unequal-sources: `/m` does not have `/t`, and differs at the same coordinates, in `s0` and `s1`"
    ]


def test_a_variable_that_the_first_source_lacks_must_agree_in_the_others() -> None:
    sources = [source([1]), source([2], more="int w(t) ;", values="w = 1 ;"), source([3], more="short w(t) ;")]
    assert refused(*sources, along=("t",), join="outer") == [
        "unequal-sources: the type of `/w` differs: int in `s1`, short in `s2`"
    ]


def test_packing_and_lengths_without_a_coordinate_are_still_refused() -> None:
    packed = source([1], attributes="v:scale_factor = 2. ;")
    assert len(refused(source([2]), packed, along=("t",), join="outer")) == 1
    text = "netcdf t {{ dimensions: t = 1 ; y = {} ; variables: int v(t, y) ; }}"
    found = refused(*(nczarr.from_cdl(text.format(length)) for length in (2, 3)), along=("t",), join="outer")
    assert found == ["unequal-sources: the length of `/y` differs: 2 in `s0`, 3 in `s1`"]


@pytest.mark.parametrize("wanted", [{"join": "outer"}, {"sort": True}, {"duplicates": "first"}])
def test_a_new_dimension_places_no_cells(wanted: dict[str, Any]) -> None:
    (message,) = refused(source([1]), source([1]), along=(), new_dim="n", **wanted)
    assert "cells along the new dimension `n` have no coordinate" in message


def test_missing_coordinate_values_and_no_coordinate_are_refused() -> None:
    (message,) = refused(
        source([1]), nczarr.from_cdl(source([7]).to_cdl().replace("t = 7", "t = NaN")), along=("t",), sort=True
    )
    assert message == "unequal-sources: `/t` has missing values in `s1`, which have no place in the result"
    text = "netcdf t { dimensions: t = 1 ; variables: int v(t) ; }"
    (message,) = refused(nczarr.from_cdl(text), nczarr.from_cdl(text), along=("t",), sort=True)
    assert message.startswith("unmatched-dimension: `/t` has no coordinate")


LISTS = """netcdf t {{ types: int(*) l ; dimensions: t = {count} ; variables: int t(t) ; l v(t) ;
data: t = {times} ; v = {lists} ; }}"""


def lists(*times: int) -> DatasetHandle:
    """Lists as long as their time."""
    texts = ", ".join("{" + ", ".join([str(time)] * time) + "}" for time in times)
    return nczarr.from_cdl(LISTS.format(count=len(times), times=", ".join(map(str, times)), lists=texts))


def test_lists_are_sorted() -> None:
    made = combined(lists(1, 4), lists(3), lists(2), along=("t",), sort=True)
    assert [each.tolist() for each in made["v"][...]] == [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]
    assert refused(lists(2), lists(2), along=("t",), sort=True) == [
        "repeated-coordinate: `/t` has the value 2 in `s0` and in `s1`, with values of `/v`"
    ]


def test_cells_without_lists_are_refused() -> None:
    text = "netcdf t { dimensions: t = 1 ; variables: int t(t) ; data: t = 9 ; }"
    (message,) = refused(lists(2), nczarr.from_cdl(text), along=("t",), join="outer")
    assert message == "unequal-sources: `/v` has lists, and cells that are in no source or in another grid"


def test_texts_are_coordinates_of_other_dimensions() -> None:
    text = """netcdf t {{ dimensions: t = 1 ; s = 2 ; variables: int t(t) ; string s(s) ; int v(t, s) ;
data: t = {} ; s = {} ; v = {} ; }}"""
    sources = [text.format(1, '"b", "a"', "2, 1"), text.format(2, '"c", "a"', "3, 1")]
    made = combined(*map(nczarr.from_cdl, sources), along=("t",), join="outer")
    assert made["s"][...].tolist() == ["a", "b", "c"]
    assert made["v"][...].tolist() == [[1, 2, -2147483647], [1, -2147483647, 3]]


@pytest.mark.parametrize("turned", [False, True])
def test_cells_without_a_coordinate_are_not_lost(turned: bool) -> None:
    bare = "netcdf b { dimensions: t = 2 ; x = 2 ; variables: int x(x) ; float v(t, x) ; data: x = 1, 2 ; }"
    sources = [source([1]), nczarr.from_cdl(bare)]
    (message,) = refused(*sources[:: -1 if turned else 1], along=("t",), join="outer")
    names = ("s1", "s0") if turned else ("s0", "s1")
    assert message.startswith(f"unequal-sources: variable `/t` is in `{names[0]}` but not in `{names[1]}`")


def test_a_rule_for_equal_values_needs_a_coordinate() -> None:
    text = "netcdf t { dimensions: t = 1 ; variables: int v(t) ; }"
    (message,) = refused(nczarr.from_cdl(text), nczarr.from_cdl(text), along=("t",), duplicates="last")
    assert message == "unmatched-dimension: `/t` has no coordinate by which cells are sorted or compared"


@pytest.mark.parametrize("join", ["exact", "outer"])
def test_marks_of_missing_coordinates_have_no_place(join: Any) -> None:
    sources = [source([number, 9], attributes="t:_FillValue = 9. ;") for number in (1, 2)]
    messages = refused(*sources, along=("t",), join=join, sort=True)
    assert messages[0] == "unequal-sources: `/t` has missing values in `s0`, which have no place in the result"


def test_texts_along_the_joined_dimension_are_sorted() -> None:
    text = "netcdf t {{ dimensions: t = 2 ; variables: string t(t) ; int v(t) ; data: t = {} ; v = {} ; }}"
    sources = [text.format('"2001", "2004"', "1, 4"), text.format('"2003", "2002"', "3, 2")]
    made = combined(*map(nczarr.from_cdl, sources), along=("t",), join="outer")
    assert (made["t"][...].tolist(), made["v"][...].tolist()) == (["2001", "2002", "2003", "2004"], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("attributes", "order"),
    [('{}:_Unsigned = "true" ;', [5, 100, -56, -46]), ("{}:scale_factor = -.5 ;", [100, 5, -46, -56])],
)
def test_coordinates_are_sorted_by_the_numbers_that_they_mean(attributes: str, order: list[int]) -> None:
    text = """netcdf t {{ dimensions: t = 2 ; x = 2 ; variables: byte t(t) ; byte x(x) ; byte v(t, x) ; {} {}
data: t = {} ; x = {} ; v = {}, 0, 0, {} ; }}"""
    rules = attributes.format("t"), attributes.format("x")
    sources = [text.format(*rules, "-56, -46", "-56, -46", -56, -46), text.format(*rules, "100, 5", "100, 5", 100, 5)]
    made = combined(*map(nczarr.from_cdl, sources), along=("t",), join="outer")
    assert (made["t"][...].tolist(), made["x"][...].tolist()) == (order, order)
    assert np.diagonal(made["v"][...]).tolist() == order


def test_a_dry_run_shows_lengths_but_no_places(tmp_path: Path) -> None:
    for name, times in (("a", [3, 4]), ("b", [1])):
        nczarr.write(source(times), tmp_path / f"{name}.nc")
    paths = [str(tmp_path / f"{name}.nc") for name in "ab"]
    ran = run_command("combine", *paths, str(tmp_path / "c.json"), "--along", "t", "--sort", "--dry-run")
    assert ran.out.decode().splitlines()[:3] == ["`/t`: 2 sources, 3 in all", f"   2  {paths[0]}", f"   1  {paths[1]}"]
    ran = run_command("combine", *paths, str(tmp_path / "c.json"), "--along", "t", "--sort", "--resume")
    assert "not with `--join outer`, `--sort`" in ran.err


@pytest.mark.long
def test_processes_place_the_same_cells(tmp_path: Path) -> None:
    paths = []
    for number in range(40):
        paths.append(tmp_path / f"{number:02}.nc")
        extra = {"more": "float w(t) ;", "values": f"w = {number} ;"} if number % 3 else {}
        nczarr.write(source([number * 7 % 40], [1, 2] if number % 4 else [2, 3], **extra), paths[-1])
    for workers in (1, 2):
        refs.combine(paths, tmp_path / f"{workers}.json", along="t", join="outer", workers=workers)
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


def packed(t: list[Any], numbers: str, scale: str = "0.5", **members: str) -> DatasetHandle:
    """Packed numbers of some times."""
    attributes = f"v:scale_factor = {scale} ; v:_FillValue = -9s ; " + members.pop("attributes", "")
    text = source(t, **{"type": "short", **members, "attributes": attributes}).to_cdl()
    head, _, tail = text.partition(" v =")
    return nczarr.from_cdl(f"{head} v = {numbers} ;{tail.partition(';')[2]}")


def test_sources_get_the_packing_of_most() -> None:
    made = combined(packed([1], "8, _", "0.25"), packed([2], "1, 2"), packed([3], "3, _"), along=("t",), repack=True)
    assert made["v"][...].tolist() == [[4, -9], [1, 2], [3, -9]]
    assert made["v"].attributes["scale_factor"] == 0.5
    (note,) = made.diagnostics
    assert (note.code, note.notes) == ("reencoded-chunks", ("`/v`: scale_factor 0.25 becomes 0.5, in `s0`",))


def test_of_equal_counts_the_first_packing_counts() -> None:
    made = combined(packed([1], "8, _", "0.25"), packed([2], "1, 2"), along=("t",), repack=True)
    assert (made["v"].attributes["scale_factor"], made["v"][...].tolist()) == (0.25, [[8, -9], [2, 4]])


@pytest.mark.parametrize(
    ("numbers", "scale", "note"),
    [
        ("30000, 1", "100.", "the first of them is 3000000.0"),  # beyond the range
        ("-9, -18", "0.25", "the first of them is -4.5"),  # -18 is -4.5, which is the mark of most
    ],
)
def test_values_without_an_equal_are_an_error(numbers: str, scale: str, note: str) -> None:
    report = Report()
    handles = [packed([1], "1, 2"), packed([2], "1, 2"), packed([3], numbers, scale)]
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate(handles)]
    assert combine(sources, CombineSpec(("t",), repack=True), report) is None
    (error,) = report.list_sorted()
    assert error.code == "inexact-packing"
    assert error.message == "the packing of most sources cannot hold 1 value of `/v` in `s2`"
    assert error.notes == (f"scale_factor {scale.rstrip('.')}{'.0' * scale.endswith('.')} becomes 0.5", note)


@pytest.mark.parametrize(
    ("attributes", "numbers", "stored"),
    [
        ("v:missing_value = -8s, -7s ;", "-7, 8", [-9, 4]),  # each of several marks is missing
        ('v:missing_value = "none" ;', "4, 8", [2, 4]),  # no number is this mark
        ("v:missing_value = 65540 ;", "4, 8", [2, 4]),  # 4 modulo 65536, which is no mark either
        ("v:missing_value = 1e20 ;", "4, 8", [2, 4]),
    ],
)
def test_marks_of_missing_values_are_those_that_readers_see(attributes: str, numbers: str, stored: list[int]) -> None:
    usual = [packed([1], "1, 2", attributes=attributes), packed([2], "1, 2", attributes=attributes)]
    made = combined(*usual, packed([3], numbers, "0.25", attributes=attributes), along=("t",), repack=True)
    assert made["v"][2].tolist() == stored


@pytest.mark.parametrize("limits", ["v:valid_range = 0s, 20s ;", "v:valid_max = 20s ;"])
def test_values_do_not_become_invalid(limits: str) -> None:
    usual = [packed([1], "1, 2", attributes=limits), packed([2], "1, 2", attributes=limits)]
    (error,) = refused(*usual, packed([3], "15, 2", "1.", attributes=limits), along=("t",), repack=True)
    assert error == "inexact-packing: the packing of most sources cannot hold 1 value of `/v` in `s2`"


def test_a_scale_of_text_is_refused_by_name() -> None:
    (error,) = refused(packed([1], "1, 2"), packed([2], "1, 2", '"half"'), along=("t",), repack=True)
    assert error.startswith("unequal-sources: attribute `scale_factor` of `/v` differs")


def test_values_are_rounded_by_less_than_a_step_which_is_reported() -> None:
    sources = [packed([1], "1, 2"), packed([2], "1, 2"), packed([3], "1, 2", "0.75")]
    made = combined(*sources, along=("t",), repack=True)
    assert made["v"][2].tolist() == [2, 3]
    assert made.diagnostics[0].notes == ("`/v`: scale_factor 0.75 becomes 0.5, in `s2`; rounded by at most 0.25",)


def test_sources_of_another_type_are_converted() -> None:
    made = combined(source([1]), source([2], type="double"), source([3]), along=("t",), repack=True)
    assert made["v"][...].tolist() == [[11, 12], [21, 22], [31, 32]]
    assert made.dataset.variables[2].type == "float"


@pytest.mark.parametrize(
    ("kind", "sign", "stored", "meant"), [("byte", "true", "-1, 7", [255, 7]), ("ubyte", "false", "255, 7", [-1, 7])]
)
def test_numbers_of_another_sign_are_those_that_they_mean(kind: str, sign: str, stored: str, meant: list[int]) -> None:
    fill = "200UB" if kind == "ubyte" else "-56b"
    odd = source([3], type=kind, attributes=f'v:_Unsigned = "{sign}" ; v:_FillValue = {fill} ;').to_cdl()
    odd = odd.replace("31, 32", stored)
    made = combined(
        source([1], type="short"), source([2], type="short"), nczarr.from_cdl(odd), along=("t",), repack=True
    )
    assert made["v"][2].tolist() == meant


def test_integers_beyond_floats_are_not_changed_silently() -> None:
    sources = [
        source([1]),
        source([2]),
        nczarr.from_cdl(source([3], type="int64").to_cdl().replace("31,", "9007199254740993,")),
    ]
    assert refused(*sources, along=("t",), repack=True) == [
        "inexact-packing: the packing of most sources cannot hold 1 value of `/v` in `s2`"
    ]


def test_other_attributes_are_refused_as_before() -> None:
    sources = [source([1]), source([2], attributes='v:units = "K" ;')]
    assert len(refused(*sources, along=("t",), repack=True)) == 1
    sources = [source([1], attributes="v:valid_min = 0.f ;"), source([2])]
    assert len(refused(*sources, along=("t",), repack=True)) == 1


def test_repacked_sources_in_another_order_and_grid() -> None:
    sources = [packed([3], "1, 2"), packed([1], "4, 8", "0.25"), packed([2], "5, 6")]
    made = combined(*sources, along=("t",), repack=True, sort=True)
    assert made["v"][...].tolist() == [[2, 4], [5, 6], [1, 2]]


EMPTY = """netcdf e { dimensions: t = UNLIMITED ; x = 2 ; variables: double t(t) ; int x(x) ; float v(t, x) ;
data: x = 1, 2 ; }"""

STATIC = """netcdf s { dimensions: x = 2 ; y = 1 ; variables: int x(x) ; float area(x) ; int k(y) ;
data: x = 2, 3 ; area = 7, 8 ; k = 5 ; }"""


@pytest.mark.parametrize("suffix", [".json", ".zarr", ".nc"])
def test_sources_without_records_or_without_the_dimension_add_variables(tmp_path: Path, suffix: str) -> None:
    sources = [source([3]), nczarr.from_cdl(EMPTY), nczarr.from_cdl(STATIC), source([1], [2, 3])]
    for number, handle in enumerate(sources):
        nczarr.write(handle, tmp_path / f"{number}.nc")
    paths = [tmp_path / f"{number}.nc" for number in range(4)]
    refs.combine(paths, tmp_path / f"out{suffix}", along="t", join="outer")
    with nczarr.open(tmp_path / f"out{suffix}") as made:
        nan = math.nan
        assert np.array_equal(made["v"][...], [[nan, 12, 13], [31, 32, nan]], equal_nan=True)
        assert np.array_equal(made["area"][...], [nan, 7, 8], equal_nan=True)
        assert made["k"][...].tolist() == [5]


def test_zeros_of_both_signs_are_one_coordinate() -> None:
    text = "netcdf f {{ dimensions: t = 1 ; x = 2 ; variables: int t(t) ; float x(x) ; data: t = {} ; x = {}, 1.f ; }}"
    made = combined(
        *(nczarr.from_cdl(text.format(*row)) for row in ((1, "-0.f"), (2, "0.f"))), along=("t",), join="outer"
    )
    assert made["x"][...].tolist() == [0, 1]


def test_a_repeated_coordinate_is_refused_where_it_differs() -> None:
    assert combined(source([1], [1, 1]), source([2], [1, 1]), along=("t",), join="outer")["v"].shape == (2, 2)
    assert refused(source([1], [1, 1]), source([2], [1, 2]), along=("t",), join="outer") == [
        "unequal-sources: `/x` differs between the sources, and has a value twice or missing values in one"
    ]


@pytest.mark.parametrize("wanted", [{"join": "inner"}, {"duplicates": "both"}])
def test_other_words_are_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="; use 'e"):
        refs.combine([source([1])], along="t", **wanted)


def test_notes_alone_have_no_line_of_counts(tmp_path: Path) -> None:
    for number, x in enumerate(([1, 2], [2, 3])):
        nczarr.write(source([number], x), tmp_path / f"{number}.nc")
    files = [str(tmp_path / f"{number}.nc") for number in range(2)]
    done = run_command("combine", *files, str(tmp_path / "o.json"), "--along", "t", "--join", "outer")
    assert done.status == 0
    assert "note[absent-cells]" in done.err
    assert "\n\n\n" not in done.err


BOUNDED = """netcdf b {{ dimensions: t = 1 ; x = 2 ; n = 2 ;
variables: int t(t) ; int x(x) ; x:bounds = "xb" ; float xb(x, n) ; int v(t, x) ;
data: t = {} ; x = {} ; xb = {} ; v = 1, 2 ; }}"""

BOUNDS = "0, 1, 1, 2"

BARE = "netcdf t {{ dimensions: t = 1 ; y = {} ; variables: int v(t, y) ; }}"

DAYS = "days since 2000-1-1"

LISTED = "netcdf t {{ types: int(*) {0} ; dimensions: t = 1 ; variables: {0} v(t) ; data: v = {{ {1} }} ; }}"

COUNTED = 'netcdf t {{ dimensions: t = 1 ; variables: {} t(t) ; t:units = "{}" ; data: t = {} ; }}'


@pytest.mark.parametrize(
    ("texts", "wanted", "options"),
    [
        ([BARE.format(2), BARE.format(3)], {}, set()),  # no coordinate says where cells lie
        ([BOUNDED.format(1, "1, 2", BOUNDS), BOUNDED.format(2, "1, 3", BOUNDS)], {}, {"outer", "override"}),
        ([BOUNDED.format(1, "1, 2", BOUNDS), BOUNDED.format(2, "1, 2", "0, 1, 1, 3")], {}, {"override"}),
        ([BOUNDED.format(1, "1, 2", BOUNDS), BOUNDED.format(2, "1, 2", "0, 1, 1, 3")], {"join": "outer"}, {"override"}),
        ([COUNTED.format("int", DAYS, 1), COUNTED.format("double", DAYS, 2)], {}, {"times"}),
        ([LISTED.format("l", 1), LISTED.format("m", 2)], {}, set()),  # lists are not packed
        ([COUNTED.format("int", "m", 1), COUNTED.format("double", "m", 2)], {}, set()),  # places are compared as stored
    ],
)  # fmt: skip
def test_helps_name_options_that_join_the_sources(texts: list[str], wanted: dict[str, Any], options: set[str]) -> None:
    sources = [nczarr.from_cdl(text) for text in texts]
    words = {"outer": "--join outer", "override": "--join override", "times": "--decode-times", "pack": "--repack"}
    helps = " ".join(list_helps(*sources, along=("t",), **wanted))
    assert {name for name, option in words.items() if option in helps} == options
    changes: dict[str, Any] = {"outer": {"join": "outer"}, "override": {"join": "override"}}
    for name in options:
        combined(*sources, along=("t",), **changes.get(name, {"recoding": Recoding()}))


def test_a_missing_group_is_one_fault() -> None:
    text = "netcdf g {{ dimensions: t = 1 ; variables: int v(t) ; {} }}"
    group = "group: g { dimensions: y = 2 ; variables: int w(t, y) ; group: h { variables: int u(t) ; } }"
    for sources in ((group, ""), ("", group)):
        (message,) = refused(*(nczarr.from_cdl(text.format(one)) for one in sources), along=("t",))
        assert message.startswith("unequal-sources: group `/g` is in")


def test_tiles_are_joined_along_the_other_dimension_first() -> None:
    tiles = [source([t], x) for t in (1, 2) for x in ([1, 2], [3, 4])]
    assert "join sources with equal `/t` first, by `nczarr combine … --along x`" in list_helps(
        *tiles, along=("t",), join="outer"
    )
    rows = [combined(*tiles[place : place + 2], along=("x",)) for place in (0, 2)]
    assert combined(*rows, along=("t",), join="outer")["v"][...].tolist() == [[11, 12, 13, 14], [21, 22, 23, 24]]


def test_values_may_descend_in_all_sources() -> None:
    assert codes(combined(source([5, 4]), source([3]), source([2, 1]), along=("t",))) == []
    for times in ([[5, 4], [7, 6]], [[2, 1], [0, 3]], [[2], [2]]):
        assert refused(*map(source, times), along=("t",))[0].startswith(
            "unordered-coordinate: the values of `/t` do not increase"
        )
    assert codes(combined(source([2]), source([1]), along=("t",))) == ["unordered-coordinate"]


def test_scales_with_the_same_digits_are_shown_with_their_types() -> None:
    made = combined(packed([1], "1, 2", "0.5f"), packed([2], "1, 2", "0.5"), along=("t",), repack=True)
    (row,) = made.diagnostics[0].notes
    assert row == "`/v`: scale_factor 0.5 (double, 1) becomes 0.5 (float, 1), in `s1`"


def test_one_source_is_singular(tmp_path: Path) -> None:
    nczarr.write(source([1]), tmp_path / "a.nc")
    ran = run_command("combine", str(tmp_path / "a.nc"), str(tmp_path / "o.json"), "--along", "t")
    assert "`: 1 source, reference" in ran.err


FILLED = """netcdf s {{ dimensions: t = UNLIMITED ; x = 2 ;
variables: double t(t), x(x) ; float v(t, x) ; {marks} data: t = {t} ; x = 1, 2 ; v = {v} ; }}"""


def test_marks_of_missing_values_that_no_cell_has_are_no_difference() -> None:
    """xarray gives every floating-point variable `_FillValue = NaN`."""
    marks = "".join(f"{name}:_FillValue = {value} ; " for name, value in (("t", "NaN"), ("x", "NaN"), ("v", "NaNf")))
    plain = nczarr.from_cdl(FILLED.format(marks="", t=1, v="1, 2"))
    other = nczarr.from_cdl(FILLED.format(marks=marks, t=2, v="3, 4"))
    later = nczarr.from_cdl(FILLED.format(marks="", t=3, v="5, 6"))
    for pair, values in (((plain, other), [[1, 2], [3, 4]]), ((other, later), [[3, 4], [5, 6]])):
        assert combined(*pair, along=("t",))["v"][...].tolist() == values
    gap = nczarr.from_cdl(FILLED.format(marks=marks, t=3, v="_, 4"))
    assert refused(plain, gap, along=("t",)) == [
        "unequal-sources: attribute `_FillValue` of `/v` differs: none in `s0`, nan in `s1`"
    ]
    assert np.isnan(combined(plain, gap, along=("t",), repack=True)["v"][1, 0])


def test_many_variables_that_differ_in_one_manner_are_one_error() -> None:
    marks = 't:units = "m" ; x:units = "m" ; v:units = "m" ;'
    plain = nczarr.from_cdl(FILLED.format(marks="", t=0, v="1, 2"))
    others = [nczarr.from_cdl(FILLED.format(marks=marks, t=time, v="3, 4")) for time in range(1, 41)]
    report = Report()
    sources = [(f"s{number}", handle.checked) for number, handle in enumerate([plain, *others])]
    assert combine(sources, CombineSpec(("t",)), report) is None
    (found,) = report.list_sorted()
    assert found.message == 'attribute `units` of `/t`, `/x`, `/v` differs: none in `s0`, "m" in `s1`'
    assert found.notes == ("the same difference in 39 more sources",)


def test_plain_integers_of_most_sources_do_not_round_others() -> None:
    whole = [source([time], type="int") for time in (1, 2)]
    (message,) = refused(*whole, source([3.05]), along=("t",), repack=True)
    assert message.startswith("inexact-packing: the packing of most sources cannot hold 2 values of `/v` in `s2`")
