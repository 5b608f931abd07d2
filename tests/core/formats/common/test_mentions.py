"""Names of texts that are being typed: a faulty statement keeps its names, and those of the others."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.report import Source
from nczarr.formats.cdl.language import LANGUAGE as CDL
from nczarr.formats.common.language import Language
from nczarr.formats.notation.language import LANGUAGE as NOTATION


def list_names(language: Language, text: str) -> list[str]:
    """Role, scope, owner and name of each mention; a `!` marks declarations."""
    data = text.encode()
    mentions = language.read(Source("a", data)).mentions
    return [
        f"{'!' if one.extent else ''}{one.role} {one.scope}:{one.owner}:{one.name}{f':{one.type}' if one.type else ''}"
        for one in mentions
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dimensions: a = 2, b = ", ["!dimension /::a"]),
        ("variables: int v(a", ["atomic /::int", "!variable /::v:int", "dimension /:v:a"]),
        ("variables: int v, w ; ,v:a = 1 ;", [
            "atomic /::int", "!variable /::v:int", "!variable /::w:int", "owner /::v", "!attribute /:v:a",
        ]),
        ("variables: int v ; v: ; w : b = ", [
            "atomic /::int", "!variable /::v:int", "owner /::v", "owner /::w", "!attribute /:w:b",
        ]),
        ("types: byte enum e { A = 1, B = variables: int v ;", [
            "atomic /::byte", "!type /::e:byte", "!constant /:e:A", "!constant /:e:B", "atomic /::int",
            "!variable /::v:int",
        ]),
        ("types: compound c { int x, y(3) ; } ; opaque(3) o ; int(*) l ;", [
            "!type /::c", "atomic /::int", "!field /:c:x:int", "!field /:c:y:int", "!type /::o", "atomic /::int",
            "!type /::l:int",
        ]),
        ("group: g { data: v = 1 ; } data: w = ", ["!group /::g", "variable /g::v", "variable /::w"]),
    ],
)  # fmt: skip
def test_cdl(body: str, expected: list[str]) -> None:
    assert list_names(CDL, f"netcdf t {{ {body}") == ["!dataset /::t", *expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("dimension d unlimited 0 variable v", ["!dimension /::d", "!variable /::v"]),
        ("variable v c /d 3 { attribute a c {1 {2 3}} {4 fill {5} ", [
            "!variable /::v:c", "type /::c", "dimension /:v:/d", "!attribute /:v:a:c", "type /::c",
            "attribute /:v:_FillValue",
        ]),
        ("compound c { x int y } enum e byte { A 1 B } vlen l /g/t", [
            "!type /::c", "!field /:c:x:int", "atomic /::int", "!field /:c:y", "!type /::e:byte", "atomic /::byte",
            "!constant /:e:A", "!constant /:e:B", "!type /::l:/g/t", "type /::/g/t",
        ]),
        ("opaque int 3 attribute a int", ["!type /::int", "!attribute /::a:int", "atomic /::int"]),
        ("group group { attribute fill int 1", [
            "!group /::group", "!attribute /group::fill:int", "atomic /group::int",
        ]),
    ],
)  # fmt: skip
def test_notation(body: str, expected: list[str]) -> None:
    assert list_names(NOTATION, f"dataset t 2.0.0 {{ {body}") == ["!dataset /::t", *expected]


def test_values_and_blocks_have_their_bytes() -> None:
    text = "netcdf t { variables: int v ; v:a = 1, 2 ; group: g { } }"
    text_map = CDL.read(Source("a", text.encode()))
    values = [text[slice(*one.value)] for one in text_map.mentions if one.value is not None]
    assert values == ["1, 2"]
    assert [text[start:end] for start, end in text_map.blocks] == ["group: g { }", text]
