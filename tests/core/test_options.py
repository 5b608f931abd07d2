"""Options: each field has a row in the table, and the forms of an option agree."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from nczarr import options
from nczarr.api.options import ConvertOptions
from nczarr.cli import list_commands
from nczarr.cli.parser import PARSERS, REPEATABLE
from nczarr.options import PARTS, RUN_ONLY, SECTIONS, TABLE, Following, Options, Writing
from nczarr.plugins import OFFERS
from tests.support.plugins import ABSENT

PYTHON_NAMES = {
    "arrangement": "layout",
    "form": "from_format",
    "storage": "storage_options",
    "subset.variables": "variables",
    "subset.excluded": "exclude",
    "subset.fixed": "fixed",
    "subset.unlimited": "unlimited",
    "subset.groups": "groups",
    "subset.sections": "sections",
    "subset.dimensions": "dims",
    "subset.labels": "sel",
    "subset.exact": "coordinates",
}
"""Names that Python callers have for options with another one."""

OF_THE_COMMAND_LINE = {"char_netcdf", "level", "shuffle", "chunkspecs", "progress", "dry_run", "strict", "quiet"}
OF_THE_COMMAND_LINE |= {"levels", "message_format", "verbose", "parser"}
"""Options of `convert` that Python callers do without: `open` takes what a parser makes."""


def test_each_field_has_a_row() -> None:
    fields = {*PARTS, *(f"writing.{name}" for name in Writing._fields)}
    fields |= {f"following.{name}" for name in Following._fields}
    named = {row.name for row in TABLE}
    assert fields - named == {"writing", "following"}
    assert {row.name for row in TABLE if not row.flags} <= fields


def test_python_and_the_command_line_have_the_same_options() -> None:
    rows = {row.name for row in TABLE if "convert" in row.commands} - OF_THE_COMMAND_LINE
    names = {PYTHON_NAMES.get(name, name.partition(".")[0]) for name in rows}
    assert names == ConvertOptions.__annotations__.keys() - {"nearest"}  # `--sel` has both


def test_choices_are_those_of_the_types() -> None:
    hints = {}
    for part in Options():
        hints |= get_type_hints(type(part), {**vars(options), "Kind": str})
    for row in TABLE:
        if row.choices and row.takes == "text" and get_args(hints.get(row.name)) and row.name != "declare":
            literals = (hints[row.name], *get_args(hints[row.name]))
            assert {*row.choices} == {word for part in literals for word in get_args(part) if isinstance(word, str)}


def test_rows_name_what_there_is() -> None:
    gone = {offer.removeprefix("command ") for name in ABSENT for offer in OFFERS[name]}
    for row in TABLE:
        assert {*row.commands} <= list_commands().keys() | gone
        assert not row.flags or row.section in SECTIONS
        assert row.takes in {"flag", "switch", "text", "char", "documents", *REPEATABLE, *PARSERS}
        if row.takes == "flag" and row.name.partition(".")[0] in PARTS and row.flags:
            assert Options().find(row.name) is False


def test_each_option_counts_or_is_of_the_run_alone() -> None:
    plain = Options().fingerprint
    for name in PARTS:
        changed = Options.of(**{name: Writing(inline=1)})
        assert (changed.fingerprint == plain) == (name in RUN_ONLY), name


def test_order_of_mappings_and_sets_does_not_count() -> None:
    one = Options.of(codecs={"/a": "zlib", "/b": "zstd"}, allow_loss=frozenset(["lost-union", "lost-mask"]))
    other = Options.of(codecs={"/b": "zstd", "/a": "zlib"}, allow_loss=frozenset(["lost-mask", "lost-union"]))
    assert one.fingerprint == other.fingerprint != Options().fingerprint


def test_each_field_belongs_to_one_part() -> None:
    fields = [name for part in Options() for name in part._fields]
    assert len(fields) == len(set(fields)) == len(PARTS)
    assert PARTS.keys().isdisjoint(Options._fields)
    for part, value in Options()._asdict().items():
        assert [name for name in PARTS if PARTS[name] == part] == [*value._fields]


def test_flat_names_set_fields_of_parts() -> None:
    made = Options.of(chunks={"x": (3,)}, memory=7)
    assert (made.layout.chunks, made.run.memory) == ({"x": (3,)}, 7)
    assert made.change(memory=8) == made._replace(run=made.run._replace(memory=8))
    assert made.find("memory") == 7
    assert made.find("following.hidden") is True
    for make in (Options.of, made.change):
        with pytest.raises(TypeError, match="'chunk' is not an option"):
            make(chunk={"x": 3})


def test_every_keyword_in_the_package_is_a_field() -> None:
    for path in Path(options.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".change(" in text or "Options.of(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and makes_options(node.func):
                unknown = {keyword.arg for keyword in node.keywords if keyword.arg} - PARTS.keys()
                assert not unknown, f"{path}:{node.lineno}: {unknown}"


def makes_options(function: ast.Attribute) -> bool:
    """Return whether this is `Options.of`, or the method `change`; its namesakes have no keywords."""
    of = function.value.id if isinstance(function.value, ast.Name) and function.attr == "of" else ""
    return function.attr == "change" or of == "Options"
