"""The language server over real and damaged files: no exception, no place outside of the text; renames are exact."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcInvalidParams

from nczarr.ast.dataset import groups
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.fmt.reformat import reformat
from nczarr.plugins.lsp.appearance import list_edits
from nczarr.plugins.lsp.diagnostic_list import list_diagnostics
from nczarr.plugins.lsp.documents import TextVersion, View, analyze, find_format, to_bytes
from nczarr.plugins.lsp.navigation import apply_edits, rename
from nczarr.plugins.lsp.server import FEATURES
from nczarr.semantics.checked import Checked
from tests.support.proof import WHOLE
from tests.support.written_texts import list_texts

NEW_NAMES = ("abc_new", "x y", "é", "1st", "data", "_", "zz.a", "int", "a/b", "", "time", "lat")
PIECES = (
    '"', ";", "{", "}", "(", ":", "=", "\\", "/", "é", "𝒳", "\0", "//", "/*", "group: ", "data:", "x", "\r", "\u2028",
    "\ud83d", ",", "enum", "\x0c", "\\q",
)  # fmt: skip
LONGEST = 200_000 if WHOLE else 60_000
"""Bytes of the longest texts; those above 60 kB take half of the time."""


def damage(text: str, draw: random.Random) -> str:
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(text))
        match draw.randint(0, 5):
            case 0 | 1:
                text = text[:at] + text[at + draw.choice((1, 1, 2, 5, 20, 100)) :]
            case 2 | 3:
                text = text[:at] + draw.choice(PIECES) + text[at:]
            case 4:
                text = text[:at]
            case _:
                other = draw.randint(0, len(text))
                text = text[:at] + text[other : other + 30] + text[at:]
    return text


def make_params(method: str, text: TextVersion, draw: random.Random) -> Any:
    document = types.TextDocumentIdentifier(text.uri)

    def place() -> types.Position:
        if text.index.entries and draw.random() < 0.7:
            mention = draw.choice(text.index.entries).mention
            return text.lines.position(draw.randint(mention.start, mention.end))
        return types.Position(draw.randint(0, len(text.lines.starts) + 1), draw.choice((0, draw.randint(0, 80))))

    members: dict[str, Any] = {"text_document": document, "position": place()}
    first, last = sorted([place(), place()])
    match method:
        case types.TEXT_DOCUMENT_REFERENCES:
            return types.ReferenceParams(**members, context=types.ReferenceContext(True))
        case types.TEXT_DOCUMENT_COMPLETION:
            trigger = draw.choice((None, ",", ":", '"'))
            kind = types.CompletionTriggerKind.Invoked
            return types.CompletionParams(**members, context=types.CompletionContext(kind, trigger))
        case types.TEXT_DOCUMENT_RENAME:
            return types.RenameParams(**members, new_name=draw.choice(NEW_NAMES))
        case types.TEXT_DOCUMENT_CODE_ACTION:
            return types.CodeActionParams(document, types.Range(first, last), types.CodeActionContext([]))
        case types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE:
            return types.SemanticTokensRangeParams(document, types.Range(first, last))
        case types.TEXT_DOCUMENT_INLAY_HINT:
            return types.InlayHintParams(document, types.Range(first, last))
        case types.TEXT_DOCUMENT_DOCUMENT_SYMBOL | types.TEXT_DOCUMENT_FOLDING_RANGE:
            return types.DocumentSymbolParams(document)
        case types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL | types.TEXT_DOCUMENT_FORMATTING:
            return types.SemanticTokensParams(document)
    return types.HoverParams(**members)


def list_ranges(answer: Any) -> Iterator[types.Range]:
    if isinstance(answer, types.Range):
        yield answer
    elif isinstance(answer, list | tuple):
        for item in answer:
            yield from list_ranges(item)
    elif isinstance(answer, dict):
        yield from list_ranges(list(answer.values()))
    elif hasattr(answer, "__attrs_attrs__"):
        for attribute in answer.__attrs_attrs__:
            yield from list_ranges(getattr(answer, attribute.name))


def check_places(text: TextVersion, answer: Any) -> None:
    """Every range lies in the text, between characters."""
    for one in list_ranges(answer):
        for place in (one.start, one.end):
            assert text.lines.position(text.lines.offset(place)) == place
        assert one.start <= one.end
    if isinstance(answer, types.SemanticTokens):
        line = column = 0
        for at in range(0, len(answer.data), 5):
            down, right, length, *_ = answer.data[at : at + 5]
            line, column = line + down, right if down else column + right
            assert min(down, right) >= 0
            assert length > 0
            assert column + length <= text.lines.length_of(line)


CONVERTER = converters.get_converter()


def try_texts(seed: int, number: int) -> int:
    """Ask everything about some texts; return how many answers were not empty."""
    draw, paths, answered = random.Random(seed), list_texts(LONGEST), 0
    for _ in range(number):
        path = draw.choice(paths)
        written = path.read_bytes().decode("utf-8", "replace")
        data = to_bytes(written if draw.random() < 0.2 else damage(written, draw))
        form = find_format(path.as_uri(), "", data)
        assert form is not None
        text = TextVersion(path.as_uri(), 1, data, form, draw.choice(("utf-16", "utf-8", "utf-32")))
        view = View(text, analyze(text))
        check_places(text, list_diagnostics(view))
        for feature in FEATURES:
            for _ in range(2):
                params = make_params(feature.method, text, draw)
                try:
                    answer = feature.answer(view, params)
                except JsonRpcInvalidParams:
                    continue
                check_places(text, answer)
                json.dumps(CONVERTER.unstructure(answer), ensure_ascii=False).encode()
                answered += bool(answer)
    return answered


@pytest.mark.long
def test_formatting_edits_make_the_formatted_text() -> None:
    draw = random.Random(0)
    formatted = 0
    texts = list_texts(LONGEST)
    for path in draw.sample(texts, min(60, len(texts))):
        data = path.read_bytes()
        form = find_format(path.as_uri(), "", data)
        assert form is not None
        text = TextVersion(path.as_uri(), 1, data, form, "utf-8")
        result = reformat(Source(path.as_uri(), data), Report())
        if result is None:
            continue
        edits = list_edits(View(text, analyze(text)), result)
        changes = [(*map(text.lines.offset, (one.range.start, one.range.end)), one.new_text.encode()) for one in edits]
        assert apply_edits(data, changes) == result
        formatted += bool(changes)
    assert formatted > 10


@pytest.mark.long
def test_some_damaged_texts_answer_every_request() -> None:
    assert try_texts(0, 60) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_damaged_texts_answer_every_request(seed: int) -> None:
    assert try_texts(seed, 500) > 4000


def names_in(checked: Checked) -> list[tuple[str, ...]]:
    """All names of a tree, by their places in it."""
    lists = []
    for _, group in groups(checked.dataset):
        kinds = (group.types, group.dimensions, group.variables, group.attributes, group.groups)
        lists += [tuple(member.name for member in members) for members in kinds]
        lists += [tuple(attribute.name for attribute in variable.attributes) for variable in group.variables]
    return lists


def rename_some(seed: int, number: int) -> int:
    """Rename random items of valid texts: the dataset is the same but for the name; return how many were renamed."""
    draw, paths, renamed = random.Random(seed), list_texts(LONGEST), 0
    while number:
        path = draw.choice(paths)
        data = path.read_bytes()
        form = find_format(path.as_uri(), "", data)
        assert form is not None
        before = phases.read(Source(str(path), data), Report(), Options(), form)
        if before is None:
            continue
        number -= 1
        text = TextVersion(path.as_uri(), 1, data, form, "utf-8")
        view, items = View(text, analyze(text)), [entry for entry in text.index.entries if entry.key is not None]
        for entry in draw.sample(items, min(3, len(items))):
            name = draw.choice(NEW_NAMES)
            params = types.RenameParams(
                types.TextDocumentIdentifier(text.uri), text.lines.position(entry.mention.start), name
            )
            try:
                edits = rename(view, params).changes
            except JsonRpcInvalidParams:
                continue
            assert edits is not None
            assert entry.key is not None
            changes = [
                (text.lines.offset(edit.range.start), text.lines.offset(edit.range.end), edit.new_text.encode())
                for edit in edits[text.uri]
            ]
            after = phases.read(Source(str(path), apply_edits(data, changes)), Report(), Options(), form)
            assert after is not None, (path, entry, name)
            lists = names_in(before), names_in(after)
            assert list(map(len, lists[0])) == list(map(len, lists[1])), (path, entry, name)
            changed = {pair for pairs in zip(*lists, strict=True) for pair in zip(*pairs, strict=True)}
            assert {(old, new) for old, new in changed if old != new} <= {(entry.key.name, name)}, (path, entry, name)
            assert list(before.shapes.values()) == list(after.shapes.values())
            if entry.key.role != "attribute":  # another name than `_FillValue` is no fill value
                fills = [
                    [fill.data for fill in one.fills.values() if fill and isinstance(fill.data, bytes)]
                    for one in (before, after)
                ]
                assert fills[0] == fills[1], (path, entry, name)
            assert len(before.parts) == len(after.parts)
            coordinates, others = (
                [one.dimensions == (fqn,) for fqn, one in checked.variables.items()] for checked in (before, after)
            )
            assert all(later or not earlier for earlier, later in zip(coordinates, others, strict=True)), (path, entry)
            renamed += 1
    return renamed


@pytest.mark.long
def test_renames_change_a_name_and_nothing_else() -> None:
    assert rename_some(0, 40) > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_renames_change_a_name_and_nothing_else(seed: int) -> None:
    assert rename_some(seed, 400) > 600
