"""A page for each command, made from its argparse parser."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterator

from nczarr.cli import list_commands, parser_of
from nczarr.cli.parser import Command

FOLDER = "reference/commands"
TITLES = {"positional arguments": "Arguments"}
"""Titles of argparse that read badly."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of each page: the list of commands, then one page a command."""
    yield f"{FOLDER}/index.md", _index()
    for name, row in list_commands().items():
        yield f"{FOLDER}/{_file(name)}", _page(name, row.line, parser_of(name))


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _index() -> str:
    rows = "".join(
        f"| [`nczarr {name}`]({_file(name)}) | {_sentence(row.line)} |\n" for name, row in list_commands().items()
    )
    return f"""# Commands

Look up a command and its options here. `nczarr COMMAND --help all` prints the same text.

| command | purpose |
|---|---|
{rows}
Commands write their product to standard output and diagnostics to standard error. The exit status is

| status | meaning |
|---|---|
| 0 | done |
| 1 | the input has errors, or two datasets differ |
| 2 | wrong usage, or the target exists already |
| 3 | a file, server or library is unavailable |
| 130 | interrupted |
"""


def _page(name: str, line: str, parser: Command) -> str:
    """Return the page of a command."""
    head = f"---\ntitle: nczarr {name}\ndescription: {_sentence(line)}\n---\n\n# nczarr {name}\n\n"
    return head + "".join(_described(parser))


def _described(parser: Command) -> Iterator[str]:
    """Yield description, usage, the sections of options, and the examples."""
    yield f"{_prose(parser.description or '')}\n\n```text\n{parser.usage}\n```\n\n"
    for title, actions in parser.sections():
        yield f"## {_title(title)}\n\n"
        for action in actions:
            yield from _option(parser, action)
    yield "## Examples\n\n"
    for text, call in parser.examples:
        yield f"{_title(text)}:\n\n```sh\nnczarr {call}\n```\n\n"


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    """Yield one option as a definition: its spellings with their value, then the help text."""
    value = _value(parser, action)
    names = [f"{name} {value}".strip() for name in action.option_strings] or [value]
    yield ", ".join(f"`{name}`" for name in names) + "\n"
    text = _sentence(_prose(_help(parser, action)))
    if action.choices and action.metavar:
        text += f" One of {', '.join(f'`{each}`' for each in action.choices)}."
    yield f":   {text.strip() or '–'}\n\n"


def _value(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the placeholder of an option's value, as argparse prints it."""
    if action.option_strings and action.nargs == 0:
        return ""
    formatter = parser._get_formatter()
    if not action.option_strings:
        return formatter._format_args(action, formatter._get_default_metavar_for_positional(action))
    return formatter._format_args(action, formatter._get_default_metavar_for_optional(action))


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _prose(text: str) -> str:
    """Return help text as Markdown: options and words in capitals as code, nothing else as markup."""
    text = html.escape(text, quote=False).replace("*", "\\*").replace("_", "\\_")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part.replace("\\", "") if part.startswith("`") else re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", part)
        for part in parts
    )


def _title(text: str) -> str:
    return TITLES.get(text, text[:1].upper() + text[1:])


def _sentence(text: str) -> str:
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "…", ":")) else ".")
