"""Data dictionaries show each name and text as it is, and NcML is read back as what it was made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.plugins.generate.data_dictionary import write_code
from tests.support.generated import HOSTILE, SAMPLES, find_sample

TAGS = set(
    "html meta title style nav ul li a h1 h2 svg path text g rect section table caption thead tbody tr th td code "
    "span".split()
)


class PageReader(HTMLParser):
    """Tags, attributes, and texts of cells of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "rect", "path"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        assert tag not in ("meta", "rect", "path")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data


def list_names(schema: nczarr.DatasetHandle) -> set[str]:
    """Return names of variables and dimensions, and texts without control characters."""
    found = {nczarr.names.last(path) for path in (*schema, *schema.checked.dimensions)}
    for path in schema:
        values = [attribute for attribute in schema[path].attributes.values() if isinstance(attribute, str)]
        found |= {text.strip() for text in values if text.isprintable()}
    return found


@pytest.mark.parametrize("text", [HOSTILE, *(path.read_text("utf-8") for path in SAMPLES)])
def test_pages_of_html_are_sound(text: str) -> None:
    schema = nczarr.from_cdl(text)
    [page] = nczarr.generate("html", schema).values()
    reader = PageReader()
    reader.feed(page)
    assert reader.open == []
    assert set(reader.tags) <= TAGS
    assert not {name for name in reader.attributes if name.startswith("on")}
    assert list_names(schema) <= set(reader.cells)
    assert reader.tags["rect"] == len(schema.checked.dimensions) + len(list(schema))
    assert re.search(r"https?:|src=", re.sub(r"<td.*?</td>", "", page)) is None, "the page needs no other file"


@pytest.mark.parametrize("text", [HOSTILE, *(path.read_text("utf-8") for path in SAMPLES)])
def test_pages_of_markdown_show_names_and_texts(text: str, peer: Callable[[str], ModuleType]) -> None:
    schema = nczarr.from_cdl(text)
    [page] = nczarr.generate("markdown", schema).values()
    shown = peer("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    reader = PageReader()
    reader.feed(shown)
    assert set(reader.tags) <= {*TAGS, "p"}
    assert reader.tags["tr"] == page.count("\n|") - page.count("\n|---"), "each line of a table is a row"
    assert list_names(schema) <= set(reader.cells)


def test_names_in_code_of_markdown(peer: Callable[[str], ModuleType]) -> None:
    renderer = peer("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    for name in ("a|b", "a\\|<b>", "`", "a``b`", "\\", "*a*", "<b>"):
        reader = PageReader()
        reader.feed(renderer.render(f"| a | b |\n|---|---|\n| {write_code(name)} | c |\n"))
        assert reader.cells == [name, "c"]


@pytest.mark.plugin("ncml")
@pytest.mark.parametrize("number", ["01", "04", "07", "08"])
def test_ncml_is_read_back(number: str, tmp_path: Path) -> None:
    schema = nczarr.open(find_sample(number))
    [(name, text)] = nczarr.generate("ncml", schema).items()
    (tmp_path / name).write_text(text, encoding="utf-8")
    kinds = {one.kind for one in nczarr.diff(schema, nczarr.open(tmp_path / name))}
    assert kinds <= {"values"}, "values are not declarations"
