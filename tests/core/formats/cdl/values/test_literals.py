"""Literals: exact values, and a place for every fault."""

from __future__ import annotations

import math

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.values.literals import ListReader, Literal


def read(text: str) -> tuple[list[Literal] | None, list[tuple[str, int]]]:
    report = Report()
    data = text.encode()
    literals = ListReader(Source("t", data), report).read(0, len(data))
    return literals, [(found.code, found.primary.span.start) for found in report.list_sorted()]


@pytest.mark.parametrize(
    ("text", "kind", "value", "type_name"),
    [
        ("0", "int", 0, "int"),
        ("-2147483648", "int", -(2**31), "int"),
        ("2147483648", "int", 2**31, "uint"),
        ("4294967296", "int", 2**32, "uint64"),
        ("-2147483649", "int", -(2**31) - 1, "int64"),
        ("9223372036854775808", "int", 2**63, "uint64"),
        ("18446744073709551615", "int", 2**64 - 1, "uint64"),
        ("010", "int", 8, "int"),
        ("255b", "int", -1, "byte"),
        ("255ub", "int", 255, "ubyte"),
        ("1bu", "int", 1, "ubyte"),
        ("7LLU", "int", 7, "uint64"),
        ("65535s", "int", -1, "short"),
        ("3l", "int", 3, "int"),
        ("1.", "float", 1.0, "double"),
        (".5e1", "float", 5.0, "double"),
        ("1.5f", "float", 1.5, "float"),
        ("1e3", "float", 1000.0, "double"),
        ("1.5L", "float", 1.5, "double"),
        ("-Infinityf", "float", -math.inf, "float"),
        ("0x1F", "hex", b"1F", ""),
        ("'a'", "char", b"a", "byte"),
        ("'\\x41'", "char", b"A", "byte"),
        ("'\\0'", "char", b"\0", "byte"),
        ("'\\?'", "char", b"?", "byte"),
        ('"a\\x41\\101\\v\\""', "string", b'aAA\x0b"', "char"),
        ("_", "fill", None, ""),
        ("NIL", "nil", None, "string"),
        ("e.a", "name", "e.a", ""),
        ('time("1970-01-02")', "float", 24.0, "double"),
    ],
)
def test_one_literal(text: str, kind: str, value: object, type_name: str) -> None:
    literals, faults = read(text)
    assert faults == []
    assert literals is not None
    assert [(item.kind, item.value, item.type) for item in literals] == [(kind, value, type_name)]


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("08", "bad-number", 0),
        ("-1u", "bad-number", 0),
        ("300b", "suffix-range", 0),
        ("1q", "bad-number", 1),
        ("1e", "bad-number", 0),
        ("1f", "bad-number", 0),
        (".", "bad-number", 0),
        ("- 1", "bad-number", 0),
        ("1_000", "bad-number", 1),
        ("18446744073709551616", "integer-overflow", 0),
        ("-9223372036854775809", "integer-overflow", 0),
        ("+Infinity", "bad-number", 0),
        ("-NaN", "bad-number", 0),
        ("''", "bad-char-constant", 0),
        ("'ab'", "bad-char-constant", 0),
        ("'é'", "bad-char-constant", 0),
        ('"\\400"', "bad-escape", 1),
        ('"\\7"', "bad-escape", 1),
        ('"\\xg"', "bad-escape", 1),
        ("1,,2", "expected-value", 2),
        (",1", "expected-value", 0),
        ("1, ", "expected-value", 3),
        ('"a" "b"', "expected-token", 4),
        ("{1", "expected-token", 0),
        ("1}", "expected-token", 1),
        ("1\n v", "expected-token", 1),
        ("f(1)", "bad-function", 0),
        ('time("soon")', "bad-function", 5),
    ],
)
def test_one_fault(text: str, code: str, column: int) -> None:
    _, faults = read(text)
    assert faults == [(code, column)]


@pytest.mark.slow
def test_braces_nest_without_recursion() -> None:
    depth = 30_000
    literals, faults = read("{" * depth + "1" + "}" * depth)
    assert faults == []
    found = 0
    while literals and literals[0].kind == "list":
        literals = literals[0].value
        found += 1
    assert found == depth


def test_unknown_escape_warns_and_stands_for_itself() -> None:
    literals, faults = read('"\\q"')
    assert literals is not None
    assert literals[0].value == b"q"
    assert faults == [("unknown-escape", 1)]
