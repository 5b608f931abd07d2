"""Diagnostics as text and as JSON lines."""

from __future__ import annotations

import io
import json

import pytest

from nczarr.diagnostics import render
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span


def one(text: bytes, word: bytes, **more: object) -> str:
    source = Source("o.cdl", text)
    at = text.index(word)
    report = Report()
    report.error("undefined-dimension", "message", Span(source, at, at + len(word)), **more)  # type: ignore[arg-type]
    return "".join(render.human(report.list_sorted()))


def test_the_look() -> None:
    text = b"netcdf o {\ndimensions:\n  lat = 3;\nvariables:\n  float t(time, latt);\n}\n"
    shown = one(text, b"latt", label="not found", helps=["did you mean `lat`?"], notes=["a note"])
    assert shown == (
        "error[undefined-dimension]: message\n"
        "  --> o.cdl:5:17\n"
        "   |\n"
        " 5 |   float t(time, latt);\n"
        "   |                 ^^^^ not found\n"
        "   = note: a note\n"
        "   = help: did you mean `lat`?\n"
        "\n"
    )


def test_first_declaration_is_shown_too() -> None:
    text = b"a = 1;\nx;\ny;\na = 2;\n"
    source = Source("o.cdl", text)
    report = Report()
    report.error(
        "duplicate-name", "twice", Span(source, 13, 14), others=[Label(Span(source, 0, 1), "first declared here")]
    )
    assert "".join(render.human(report.list_sorted())) == (
        "error[duplicate-name]: twice\n  --> o.cdl:4:1\n   |\n 1 | a = 1;\n   | - first declared here\n...\n"
        " 4 | a = 2;\n   | ^\n\n"
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (b"\tlatt", 4),
        (b"a\tlatt", 4),
        ("漢字 latt".encode(), 5),
        ("e\u0301 latt".encode(), 2),
        (b"\xff latt", 2),
        (b"\x01 latt", 2),
    ],
)
def test_marker_stands_below_its_word(text: bytes, column: int) -> None:
    marker = one(text, b"latt").splitlines()[4]
    assert marker == "   | " + " " * column + "^^^^"


@pytest.mark.parametrize("position", [0, 50, 109, 110, 111, 1000, 100_000])
def test_long_lines_are_clipped_around_the_word(position: int) -> None:
    shown = one(b"x" * position + b"latt" + b"y" * (100_000 - position), b"latt").splitlines()
    line, marker = shown[3], shown[4]
    assert len(line) < 130
    assert line[marker.index("^") : marker.rindex("^") + 1] == "latt"


def test_nothing_of_the_input_reaches_the_terminal_as_control() -> None:
    source = Source("\x1b[2J.cdl", b"a \x1b]0;evil\x07 \xc2\x9b31m \xe2\x80\xae z")
    report = Report()
    report.error("bad-name", "name `\x1b[31m\u202e`", Span(source, 2, 3), notes=["\x1b"], helps=["\r"], label="\x08")
    for character in "".join(render.human(report.list_sorted())):
        assert character == "\n" or character.isprintable(), hex(ord(character))


def test_colour_is_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert render.wants_colour(Terminal())
    assert not render.wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not render.wants_colour(Terminal())


def test_many_are_bounded() -> None:
    source = Source("o", b"x" * 5000)
    report = Report(limit=300)
    for at in range(1000):
        report.error("bad-name", "m", Span(source, at, at + 1))
    shown = "".join(render.human(report.list_sorted(), limit=100))
    assert shown.count("error[") == 100
    assert "and 200 more" in shown
    assert render.summary(report.list_sorted(), report.dropped) == "300 errors, 700 more were dropped"


def test_json_has_the_members_of_the_contract() -> None:
    source = Source("ocean.cdl", "é latt\n".encode())
    report = Report()
    report.error("undefined-dimension", "m", Span(source, 3, 7), helps=["did you mean `lat`?"])
    (line,) = render.json_lines(report.list_sorted())
    assert line.endswith("\n")
    assert list(json.loads(line).items()) == [
        ("code", "undefined-dimension"), ("severity", "error"), ("message", "m"), ("file", "ocean.cdl"), ("line", 1),
        ("column", 3), ("end_line", 1), ("end_column", 7), ("notes", []), ("helps", ["did you mean `lat`?"]),
        ("key", None), ("pointer", None),
    ]  # fmt: skip


def test_places_in_stores_and_binary_files() -> None:
    store = Diagnostic("bad-ast", Severity.ERROR, "m", Label(key="v/.zarray", pointer="/shape/1"))
    binary = Diagnostic("bad-ast", Severity.ERROR, "m", Label(Span(Source("f.nc", b""), 0, 0), offset=12))
    assert "--> v/.zarray#/shape/1\n" in "".join(render.human([store]))
    assert "--> f.nc@12\n" in "".join(render.human([binary]))
    lines = [json.loads(line) for line in render.json_lines([store, binary])]
    assert (lines[0]["key"], lines[0]["pointer"], lines[0]["line"]) == ("v/.zarray", "/shape/1", None)
    assert (lines[1]["offset"], lines[1]["file"], lines[1]["line"]) == (12, "f.nc", None)
