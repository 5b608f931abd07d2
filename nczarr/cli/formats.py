"""`nczarr formats`: list the formats with their capabilities."""

import argparse
import sys
from collections.abc import Iterator

from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.options import TEXT
from nczarr.registry import ALL_ATOMIC, USER_TYPES, Capabilities, Format

HEADINGS = ("format", "what it is", "suffixes", "reads", "writes", "keeps")

EXAMPLES = (("list the formats", "formats"), ("make a table for a Markdown page", "formats --as markdown"))


def parser() -> Command:
    """Return the parser of `formats`."""
    subparser = Command(
        "formats", "[OPTION]…", "List the formats that can be read and written, and what each one keeps.", EXAMPLES
    )
    subparser.option(
        TEXT,
        "--as",
        dest="form",
        choices=("text", "markdown"),
        default="text",
        help="form of the table (default: text)",
    )
    return subparser.complete()


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    return Messages(options).guard(lambda: _print(options.form))


def _print(form_of_table: str) -> None:
    from nczarr import registry

    rows = [row(form) for form in registry.formats()]
    sys.stdout.writelines(markdown(rows) if form_of_table == "markdown" else plain(rows))


def row(form: Format) -> tuple[str, ...]:
    """Return the table cells of one format."""
    yes = {True: "yes", False: "–"}
    writes = yes[form.writable]
    return form.name, form.title, " ".join(form.suffixes), yes[form.readable], writes, _describe_kept(form)


def _describe_kept(form: Format) -> str:
    """Return what a format preserves, and the page that lists its losses."""
    return keeps(form.capabilities) + (f"; see {form.spec}" if form.losses else "")


def keeps(capabilities: Capabilities) -> str:
    """Return what a format preserves of the model: `all`, or `all but` with names."""
    missing = [
        *_list_types("type", ALL_ATOMIC - capabilities.atomic),
        *_list_types("type", USER_TYPES - capabilities.user_types),
    ]
    if capabilities.unlimited != "any":
        missing.append(
            "unlimited dimensions" if capabilities.unlimited == "none" else "more than one unlimited dimension"
        )
    for member, words in (
        ("attribute_user_types", "attributes of user types"),
        ("groups", "groups"),
        ("anonymous_dimensions", "anonymous dimensions"),
        ("shared_dimensions", "shared dimensions"),
        ("unused_dimensions", "unused dimensions"),
        ("typed_attributes", "types of attributes"),
        ("definition_order", "order of definition"),
        ("storage", "storage"),
        ("kind", "kind of file"),
        ("data", "data"),
    ):
        if not getattr(capabilities, member):
            missing.append(words)
    return "all but " + ", ".join(missing) if missing else "all"


def _list_types(word: str, names: frozenset[str]) -> list[str]:
    return [f"{word}{'s' if len(names) > 1 else ''} {' '.join(sorted(names))}"] if names else []


def markdown(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the table as Markdown, for README.md and docs/reference/formats/index.md."""
    yield "| " + " | ".join(HEADINGS) + " |\n"
    yield "|" + "---|" * len(HEADINGS) + "\n"
    for name, title, suffixes, *rest in rows:
        marked = " ".join(f"`{suffix}`" for suffix in suffixes.split())
        yield "| " + " | ".join((f"`{name}`", title, marked, *rest)) + " |\n"


def plain(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the table for a terminal, in aligned columns."""
    table = [HEADINGS, *rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEADINGS))]
    for cells in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"
