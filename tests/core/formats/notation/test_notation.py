# ruff: noqa: E501
from __future__ import annotations

import struct

import pytest

from nczarr import registry
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.notation import backend, frontend, tokens
from nczarr.options import Options
from nczarr.pipeline import phases

HEAD = "dataset t 2.0.0 "


def faults(text: str | bytes) -> list[tuple[str, int, int]]:
    """Code, line and column of everything that is reported for a text."""
    report = Report()
    data = text.encode("utf-8") if isinstance(text, str) else text
    frontend.read(Source("t.ncz", data), report)
    places = []
    for found in report.list_sorted():
        assert found.primary.span.source is not None
        places.append((found.code, *found.primary.span.source.position(found.primary.span.start)))
    return places


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", [("empty-input", 1, 1)]),
        ("dataset", [("expected-token", 1, 8)]),
        ("dataset a {}", [("expected-token", 1, 11)]),
        (HEAD + "{", [("expected-token", 1, 18)]),
        (HEAD + "{} x", [("trailing-text", 1, 20)]),
        (HEAD + "{ dimenson x 3 dimension y }", [("expected-token", 1, 19), ("expected-token", 1, 44)]),
        (HEAD + "{ variable v int x { attribute a byte 300 } dimension y }", [("expected-token", 1, 34), ("expected-token", 1, 73)]),
        (HEAD + "{ attribute a byte 300 attribute b int 1.5 }", [("value-range", 1, 36), ("inexact", 1, 56)]),
        (HEAD + '{ attribute a string "x\n}', [("unterminated-string", 1, 38)]),
        (HEAD + '{ attribute a string "\\q" }', [("bad-escape", 1, 39)]),
        (HEAD + "{ attribute a double 1e999 }", [("value-range", 1, 38)]),
        (HEAD + "{ attribute a char 5 }", [("type-mismatch", 1, 36)]),
        (HEAD + "{ dimension 3x 1 }", [("bad-number", 1, 29), ("expected-token", 1, 29), ("expected-token", 1, 32)]),
        (HEAD + "{ dimension \\q 1 }", [("bad-escape", 1, 29)]),
        (HEAD + "{ opaque o 2 attribute a /o 0x01 }", [("opaque-length", 1, 45)]),
        (HEAD + "{ enum e byte { x 1 } attribute a /e y }", [("undefined-enum-constant", 1, 54)]),
        (HEAD + "{ compound c { x int } attribute a c 1 }", [("missing-braces", 1, 54)]),
        (HEAD + "{ compound c { x int } attribute a c {1 2} }", [("too-many-values", 1, 54)]),
        (HEAD + "{ variable v int { chunks 1 chunks 2 codec zip } }", [("duplicate-name", 1, 45), ("unknown-word", 1, 54)]),
        (HEAD + "kind nc9 {}", [("unknown-word", 1, 22)]),
        (HEAD + "{" + "group g {" * 65 + "}" * 66, [("too-deep-nesting", 1, 17 + 64 * 9 + 7)]),
        (HEAD + "{" * 100_000, [("too-deep-nesting", 1, 217)]),
        (HEAD.encode() + b"{ \0 dimension \xff 3 }", [("nul-byte", 1, 19), ("invalid-utf8", 1, 31)]),
    ],
)  # fmt: skip
def test_faults_have_code_and_place(text: str | bytes, wanted: list[tuple[str, int, int]]) -> None:
    assert faults(text) == wanted


def test_a_circular_type_does_not_hang_constants() -> None:
    assert faults(HEAD + "{ vlen v w vlen w v attribute a /v {{}} }") == []  # the passes report the types


def test_nan_keeps_its_bits() -> None:
    value = Constant(type="float", count=1, data=struct.pack("<I", 0xFFC00123))
    dataset = Dataset(name="t", attributes=(Attribute(name="a", value=value),))
    text = backend.text(dataset)
    assert "0xffc00123" in text
    unchecked = frontend.read(Source("t.ncz", text.encode()), Report())
    assert unchecked is not None
    assert unchecked.dataset == dataset


def test_the_fast_tokens_are_those_of_the_grammar() -> None:
    from antlr4 import CommonTokenStream, InputStream

    from nczarr.syntax._generated.NCZarrLexer import NCZarrLexer

    text = (
        'dataset a\\ b 2.0.0 kind nc4 { // note\n dimension \\1st unlimited 3 attribute é float -1.5e-3 .5 1. +2 0x1F NaN -Infinity'
        ' "a\\"b\\n" NIL {} compound c @24 { x-1 int 3 @4 } variable v /g/\\ x /g/1 4 {codec 32015 5} / }'
    )  # fmt: skip
    stream = CommonTokenStream(NCZarrLexer(InputStream(text)))
    stream.fill()
    wanted = [(token.type, token.text) for token in stream.tokens if token.type != -1]
    source, report = Source("t.ncz", text.encode("utf-8")), Report()
    found = [(token.type, source.text(token.start, token.end)) for token in tokens.scan(source, report)[:-1]]
    assert found == wanted
    assert report.errors == 0


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("attribute a int 1, 2", ["bad-number"]),
        ("attribute a float 1,", ["bad-number"]),
        ("variable v int { fill 1, }", ["bad-number"]),
        ("enum e byte { a 1, b 2 }", ["bad-number"]),
        ("enum e byte { a --1 b 2 }", ["bad-number"]),
        ("enum e byte { a = 1 }\n variable v e", ["expected-token"]),
        ("opaque key\n variable v key", ["expected-token"]),
        ("compound { t int64 } c\n variable v c", ["expected-token"]),
        ("compound c ( t int64 )\n variable v c", ["expected-token"]),
        ("dimension x = 3\n variable v int /x", ["expected-token"]),
        ("group { variable v int }", ["expected-token"]),
        ("compound p { lat doub }\n attribute at /p { 1 }", ["undefined-type"]),
        ("vlen p doub\n variable v int { attribute at /p { 1 } }", ["undefined-type"]),
        ('variable v int { units "K" }', ["expected-token"]),
    ],
)
def test_one_mistake_is_said_once(body: str, codes: list[str]) -> None:
    report = Report()
    data = f"dataset t 2.0.0 {{\n {body}\n}}\n".encode()
    assert phases.read(Source("t.ncz", data), report, Options(), registry.find_format("notation")) is None
    assert [found.code for found in report.list_sorted()] == codes
