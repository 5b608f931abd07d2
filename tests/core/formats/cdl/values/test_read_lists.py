"""Value lists: where values lie, what fills the gaps, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.frontend import read
from nczarr.semantics import check
from nczarr.semantics.checked import Checked


def compiled(body: str) -> tuple[Checked | None, list[str]]:
    report = Report()
    work = read(Source("t.cdl", f"netcdf t {{ {body} }}".encode()), report)
    checked = check(work, report) if work is not None else None
    return checked, [found.code for found in report.list_sorted()]


def values(body: str, variable: str = "/v", part: str = "") -> Any:
    checked, codes = compiled(body)
    assert checked is not None, codes
    source = checked.parts[variable][part]
    return plain(source.read(tuple(slice(0, length) for length in source.layout.shape)).tolist())


def plain(value: Any) -> Any:
    """Nested arrays as lists."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value.tolist() if hasattr(value, "tolist") else value


FILL = -2147483647


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dimensions: d = 3 ; variables: int v(d) ; data: v = 1, 2 ;", [1, 2, FILL]),
        ("dimensions: u = UNLIMITED ; e = 2 ; variables: int v(u, e) ; data: v = 1, 2, 3 ;", [[1, 2], [3, FILL]]),
        (
            "dimensions: d = 2 ; u = UNLIMITED ; variables: int v(d, u) ; data: v = {1, 2, 3}, {4} ;",
            [[1, 2, 3], [4, FILL, FILL]],
        ),
        (
            "dimensions: d = 2 ; u = UNLIMITED ; e = 2 ; variables: int v(d, u, e) ; data: v = {1, 2, 3}, {} ;",
            [[[1, 2], [3, FILL]], [[FILL, FILL], [FILL, FILL]]],
        ),
        (
            "dimensions: u = UNLIMITED ; w = UNLIMITED ; variables: int v(u, w) ; data: v = {1}, {2, 3} ;",
            [[1, FILL], [2, 3]],
        ),
        ("dimensions: n = 5 ; variables: char v(n) ; data: v = \"ab\", 'c' ;", [b"a", b"b", b"c", b"", b""]),
        (
            'dimensions: u = UNLIMITED ; n = 2 ; variables: char v(u, n) ; data: v = "abc", "", "d" ;',
            [[b"a", b"b"], [b"c", b""], [b"", b""], [b"d", b""]],
        ),
        (
            'dimensions: d = 2 ; n = 2 ; variables: char v(d, n) ; v:_FillValue = "*" ; data: v = "a" ;',
            [[b"a", b"*"], [b"*", b"*"]],
        ),
        ("variables: int v ; v:_FillValue = 7 ; data: v = _ ;", 7),
        ("dimensions: d = 2 ; variables: ubyte v(d) ; data: v = -1, 0x10 ;", [255, 16]),
        ('dimensions: d = 2 ; variables: string v(d) ; data: v = "a", NIL ;', [b"a", None]),
        (
            "types: byte enum e {no = 0, yes = 1} ; variables: e v ; data: v = e.yes ;",
            1,
        ),
        (
            "types: compound p {int a ; byte b ;} ; compound c {p x(2) ; byte q ;} ; variables: c v ;"
            " data: v = {{{1, 2}, {3, 4}}, 5} ;",
            ([(1, 2), (3, 4)], 5),
        ),
    ],
)
def test_values(body: str, expected: object) -> None:
    assert repr(values(body)) == repr(expected)


def test_vlens_become_counts_and_content() -> None:
    body = "types: int(*) t ; dimensions: d = 3 ; variables: t v(d) ; data: v = {1, 2}, {}, {3} ;"
    assert values(body, part="counts") == [2, 0, 1]
    assert values(body, part="content") == [1, 2, 3]


def test_a_ragged_fill_value_fills_the_gaps() -> None:
    types = "types: int(*) t ; compound c {t r ; int n(2) ;} ; dimensions: d = 3 ; "
    body = types + "variables: t v(d) ; t v:_FillValue = {7, 8} ; data: v = {1}, _ ;"
    assert values(body, part="counts") == [1, 2, 2]
    assert values(body, part="content") == [1, 7, 8, 7, 8]
    body = types + "variables: c v(d) ; c v:_FillValue = {{}, {5, 6}} ; data: v = {{1}, {2, 3}} ;"
    assert values(body, part="r/counts") == [1, 0, 0]
    assert values(body, part="n") == [[2, 3], [5, 6], [5, 6]]


def test_compounds_with_ragged_members_become_their_members() -> None:
    body = (
        "types: int(*) t ; compound c {float f ; t r ; string s ;} ; dimensions: d = 2 ; variables: c v(d) ;"
        ' data: v = {1, {2, 3}, "a"}, {4} ;'
    )
    assert values(body, part="f") == [1, 4]
    assert values(body, part="r/counts") == [2, 0]
    assert values(body, part="r/content") == [2, 3]
    assert values(body, part="s") == [b"a", b""]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("dimensions: d = 2 ; u = UNLIMITED ; variables: int v(d, u) ; data: v = {1} ;", "too-few-values"),
        ("dimensions: d = 1 ; u = UNLIMITED ; variables: int v(d, u) ; data: v = {1}, {2} ;", "too-many-values"),
        ("types: int enum e {a = 1} ; variables: e v ; data: v = _ ;", "no-fill-value"),
        ("variables: int v ; data: v = 1 ; v = 2 ;", "duplicate-data"),
        ("variables: byte v ; data: v = 256 ;", "value-range"),
        ("variables: float v ; data: v = 1e300 ;", "value-range"),
        ("variables: char v ; data: v = 65 ;", "type-mismatch"),
        ("types: opaque(2) o ; variables: o v ; data: v = 1 ;", "type-mismatch"),
        ('types: compound c {char s(2) ;} ; variables: c v ; data: v = {"abc"} ;', "too-many-values"),
    ],
)
def test_faults(body: str, code: str) -> None:
    checked, codes = compiled(body)
    assert checked is None
    assert codes == [code]


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        (
            "dimensions: n = 2 ; l = 3 ; variables: char c(n, l) ; data: c = ",
            0,
            "the text has 4 characters, a row of `c(n, l)` has 3",
        ),
        (
            "types: compound t {char s(2, 3) ;} ; variables: t c ; data: c = {{",
            0,
            "the text has 4 characters, a row of",
        ),
        ("dimensions: n = 1 ; l = 3 ; variables: char c(n, l) ; data: c = ", 1, "`c(n, l)` holds 1 text, 2 are given"),
        ("dimensions: l = 4 ; variables: char c(l) ; data: c = ", 1, "`c(l)` holds 4 characters, 5 are given"),
    ],
)
def test_a_text_longer_than_a_row_is_the_one_named(body: str, at: int, message: str) -> None:
    closing = "}}" if "{{" in body else ""
    source = Source("t.cdl", f'netcdf t {{ {body}"abcd", "e"{closing} ; }}'.encode())
    report = Report()
    work = read(source, report)
    assert work is None or check(work, report) is None
    [found] = report.list_sorted()
    assert (found.code, found.message.startswith(message)) == ("too-many-values", True), found.message
    assert source.data[found.primary.span.start : found.primary.span.end] == (b'"abcd"', b'"e"')[at]


def test_declared_space_costs_nothing() -> None:
    checked, _ = compiled("dimensions: d = 1000000000000 ; variables: byte v(d) ; data: v = 1 ;")
    assert checked is not None
    source = checked.parts["/v"][""]
    assert list(source.list_occupied((1 << 20,))) == [(0,)]
    assert source.read((slice(0, 3),)).tolist() == [1, -127, -127]
    assert source.read((slice(10**12 - 1, 10**12),)).tolist() == [-127]


@pytest.mark.parametrize("word", ["float.b", "\\float.b", "/\\float.b", "b", "float.b.c", "/float.b.c"])
def test_enum_constants_by_any_of_their_names(word: str) -> None:
    types = "types: byte enum \\float {b = 1, b.c = 2} ; variables: \\float v ;"
    assert values(f"{types} data: v = {word} ;") == (2 if word.endswith("c") else 1)
