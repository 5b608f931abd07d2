"""Completion offers the word that a text has at a place: where it is left out, and where the text ends before it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from nczarr.plugins.lsp.completion import complete
from nczarr.plugins.lsp.documents import Analysis, TextVersion, View, find_format
from nczarr.plugins.lsp.hover import ATTRIBUTES
from nczarr.plugins.lsp.names_index import IndexEntry
from nczarr.registry import Format
from tests.support.proof import part, share
from tests.support.written_texts import list_texts


def offer(data: bytes, form: Format, offset: int) -> list[str]:
    """The labels that are offered at an offset, without a result of the pipeline."""
    text = TextVersion("file:///a", 1, data, form, "utf-8")
    params = types.CompletionParams(types.TextDocumentIdentifier("a"), text.lines.position(offset))
    return [item.label for item in complete(View(text, Analysis(text, [], None, 0)), params).items]


def list_words(text: TextVersion) -> Iterator[tuple[IndexEntry, str]]:
    """Yield the uses of names in a text that completion should know, each with its name."""
    for entry in text.index.entries:
        mention = entry.mention
        if mention.role == "atomic":
            if text.data[mention.start : mention.end] == mention.name.encode():  # not `long`, which is an old word
                yield entry, mention.name
        elif mention.role == "attribute":
            is_single = entry.key is not None and len(text.index.by_key[entry.key]) == 1
            if mention.extent is not None and is_single and mention.name in ATTRIBUTES:
                yield entry, mention.name
        elif entry.key is not None and mention.extent is None and not entry.quoted and entry.key.role != "group":
            if b"." in (text.data[mention.start - 1 : mention.start], text.data[mention.end : mention.end + 1]):
                continue  # `sky.clear`
            declared = text.index.declaration(entry.key)
            if declared is None or declared.start > mention.start:
                continue  # the notation has types before their declaration
            is_second = mention.role == "variable" and mention.value is None  # of `T v:a`, where a new name may stand
            if not is_second:
                yield entry, entry.key.name


def try_words(paths: list[Path], number: int, draw: random.Random) -> int:
    """Look for some words of each text; return how many."""
    tried, misses = 0, []
    for path in paths:
        data = path.read_bytes()
        form = find_format(path.as_uri(), "", data)
        assert form is not None
        text = TextVersion("file:///a", 1, data, form, "utf-8")
        words = list(list_words(text))
        for entry, name in draw.sample(words, min(number, len(words))):
            start, end = entry.mention.start, entry.mention.end
            if not data[start:end].isascii() or data[start] == 0x5C:
                continue
            labels = {name, entry.key.path if entry.key is not None else name}
            for typed in (0, 1):
                for rest in (data[end:], b""):
                    offered = offer(data[: start + typed] + rest, form, start + typed)
                    if not labels & set(offered):
                        misses.append((path.name, name, start, typed, rest[:20], offered[:10]))
            tried += 1
    assert misses == []
    return tried


def is_sound(path: Path) -> bool:
    """Whether a text is a whole one; faults before a place may hide what is declared."""
    from nczarr.diagnostics.report import Report, Source
    from nczarr.options import Options
    from nczarr.pipeline import phases

    return phases.read(Source(str(path), path.read_bytes()), Report(), Options()) is not None


@pytest.mark.long
def test_some_words_are_offered_at_their_places() -> None:
    draw = random.Random(0)
    texts = list_texts(30_000)
    paths = [path for path in draw.sample(texts, min(50, len(texts))) if is_sound(path)]
    assert try_words(paths, 8, draw) > 150


@pytest.mark.slow
def test_many_words_are_offered_at_their_places() -> None:
    paths = [path for path in part(list_texts(30_000)) if is_sound(path)]
    assert try_words(paths, 40, random.Random(1)) > share(5000)
