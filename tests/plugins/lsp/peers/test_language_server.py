"""`nczarr lsp` driven by the client of pytest-lsp, through every feature, as an editor would."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.peer

CDL = """netcdf ocean {
types:
  byte enum sky_t { clear = 0, cloudy = 1 } ;
  compound point_t { float x ; float y(2) ; } ;
dimensions:
  time = UNLIMITED ;
  lat = 3 ;
variables:
  double time(time) ;
    time:units = "days since 1970-01-01" ;
  float temp(time, lat) ; // the temperature
    temp:standard_name = "sea_water_temperature" ;
    temp:coordinates = "depth" ;
    temp:cell_methods = "time: mean" ;
  float depth ;
  sky_t sky(lat) ;
  point_t p ;
  :title = "An ocean" ;
data:
  time = 1, 2 ;
  sky = clear, cloudy, clear ;
group: deep {
  variables:
    int count(lat) ;
  }
}
"""

NOTATION = """dataset ocean 2.0.0 {
  enum sky_t byte { clear 0 cloudy 1 }
  dimension time unlimited 2
  dimension lat 3
  attribute title string "An ocean"
  variable temp float /time /lat {
    attribute standard_name string "sea_water_temperature"
    codec deflate 5
  }
  variable sky sky_t /lat { fill cloudy }
  group deep {
    variable count int /lat
  }
}
"""


@pytest.fixture(autouse=True)
def client_library(peer: Callable[[str], ModuleType]) -> None:
    """The client library, or a visible skip."""
    peer("pytest_lsp")


RUNNING: dict[str, tuple[asyncio.Runner, Any, Any]] = {}
"""Event loop, context and session of each kind of client."""


@pytest.fixture(autouse=True, scope="module")
def sessions() -> Iterator[None]:
    """End the sessions of the module; the status of each server is 0."""
    yield
    for runner, context, _ in RUNNING.values():
        with runner:
            runner.run(context.__aexit__(None, None, None))
    RUNNING.clear()


def converse(scenario: Callable[[Any], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Run a scenario in the session of such a client; what it opens is closed."""
    from pytest_lsp import LspSpecificationWarning

    from tests.support.language_client import language_session

    kind = str(options)
    if kind not in RUNNING:
        runner, context = asyncio.Runner(), language_session(**options)
        RUNNING[kind] = runner, context, runner.run(context.__aenter__())
    runner, _, session = RUNNING[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LspSpecificationWarning)  # answers must fit what the editor can take
        runner.run(scenario(session))
    session.close()


@pytest.mark.long
def test_diagnostics_appear_move_and_go() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        uri = s.open(CDL)
        assert await s.diagnostics(uri) == []
        s.replace(uri, CDL.replace("temp(time, lat)", "temp(time, latt)"))
        (found,) = await s.diagnostics(uri)
        line = next(n for n, text in enumerate(CDL.split("\n")) if "float temp" in text)
        assert (found.code, found.severity, found.source) == ("undefined-dimension", 1, "nczarr")
        assert found.range == types.Range(types.Position(line, 19), types.Position(line, 23))
        assert "did you mean `lat`?" in found.message
        assert "undefined-dimension" in Path(unquote(urlsplit(found.code_description.href).path)).read_text("utf-8")
        (related,) = found.related_information
        assert (related.location.uri, related.location.range.start.line) == (uri, 6)
        s.change(uri, [types.TextDocumentContentChangePartial(types.Range(found.range.end, found.range.end), "\n\n")])
        s.change(
            uri, [types.TextDocumentContentChangePartial(types.Range(types.Position(0, 0), types.Position(0, 0)), "\n")]
        )
        (moved,) = await s.diagnostics(uri)
        assert moved.range.start.line == line + 1
        s.replace(uri, CDL)
        assert await s.diagnostics(uri) == []
        s.replace(uri, CDL + "x")
        (trailing,) = await s.diagnostics(uri)
        assert list(trailing.tags) == [types.DiagnosticTag.Unnecessary]
        s.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        while s.published[-1].diagnostics:
            await asyncio.sleep(0.01)
        assert await s.ask(types.TEXT_DOCUMENT_HOVER, types.HoverParams(**s.at(uri, "temp"))) is None

    converse(scenario)


def test_the_settings_of_the_project_and_comments_count(tmp_path: Path) -> None:
    text = "netcdf d {\ndimensions:\n  n = 0 ;\nvariables:\n  float v(n) ;\n    v:units = 7 ;\n}\n"

    async def read(s: Any, content: str, name: str) -> set[str]:
        return {one.code for one in await s.diagnostics(s.open(content, str(tmp_path / name)))}

    async def scenario(s: Any) -> None:
        assert await read(s, text, "a.cdl") == {"zero-dimension"}
        assert await read(s, text.replace("0 ;", "0 ; // nczarr: ignore[zero-dimension]"), "b.cdl") == set()
        settings = tmp_path / "nczarr.toml"
        settings.write_text('ignore = ["zero-dimension"]\ncf = true\n', "utf-8")
        found = await read(s, text, "c.cdl")
        assert "zero-dimension" not in found
        assert "cf-units" in found
        settings.write_text("nonsense = 1\n", "utf-8")
        assert await read(s, text, "d.cdl") == {"zero-dimension"}

    converse(scenario)


@pytest.mark.long
@pytest.mark.parametrize(("encoding", "column"), [("utf-16", 18), ("utf-8", 21), ("utf-32", 17)])
def test_columns_are_in_the_units_of_the_client(encoding: str, column: int) -> None:
    async def scenario(s: Any) -> None:
        assert s.capabilities.position_encoding == encoding
        uri = s.open('netcdf d {\n/* é𝒳 */ byte v = é ;\n :a = "\u2028\f" ;\n}\n')
        uri = s.open("netcdf d {\nvariables:\n/* é𝒳 */ float v(q) ;\n}\n", "b.cdl")
        (found,) = await s.diagnostics(uri)
        assert (found.range.start.line, found.range.start.character) == (2, column)

    converse(scenario, encodings=(encoding,))


def test_hover_explains() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        async def read(uri: str, mark: str, inside: int = 0, nth: int = 0) -> str:
            answer = await s.ask(types.TEXT_DOCUMENT_HOVER, types.HoverParams(**s.at(uri, mark, inside, nth)))
            return "" if answer is None else str(answer.contents.value)

        uri = s.open(CDL)
        assert "float temp(time, lat)" in await read(uri, "temp(")
        assert "shape 2 × 3, 24 B" in await read(uri, "temp:standard", 2)
        assert "sea_water_temperature" in await read(uri, "temp(")
        assert "`/time` = unlimited, now 2" in await read(uri, "time, lat", 1)
        assert "`/lat` = 3\n\nused by 3 variables" in await read(uri, "lat)")
        assert "enum of byte, 2 constants" in await read(uri, "sky_t sky")
        assert "`cloudy` = 1" in await read(uri, "cloudy, clear", 1)
        assert "field `y` of `point_t`: float[2]" in await read(uri, "y(2)")
        assert "char, `days since 1970-01-01`" in await read(uri, "units =")
        assert "Canonical units: `K`" in await read(uri, "water_temp")
        assert "group `/deep`: 1 variable" in await read(uri, "deep {")
        assert "8 bytes" in await read(uri, "double")
        assert "can grow" in await read(uri, "UNLIMITED")
        assert await read(uri, "the temperature") == ""
        wrong = s.open(CDL.replace("cloudy, clear", "cloudy, clean"), "wrong.cdl")
        assert "**undefined-enum-constant** (error)" in await read(wrong, "clean")
        ncz = s.open(NOTATION, "a.ncz", "nczarr")
        assert "shape 2 × 3, 24 B" in await read(ncz, "temp float")
        assert "= 3" in await read(ncz, "/lat {", 2)
        assert "Canonical units: `K`" in await read(ncz, "water_temp")
        assert "`cloudy` = 1" in await read(ncz, "cloudy }")

    converse(scenario)


def test_completion_knows_the_place() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        async def complete(text: str, name: str = "c.cdl") -> dict[str, types.CompletionItem]:
            """The items at the mark `|`, after which the text goes on."""
            at = text.index("|")
            uri = s.open(text.replace("|", ""), name)
            s.texts[uri] = text.replace("|", "")
            before = text[:at]
            place = types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
            params = types.CompletionParams(types.TextDocumentIdentifier(uri), place)
            answer = await s.ask(types.TEXT_DOCUMENT_COMPLETION, params)
            return {item.label: item for item in answer.items}

        def after(old: str, new: str) -> str:
            assert old in CDL
            return CDL.replace(old, new, 1)

        items = await complete(after("  float depth ;\n", "  |\n  float depth ;\n"))
        assert {"float", "int64", "sky_t", "temp", "data:"} <= set(items)
        assert "count" not in items
        items = await complete(after("  float depth ;\n", "  fl|\n  float depth ;\n"))
        assert next(iter(items)) == "float"
        assert "int" not in items
        items = await complete(after("temp(time, lat)", "temp(time, |)"))
        assert set(items) == {"time", "lat"}
        assert items["time"].detail == "unlimited (2)"
        items = await complete(after("    int count(lat) ;\n", "    int count(la|"))
        assert set(items) == {"lat"}
        items = await complete(after("  float depth ;\n", "  float depth ;\n  depth:|"))
        assert {"units", "standard_name", "_FillValue"} <= set(items)
        assert "title" not in items
        assert "UDUNITS" in str(items["units"].documentation)
        assert "standard_name" not in await complete(after("    temp:coord", "    temp:|\n    temp:coord"))
        assert "Conventions" in await complete(after("  :title", "  :|\n  :title"))
        items = await complete(after("sea_water_temperature", "sea_water_temp|"))
        assert "sea_water_temperature" in items
        assert items["sea_water_temperature"].detail == "K"
        items = await complete(after("  float depth ;\n", '  float depth ;\n  temp:units = "|'))
        assert next(iter(items)) == "K"
        assert "m s-1" in items
        assert {"temp", "depth"} <= set(await complete(after('"depth"', '"de|"'))) | {"temp"}
        assert "time:" in await complete(after('"time: mean"', '"ti|"'))
        items = await complete(after("sky = clear, cloudy, clear", "sky = clear, |"))
        assert {"clear", "cloudy", "_"} <= set(items)
        assert "depth" in await complete(after("  sky = clear", "  de|\n  sky = clear"))
        assert "UNLIMITED" in await complete(after("  lat = 3", "  lat = |"))
        assert {"compound", "enum"} & set(await complete(after("  compound point_t", "  |\n  compound point_t")))
        assert await complete(after("the temperature", "the |temperature")) == {}
        assert "types:" in await complete("netcdf d {\n|\n}\n")
        edit = (await complete(after('"time: mean"', '"|"')))["mean"].text_edit
        assert edit is not None

        def written(old: str, new: str) -> str:
            return NOTATION.replace(old, new, 1)

        assert {"codec", "attribute", "fill"} <= set(await complete(written("codec deflate 5", "|"), "c.ncz"))
        assert "deflate" in await complete(written("codec deflate 5", "codec |"), "c.ncz")
        assert {"float", "sky_t"} <= set(await complete(written("temp float /time", "temp |"), "c.ncz"))
        items = await complete(written("temp float /time /lat", "temp float /time /|"), "c.ncz")
        assert "/lat" in items
        assert items["/lat"].text_edit.new_text == "/lat"
        assert "sea_water_temperature" in await complete(written("sea_water_temperature", "sea_water_temp|"), "c.ncz")
        assert {"units", "long_name"} <= set(await complete(written("attribute standard_name", "attribute |"), "c.ncz"))
        assert {"clear", "none"} <= set(await complete(written("fill cloudy", "fill |"), "c.ncz"))
        assert "unlimited" in await complete(written("time unlimited 2", "time |"), "c.ncz")
        assert {"variable", "group"} <= set(await complete(written("  group deep", "  |\n  group deep"), "c.ncz"))

    converse(scenario)


def test_names_lead_to_their_declaration_and_uses() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        async def lines_of(uri: str, mark: str, inside: int = 0, *, declared: bool = True) -> list[int]:
            params = types.ReferenceParams(**s.at(uri, mark, inside), context=types.ReferenceContext(declared))
            return [place.range.start.line for place in await s.ask(types.TEXT_DOCUMENT_REFERENCES, params)]

        async def line_of(uri: str, mark: str, inside: int = 0) -> int | None:
            params = types.DefinitionParams(**s.at(uri, mark, inside))
            place = await s.ask(types.TEXT_DOCUMENT_DEFINITION, params)
            return None if place is None else int(place.range.start.line)

        uri = s.open(CDL)
        assert await line_of(uri, "lat) ;\n  }", 1) == 6
        assert await line_of(uri, "sky = clear") == 15
        assert await line_of(uri, "sky_t sky") == 2
        assert await line_of(uri, '"depth"', 2) == 14
        assert await line_of(uri, "clear, cloudy", 1) == 2
        assert await line_of(uri, "float depth") is None
        assert await lines_of(uri, "lat = 3") == [6, 10, 15, 23]
        assert await lines_of(uri, "depth ;", declared=False) == [12]
        highlight = await s.ask(
            types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, types.DocumentHighlightParams(**s.at(uri, "temp("))
        )
        assert [one.kind for one in highlight] == [3, 2, 2, 2]
        ncz = s.open(NOTATION, "a.ncz", "nczarr")
        assert await line_of(ncz, "/lat {", 2) == 3
        assert await lines_of(ncz, "clear 0") == [1]
        assert await lines_of(ncz, "cloudy 1") == [1, 9]

    converse(scenario)


def test_renames_follow_every_use_and_refuse_clashes() -> None:
    from lsprotocol import types
    from pygls.exceptions import JsonRpcException

    async def scenario(s: Any) -> None:
        async def rename(uri: str, mark: str, name: str, inside: int = 0) -> str:
            params = types.RenameParams(**s.at(uri, mark, inside), new_name=name)
            edit = await s.ask(types.TEXT_DOCUMENT_RENAME, params)
            return str(s.edited(uri, edit.changes[uri]))

        uri = s.open(CDL)
        assert await rename(uri, "temp(", "t") == CDL.replace("temp(", "t(").replace("temp:", "t:")
        assert await rename(uri, "lat = 3", "y") == CDL.replace("lat", "y")
        renamed = await rename(uri, "time(time)", "when")
        assert renamed == CDL.replace("time", "when")
        assert await rename(uri, "depth ;", "d") == CDL.replace("depth", "d")
        assert await rename(uri, "sky_t {", "a b") == CDL.replace("sky_t", "a\\ b")
        assert await rename(uri, "clear, cloudy", "bright") == CDL.replace("clear", "bright")
        assert await rename(uri, "title", "name") == CDL.replace("title", "name")
        assert "data :" in await rename(uri, "temp(", "data")
        for mark, name, reason in (
            ("temp(", "depth", "there is a variable `/depth` already"),
            ("temp(", "deep", "there is a group `/deep` already"),
            ("temp(", "a/b", 'contains "/"'),
            ("temp(", "", "cannot be empty"),
            ("depth ;", "a b", "lists names between blanks"),
            ("float depth", "x", "no name here"),
            ("lat = 3", "_", "with the name `_`"),
        ):
            with pytest.raises(JsonRpcException, match=reason.replace("(", r"\(")):
                await rename(uri, mark, name)
        place = await s.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams(**s.at(uri, "temp:st", 1)))
        assert place.placeholder == "temp"
        nothing = types.PrepareRenameParams(**s.at(uri, "float depth"))
        assert await s.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, nothing) is None
        ncz = s.open(NOTATION, "a.ncz", "nczarr")
        assert await rename(ncz, "lat 3", "y") == NOTATION.replace("lat 3", "y 3").replace("/lat", "/y")
        assert await rename(ncz, "lat 3", "a b") == NOTATION.replace("lat 3", "a\\ b 3").replace("/lat", "/a\\ b")
        assert await rename(ncz, "cloudy 1", "grey") == NOTATION.replace("cloudy", "grey")

    converse(scenario)


def test_outline_folds_and_colours() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        def draw(symbols: Any, margin: str = "") -> list[str]:
            lines = []
            for one in symbols:
                lines.append(f"{margin}{one.name}")
                lines += draw(one.children or (), margin + " ")
            return lines

        uri = s.open(CDL)
        document = types.TextDocumentIdentifier(uri)
        outline = await s.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document))
        assert draw(outline) == [
            "sky_t", " clear", " cloudy", "point_t", " x", " y", "time", "lat", "time", " units", "temp",
            " standard_name", " coordinates", " cell_methods", "depth", "sky", "p", "title", "deep", " count",
        ]  # fmt: skip
        temp = next(one for one in outline if one.name == "temp")
        assert (temp.detail, temp.range.start.line, temp.range.end.line) == ("float(time, lat)", 10, 13)
        folds = await s.ask(types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(document))
        assert {(1, 3), (4, 6), (7, 17), (18, 20), (21, 24)} <= {(fold.start_line, fold.end_line) for fold in folds}
        legend = s.capabilities.semantic_tokens_provider.legend
        params = types.SemanticTokensParams(document)
        tokens = await s.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params)
        coloured = set()
        line = column = 0
        lines = CDL.split("\n")
        for at in range(0, len(tokens.data), 5):
            down, right, length, kind, modifiers = tokens.data[at : at + 5]
            line, column = line + down, right if down else column + right
            coloured.add((lines[line][column : column + length], legend.token_types[kind], modifiers))
        assert {
            ("temp", "variable", 1), ("temp", "variable", 0), ("lat", "parameter", 0), ("sky_t", "type", 0),
            ("clear", "enumMember", 0), ("units", "property", 1), ("float", "type", 2), ("netcdf", "keyword", 0),
            ('"An ocean"', "string", 0), ("// the temperature", "comment", 0), ("3", "number", 0),
            ("deep", "namespace", 1),
        } <= coloured  # fmt: skip
        part = types.SemanticTokensRangeParams(document, types.Range(types.Position(5, 0), types.Position(7, 0)))
        some = await s.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, part)
        assert 0 < len(some.data) < len(tokens.data)
        ncz = s.open(NOTATION, "a.ncz", "nczarr")
        document = types.TextDocumentIdentifier(ncz)
        outline = await s.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document))
        assert draw(outline) == [
            "sky_t", " clear", " cloudy", "time", "lat", "title", "temp", " standard_name", "sky", "deep",
            " count",
        ]  # fmt: skip

    converse(scenario)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("temp(time, lat)", "temp(time, latt)", "change to `lat`"),
        ("temp:coord", "tmp:coord", "change to `temp`"),
        ("float depth", "float32 depth", "change to `float`"),
        ("sky_t sky", "sky_y sky", "change to `sky_t`"),
        ("cloudy, clear", "cloudy, cleer", "change to `clear`"),
        ("  float depth ;", "  float depth", "insert `;`"),
        ("data:\n", "Data:\n", "change to `data:`"),
        ("variables:\n  double", "variable:\n  double", "change to `variables:`"),
        ("depth ;", "depth() ;", "remove `()`"),
        ("float depth ;", "float depth ;;", "remove `;`"),
        (':title = "An ocean"', ':_Format = "netCDF4s"', 'change to `"netCDF4"`'),
        (':title = "An ocean"', ":n = -08", "change to `-8`"),
        ("lat = 3 ;", "lat = 03 ;", None),
    ],
)
def test_quick_fixes_make_the_text_right(old: str, new: str, title: str | None) -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        assert old in CDL
        uri = s.open(CDL.replace(old, new, 1))
        before = await s.diagnostics(uri)
        params = types.CodeActionParams(**s.all_of(uri), context=types.CodeActionContext([]))
        actions = await s.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)
        if title is None:
            assert (before, list(actions)) == ([], [])
            return
        assert before
        action = next(one for one in actions if one.title == title)
        s.replace(uri, s.edited(uri, action.edit.changes[uri]))
        assert await s.diagnostics(uri) == []

    converse(scenario)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("/time /lat {", "/time /latt {", "change to `/lat`"),
        ("/lat {\n    attribute", "lat {\n    attribute", None),
        ("sky sky_t", "sky sky", "change to `sky_t`"),
        ("title string", "title strng", "change to `string`"),
        ("deflate", "deflat", "change to `deflate`"),
        ("variable temp", "variabel temp", "change to `variable`"),
        ("count int /lat", "count int /deep/l\\qat", None),
    ],
)
def test_quick_fixes_make_the_notation_right(old: str, new: str, title: str | None) -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        assert old in NOTATION
        uri = s.open(NOTATION.replace(old, new, 1), "a.ncz")
        assert await s.diagnostics(uri)
        params = types.CodeActionParams(**s.all_of(uri), context=types.CodeActionContext([]))
        actions = {one.title: one for one in await s.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)}
        if title is None:
            assert actions == {}
            return
        s.replace(uri, s.edited(uri, actions[title].edit.changes[uri]))
        assert await s.diagnostics(uri) == []

    converse(scenario)


def test_sizes_stand_beside_arrays() -> None:
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        for text, name in ((CDL, "a.cdl"), (NOTATION, "a.ncz")):
            uri = s.open(text, name)
            hints = await s.ask(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintParams(**s.all_of(uri)))
            labels = {(hint.label, hint.position.line) for hint in hints}
            line = next(n for n, words in enumerate(text.split("\n")) if "float" in words and "temp" in words)
            assert ("2 × 3 · 24 B", line) in labels
            hint = next(hint for hint in hints if hint.position.line == line)
            assert text.split("\n")[line][: hint.position.character].endswith((")", "/lat"))

    converse(scenario)


@pytest.mark.long
def test_formatting_is_that_of_fmt() -> None:
    from lsprotocol import types

    from nczarr.diagnostics.report import Report, Source
    from nczarr.plugins.fmt.reformat import reformat

    async def scenario(s: Any) -> None:
        for text, name in ((CDL, "a.cdl"), (NOTATION, "a.ncz"), (CDL.replace(" ;", ";").replace("  ", "\t"), "b.cdl")):
            uri = s.open(text, name)
            options = types.FormattingOptions(4, True)
            params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
            edits = await s.ask(types.TEXT_DOCUMENT_FORMATTING, params)
            formatted = reformat(Source(name, text.encode()), Report())
            assert formatted is not None
            assert s.edited(uri, edits) == formatted.decode() != text
            s.replace(uri, formatted.decode())
            assert list(await s.ask(types.TEXT_DOCUMENT_FORMATTING, params)) == []
            s.replace(uri, text[:100])
            assert await s.ask(types.TEXT_DOCUMENT_FORMATTING, params) is None

    converse(scenario)


@pytest.mark.long
def test_the_text_of_the_server_follows_every_edit() -> None:
    """Random edits of real texts: the last diagnostics are those of the text that the client has."""
    from lsprotocol import types

    from nczarr.plugins.lsp.diagnostic_list import list_diagnostics
    from nczarr.plugins.lsp.documents import TextVersion, View, analyze, find_format
    from tests.support.written_texts import list_texts

    draw = random.Random(5)

    async def scenario(s: Any) -> None:
        for path in draw.sample(list_texts(30_000), 8):
            text = path.read_bytes().decode("utf-8", "replace")
            uri = s.open(text, path.name)
            for _ in range(12):
                data = text.encode()
                lines = TextVersion(uri, 1, data, find_format(uri, "", data), "utf-16").lines  # type: ignore[arg-type]
                first = draw.randint(0, len(data))
                start = lines.position(first)
                end = lines.position(min(len(data), first + draw.choice((0, 1, 3, 30))), after=True)
                new = draw.choice(("", "x", " ;\n", '"', "{", "é𝒳", "\r\n", ": a = 1 ;"))
                s.change(uri, [types.TextDocumentContentChangePartial(types.Range(start, end), new)])
                text = (data[: lines.offset(start)] + new.encode() + data[lines.offset(end) :]).decode()
            form = find_format(uri, "", text.encode())
            assert form is not None
            version = TextVersion(uri, 1, text.encode(), form, "utf-16")
            expected = list_diagnostics(View(version, analyze(version)))
            found = await s.diagnostics(uri)
            assert [(one.code, one.range) for one in found] == [(one.code, one.range) for one in expected], path

    converse(scenario)


@pytest.mark.long
def test_the_server_survives() -> None:
    from lsprotocol import types
    from pygls.exceptions import JsonRpcException

    async def scenario(s: Any) -> None:
        uri = s.open(CDL)
        with pytest.raises(JsonRpcException, match="Method Not Found"):
            await s.ask("textDocument/nothing", types.HoverParams(**s.at(uri, "temp")))
        s.client.protocol.notify("nothing/known", None)
        for params in (
            {"textDocument": 5},
            None,
            [],
            {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [7]},
        ):
            s.client.protocol._send_data({"jsonrpc": "2.0", "method": types.TEXT_DOCUMENT_DID_CHANGE, "params": params})
        hover = types.HoverParams(types.TextDocumentIdentifier("file:///never/opened.cdl"), types.Position(0, 0))
        assert await s.ask(types.TEXT_DOCUMENT_HOVER, hover) is None
        for length in range(0, len(CDL), 5):  # typing
            s.replace(uri, CDL[:length])
        s.texts[uri] = CDL
        params = [types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(n, n)) for n in range(40)]
        await asyncio.gather(*(s.ask(types.TEXT_DOCUMENT_HOVER, one) for one in params))
        s.replace(uri, CDL)
        assert await s.diagnostics(uri) == []
        binary = s.open("\x89HDF\r\n\x1a\n\x00\x01\ud83d", "b.cdl")
        assert await s.diagnostics(binary)
        s.open("print(1)", "other.py", "python")
        s.open(CDL, "untitled", "plaintext")
        assert await s.diagnostics("file:///texts/untitled") == []
        far = types.TextDocumentContentChangePartial(types.Range(types.Position(900, 1), types.Position(999, 9)), "x")
        s.change(uri, [far])
        assert [one.code for one in await s.diagnostics(uri)] == ["trailing-text"]
        versions = [one.version for one in s.published if one.uri == uri]
        assert versions == sorted(versions)

    converse(scenario, editor="neovim@0.7.0")


@pytest.mark.long
@pytest.mark.parametrize("editor", ["neovim@0.7.0", "neovim", "emacs", "visual_studio_code"])
def test_each_editor_gets_what_it_can_show(editor: str) -> None:
    """The client fails on answers beyond the editor's capabilities."""
    from lsprotocol import types

    async def scenario(s: Any) -> None:
        uri = s.open(CDL.replace("lat)", "latt)"))
        assert await s.diagnostics(uri)
        document = types.TextDocumentIdentifier(uri)
        assert await s.ask(types.TEXT_DOCUMENT_HOVER, types.HoverParams(**s.at(uri, "temp")))
        assert await s.ask(types.TEXT_DOCUMENT_COMPLETION, types.CompletionParams(**s.at(uri, "temp:st", 5)))
        assert await s.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document))
        params = types.CodeActionParams(**s.all_of(uri), context=types.CodeActionContext([]))
        assert await s.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)

    converse(scenario, editor=editor)


def message(method: str, params: Any, number: int | None = None) -> bytes:
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        body["id"] = number
    data = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def test_refused_renames_are_answers_and_not_logged() -> None:
    document = {"uri": "file:///a.cdl"}
    text = "netcdf a { dimensions: x = 1 ; y = 2 ; }"
    renaming = {"textDocument": document, "position": {"line": 0, "character": text.index("x")}, "newName": "y"}
    sent = message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    sent += message("initialized", {})
    opened = {**document, "languageId": "cdl", "version": 1, "text": text}
    sent += message("textDocument/didOpen", {"textDocument": opened}) + message("textDocument/rename", renaming, 2)
    command = [sys.executable, "-m", "nczarr", "lsp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(sent)
        server.stdin.flush()
        answers = b""
        while b"there is a dimension `/y` already" not in answers:
            answers += server.stdout.read1()
        _, log = server.communicate(message("shutdown", None, 3) + message("exit", None), timeout=60)
    assert (server.returncode, log) == (0, b"")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "nczarr", "lsp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1))
        server.stdin.flush()
        assert server.stdout.readline().startswith(b"Content-Length")
        server.send_signal(number)
        server.wait(timeout=60)  # while its standard input stays open


@pytest.mark.long
@pytest.mark.parametrize(("farewell", "status"), [(True, 0), (False, 1)])
def test_the_status_tells_whether_the_client_said_farewell(farewell: bool, status: int) -> None:
    sent = message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    sent += message("initialized", {}) + b"Content-Length: 5\r\n\r\nhello" + b"Content-Length: 2\r\n\r\n[]"
    if farewell:
        sent += message("shutdown", None, 2) + message("exit", None)
    command = [sys.executable, "-m", "nczarr", "lsp"]
    done = subprocess.run(
        command, input=sent, capture_output=True, cwd=ROOT, check=False, env={**os.environ}, timeout=60
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.startswith(b"Content-Length")
