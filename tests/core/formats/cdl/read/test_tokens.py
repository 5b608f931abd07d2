"""The fast token source against the grammar's own lexer: one tree, spans and all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.ast import Node
from nczarr.ast.node import members_of
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.formats.cdl.read.frontend import parse, read
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.semantics.checked import Unchecked
from nczarr.syntax._generated.CDLParser import CDLParser as P
from tests.conftest import ROOT
from tests.support.reference_tokens import plain_tokens

SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


def places(node: Any, path: str = "") -> list[tuple[str, int, int]]:
    """The span of every node, by its place in the tree."""
    if isinstance(node, Node):
        found = [(path, node.span.start, node.span.end)]  # type: ignore[attr-defined]
        for name in members_of(node):
            found += places(getattr(node, name), f"{path}.{name}")
        return found
    if isinstance(node, tuple):
        return [place for number, item in enumerate(node) for place in places(item, f"{path}[{number}]")]
    return []


def texts(work: Unchecked) -> dict[object, bytes]:
    """The text of every value list that is still a span."""
    spans = {**work.lists, **work.attribute_lists}
    return {key: bytes(span.source.data[span.start : span.end]).strip() for key, span in spans.items() if span.source}


def both(data: bytes) -> tuple[Unchecked | None, Unchecked | None]:
    source = Source("t.cdl", data)
    return read(source, Report()), parse(source, plain_tokens(source, Report()), Report())


def assert_equal_trees(data: bytes) -> None:
    fast, plain = both(data)
    assert (fast is None) == (plain is None)
    if fast is None or plain is None:
        return
    assert fast.dataset == plain.dataset
    assert places(fast.dataset) == places(plain.dataset)
    assert texts(fast) == texts(plain)
    assert {k: [(s.start, s.end) for s in v] for k, v in fast.uses.items()} == {
        k: [(s.start, s.end) for s in v] for k, v in plain.uses.items()
    }


@pytest.mark.slow
def test_trees_are_equal_on_the_whole_corpus(shared: Path) -> None:
    files = sorted((shared / "data" / "netcdf-c" / "cdl").glob("*.cdl"))
    assert len(files) > 300
    for path in files:
        assert_equal_trees(path.read_bytes())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_trees_are_equal_on_samples(path: Path) -> None:
    assert_equal_trees(path.read_bytes())


@pytest.mark.parametrize(
    "body",
    [
        "dimensions: d = 2, e = UNLIMITED ; f = 0x10 ;",
        'variables: int data ; data :units = "m" ; data: data = 3 ;',
        "variables: int v ; v:a = \"x;y\" ; v:b = 1 , 2 /* ; */ ; // v:c = 3 ;\n v:d = 'a' ;",
        'int :a = 1 ; :b = "c" ; // :c = 2 ;\n :d = 1.5f ;',
        "types: int enum e {a = 1, b = 2} ; int(*) t ; opaque(3) o ; compound c { int x(2, 3), y ; e z ; } ;",
        "group: g { dimensions: d = 1 ; group: h { variables: int v(d, /g/d) ; } :a = 1 ; } :b = 2 ;",
        "variables: int dash-name, dot.name, \\1st, sp\\ ace ; dash-name:at@t = 1 ;",
    ],
)
def test_trees_are_equal_on_corners(body: str) -> None:
    assert_equal_trees(f"netcdf corner {{ {body} }}".encode())


def test_a_run_of_simple_statements_is_one_token() -> None:
    text = b'netcdf t { variables: int a ; a:x = 1 ;\n // note\n float b(d) ; b:units = "K" ; }'
    tokens = FastTokens(Source("t.cdl", text), Report()).scan()
    assert [token.type for token in tokens].count(P.SIMPLE) == 1
    assert len(tokens) == 7  # netcdf, name, {, variables:, the run, }, end


def test_values_are_one_token_whatever_they_hold() -> None:
    text = b"netcdf t { data: v = \"a;b\", {1, 2}, ';' /* ; */ ; w = 1 ; }"
    tokens = FastTokens(Source("t.cdl", text), Report()).scan()
    values = [text[token.start : token.end].strip() for token in tokens if token.type == P.VALUES]
    assert values == [b"\"a;b\", {1, 2}, ';' /* ; */", b"1"]


@pytest.mark.parametrize("word", ["\\l", "a.+", "\\["])
def test_a_word_before_a_colon_is_no_pattern(word: str) -> None:
    report = Report()
    text = f"netcdf a {{\nvariables:\n int x ;\n{word}:\n int y ;\n}}\n"
    read(Source("a.cdl", text.encode()), report)
    assert report.errors


def test_an_empty_statement_has_its_remedy() -> None:
    report = Report()
    read(Source("a.cdl", b"netcdf a { variables: float x ;; float y ; }"), report)
    (diagnostic,) = report.list_sorted()
    assert diagnostic.helps == ("remove this `;`",)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ('netcdf a { variables: int v ;\n v:s = "a//b" /* c */ // d\n v:t = 1 ; }', '"a//b"'),
        ("netcdf a { variables: int v, w ;\ndata:\n v = 1 // é ; \n w = 2 ; }", "v = 1"),
        ("netcdf a { variables: char v ;\ndata:\n v = '\"' /* \n */ \n}", "'\"'"),
    ],
)
def test_a_missing_semicolon_belongs_before_a_comment(text: str, before: str) -> None:
    with pytest.raises(CompileError) as caught:
        nczarr.from_cdl(text)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, text.encode()[: diagnostic.primary.span.start].decode().endswith(before)) == (
        "expected-token",
        True,
    )
