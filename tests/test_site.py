"""Tests of the pages that the site makes from code, of terminal sessions, and of the list of pages."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

from nczarr import registry
from nczarr.cli import list_commands
from nczarr.diagnostics.catalog import CODES, KINDS
from tests.conftest import ROOT
from tests.support.plugins import EVERY

sys.path.insert(0, str(ROOT / "docs" / "_tools"))

from pages import changelog, codes, commands, grammars, sessions

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_a_session_is_what_a_terminal_shows() -> None:
    block = "% nczarr check -\n<<\nnetcdf t {\n}\n^D\n2> 1 error\n=> 1\n% ls a.zarr\nlat\n"
    assert sessions.block(block) == (
        "```console\n$ nczarr check - <<'EOF'\nnetcdf t {\n}\nEOF\n1 error\n```\n\n"
        '<p class="exit-status">exit status 1</p>\n\n'
        "```console\n$ ls a.zarr\nlat\n```\n\n"
    )


def test_the_head_names_the_release_and_links_the_changelog() -> None:
    head = (ROOT / "docs" / "_tools" / "theme" / "main.html").read_text(encoding="utf-8")
    ((path, text),) = changelog.pages()
    assert text == (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"'{path.removesuffix('.md')}/' | url" in head
    assert f"Changelog: {path}" in CONFIGURATION
    assert "custom_dir: docs/_tools/theme" in CONFIGURATION
    assert "config.extra.release" in head


@pytest.mark.parametrize("stem", grammars.PAGES)
def test_every_rule_of_a_grammar_is_read(stem: str) -> None:
    text = grammars.grammar_text(stem)
    found = grammars.rules(text)
    without_comments = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    named = re.findall(r"(?:^|; *)(?:fragment +)?([A-Za-z_]\w*)\s*:(?!')", without_comments, flags=re.MULTILINE)
    assert [rule.name for rule in found] == named
    defined = {rule.name for rule in found} | {"EOF", "VALUES", "SIMPLE"}
    assert {name for rule in found for name in _used(rule.body)} <= defined


def _used(node: grammars.Node) -> list[str]:
    own = [node.text] if node.kind == "rule" else []
    return own + [name for part in node.parts for name in _used(part)]


def test_a_rule_as_a_tree() -> None:
    (rule,) = grammars.rules("grammar G;\n/** Some\n * words. */\nshape : '(' ( x ( ',' x )* )? ')' ;")
    assert rule.comment == "Some words."
    assert grammars.listed(rule.body) == grammars.Node(
        "sequence",
        (
            grammars.Node("word", text="("),
            grammars.Node(
                "optional",
                (grammars.Node("list", (grammars.Node("rule", text="x"), grammars.Node("word", text=","))),),
            ),
            grammars.Node("word", text=")"),
        ),
    )
    with pytest.raises(ValueError, match="cannot begin"):
        grammars.rules("a : : ;")


def test_every_code_has_a_page_and_stands_in_the_index() -> None:
    made = dict(codes.pages())
    wanted = {f"{name}.md" for name in CODES} | {f"differences/{name}.md" for name in KINDS}
    assert {path.removeprefix(f"{codes.FOLDER}/") for path in made} == wanted | {"index.md"}
    index = made[f"{codes.FOLDER}/index.md"]
    assert all(f"]({path})" in index for path in wanted)


def test_every_command_has_a_page() -> None:
    made = dict(commands.pages())
    assert set(made) == {f"{commands.FOLDER}/{name.replace(' ', '-')}.md" for name in ("index", *list_commands())}
    for path in made:
        assert path in CONFIGURATION


@pytest.mark.parametrize(
    ("command", "option"),
    [("convert", "--allow-loss"), pytest.param("refs-verify", "--chunks", marks=pytest.mark.plugin("refs"))],
)
def test_the_page_of_a_command_has_every_option(command: str, option: str) -> None:
    assert f"`{option}" in dict(commands.pages())[f"{commands.FOLDER}/{command}.md"]


def test_every_format_has_a_page() -> None:
    missing = [form.name for form in registry.formats() if not _page(f"reference/formats/{form.name}.md").exists()]
    assert not missing


def _page(path: str) -> Path:
    return ROOT / "docs" / path


@EVERY
def test_links_between_pages_resolve() -> None:
    """`make site` checks anchors and generated pages as well; this needs no MkDocs."""
    generated, wrong = _generated(), []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", text):
            found = (page.parent / target).resolve()
            if not found.exists() and found.relative_to(ROOT / "docs").as_posix() not in generated:
                wrong.append(f"{page.name}: {target}")
    assert wrong == []


@cache
def _generated() -> set[str]:
    return {path for maker in (codes, commands, grammars) for path in _paths(maker)}


def _paths(maker: object) -> set[str]:
    if maker is grammars:
        return {f"{grammars.FOLDER}/{name}.md" for name, _, _ in grammars.PAGES.values()}
    return {path for path, _ in maker.pages()}  # type: ignore[attr-defined]


HOW_TO = sorted(path for path in (ROOT / "docs" / "how-to").glob("*.md") if path.name != "index.md")
FOLDED = re.compile(
    r"^<details markdown=\"1\">\n<summary>.+</summary>\n\n.*?\n\n</details>\n", re.MULTILINE | re.DOTALL
)
SCREEN = 25
"""Lines of a page that a reader sees without scrolling."""


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_how_to_page_begins_with_what_to_type(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<details") == len(FOLDED.findall(text))
    shown = FOLDED.sub("", text).splitlines()
    assert any(re.match(r"```\w", line) for line in shown[:SCREEN])


def test_the_groups_of_how_to_pages_are_those_of_the_navigation() -> None:
    index = (ROOT / "docs" / "how-to" / "index.md").read_text(encoding="utf-8")
    nav = CONFIGURATION[CONFIGURATION.index("  - How-to:\n") : CONFIGURATION.index("  - Reference:\n")]
    listed = re.findall(r"^## (.+)$|^\| .+ \| \[.+\]\(([\w-]+)\.md\) \|$", index, re.MULTILINE)
    assert listed == re.findall(r"^ {6}- (.+):$|^ {10}- .+: how-to/([\w-]+)\.md$", nav, re.MULTILINE)
    assert sorted(name for _, name in listed if name) == sorted(page.stem for page in HOW_TO)


def test_the_readme_has_the_figures_of_make_compare() -> None:
    page = (ROOT / "docs" / "explanation" / "exactness.md").read_text(encoding="utf-8")
    compared = page[page.index("<!-- compare -->") : page.index("<!-- end -->")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) ([a-z].*): identical .* \| (\d+) \| nccopy .*: (\d+), xarray .*: (\d+) \|$", readme, re.MULTILINE
    )
    assert len(rows) == 2
    for total, title, *identical in rows:
        table = compared[compared.index(f"\n{total} {title} (") :]
        tools = ("nczarr", "nccopy", "xarray")
        found = [re.search(rf"^\| {tool} \| {total} \| (\d+) \|", table, re.MULTILINE) for tool in tools]
        assert [each and each[1] for each in found] == identical
    assert re.findall(r"measured on ([\d-]+)", readme) == re.findall(r"Measured on ([\d-]+)", compared)
