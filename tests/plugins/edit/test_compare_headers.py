"""Comparison of headers: names that are concluded, those that are not, and what needs values."""

from __future__ import annotations

import nczarr
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.plugins.edit.compare_headers import HeaderComparison, compare_headers
from nczarr.plugins.edit.header_changes import NodeKind, NodeRename, apply_changes


def tree(body: str) -> Dataset:
    return nczarr.from_cdl(f"netcdf d {{ {body} }}").checked.dataset


def compared(
    one: str,
    other: str,
    renames: dict[NodeKind, dict[str, str]] | None = None,
    deleted: tuple[tuple[NodeKind, str], ...] = (),
    codes: tuple[str, ...] = (),
) -> HeaderComparison | None:
    report = Report()
    result = compare_headers(tree(one), tree(other), renames or {}, deleted, report)
    assert tuple(found.code for found in report.list_sorted()) == codes
    if result is not None and not result.needs:
        assert apply_changes(tree(one), result.changes, result.renamed) == tree(other)
    return result


def kinds(result: HeaderComparison | None) -> list[str]:
    assert result is not None
    return [type(change).__name__ for change in result.changes]


def test_attributes() -> None:
    result = compared(
        'variables: int v ; v:a = 1 ; v:b = 2 ; v:c = "x" ;', 'variables: int v ; v:n = 5 ; v:a = 1 ; v:c = "y" ;'
    )
    assert kinds(result) == ["AttributeChange"] * 3
    assert compared("variables: int v ; v:a = 1 ; v:b = 2 ;", "variables: int v ; v:b = 2 ; v:a = 1 ;") is not None


def test_one_candidate_is_the_same_variable() -> None:
    result = compared("dimensions: x = 2 ; variables: int v(x) ;", "dimensions: x = 2 ; variables: int w(x) ;")
    assert result is not None
    assert result.detected == (NodeRename("variable", "/v", "/w"),)


def test_a_dimension_is_renamed_with_its_uses() -> None:
    result = compared("dimensions: x = 2 ; variables: int v(x) ;", "dimensions: y = 2 ; variables: int v(y) ;")
    assert result is not None
    assert result.changes == (NodeRename("dimension", "/x", "/y"),)


def test_a_group_is_renamed_with_all_that_it_holds() -> None:
    inner = "{ dimensions: x = 2 ; variables: int v(x) ; v:a = 1 ; }"
    result = compared(f"group: g {inner}", f"group: h {inner}")
    assert result is not None
    assert result.changes == (NodeRename("group", "/g", "/h"),)
    assert result.renamed["variable"] == {"/g/v": "/h/v"}
    result = compared(
        f"group: g {inner}", f"group: h {inner.replace('int v', 'int w').replace('v:', 'w:')}", {"group": {"/g": "h"}}
    )
    assert result is not None
    assert result.changes == (NodeRename("group", "/g", "/h"), NodeRename("variable", "/g/v", "/h/w"))


def test_other_attributes_and_several_candidates_are_ambiguous() -> None:
    one = "variables: int v ; v:a = 1 ;"
    assert compared(one, "variables: int w ;", codes=("ambiguous-rename",)) is None
    assert compared(one, "variables: int w ; w:a = 1 ; int u ; u:a = 1 ;", codes=("ambiguous-rename",)) is None
    assert kinds(compared(one, "variables: int w ;", {"variable": {"/v": "w"}})) == ["NodeRename", "AttributeChange"]
    assert kinds(compared(one, "variables: int w ;", deleted=(("variable", "/v"),))) == ["NodeRemoval", "NodeAddition"]
    assert kinds(compared(one, "variables: float w ;")) == ["NodeRemoval", "NodeAddition"]


def test_additions_with_their_group() -> None:
    result = compared(
        "dimensions: x = 2 ;", "dimensions: x = 2 ; y = 3 ; group: g { group: h { variables: int v(x, y) ; } :a = 1 ; }"
    )
    assert kinds(result) == ["NodeAddition"] * 4


def test_a_type_and_its_uses() -> None:
    one = "types: int enum t {a = 0} ; variables: t v ; v:f = a ; t :g = a ;".replace("v:f = a ;", "")
    assert kinds(compared(one, one.replace("enum t", "enum s").replace(" t ", " s "))) == ["NodeRename"]


def test_what_needs_values() -> None:
    base = "dimensions: x = 2 ; y = 2 ; variables: int v(x) ;"
    for new, what in (
        (base.replace("int", "float"), "type"),
        (base.replace("v(x)", "v(y)"), "dimensions"),
        (base.replace("x = 2", "x = 3"), "length"),
        (base + " v:_ChunkSizes = 1 ;", "chunks"),
    ):
        result = compared(base, new)
        assert result is not None
        assert what in {need.what for need in result.needs}
    assert kinds(compared(base, base.replace("y = 2", "y = 3"))) == ["DimensionChange"]
    assert kinds(compared(base, base.replace("y = 2", "y = UNLIMITED"))) == ["DimensionChange"]
