"""A page for each command, made from its argparse parser."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterator
from importlib import import_module

from nczarr.cli import COMMANDS

FOLDER = "reference/commands"
TITLES = {"positional arguments": "Arguments"}
"""Titles of argparse that read badly."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of each page: the list of commands, then one page a command."""
    yield f"{FOLDER}/index.md", _index()
    for name, (module, line) in COMMANDS.items():
        yield f"{FOLDER}/{name}.md", _page(name, line, import_module(module).parser())


def _index() -> str:
    rows = "".join(f"| [`nczarr {name}`]({name}.md) | {_sentence(line)} |\n" for name, (_, line) in COMMANDS.items())
    return f"""# Commands

Look up a command and its options here. `nczarr COMMAND --help` prints the same text.

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


def _page(name: str, line: str, parser: argparse.ArgumentParser) -> str:
    """Return the page of a command. Verbs of a command are sections of its page."""
    parts = [f"---\ntitle: nczarr {name}\ndescription: {_sentence(line)}\n---\n\n# nczarr {name}\n\n"]
    parts += _described(parser, "##")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, below in action.choices.items():
                parts.append(f"## nczarr {name} {verb}\n\n")
                parts += _described(below, "###")
    return "".join(parts)


def _described(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    """Yield description, usage, the groups of options, and the epilog."""
    if parser.description:
        yield f"{_prose(parser.description)}\n\n"
    yield f"```text\n{_usage(parser)}\n```\n\n"
    for group in parser._action_groups:
        shown = [each for each in group._group_actions if each.help != argparse.SUPPRESS]
        if not shown:
            continue
        yield f"{level} {_title(group.title or 'Options')}\n\n"
        if group.description:
            yield f"{_prose(group.description)}\n\n"
        for action in shown:
            yield from _option(parser, action)
    if parser.epilog:
        yield f"{level} Examples\n\n```text\n{parser.epilog.strip()}\n```\n\n"


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage line with required arguments alone; options have their own section."""
    optional = any(action.option_strings for action in parser._actions)
    given = [
        " ".join(filter(None, [action.option_strings[0] if action.option_strings else "", _value(parser, action)]))
        for action in parser._actions
        if not action.option_strings or action.required
    ]
    return " ".join([parser.prog, *(["[OPTION]…"] if optional else []), *given])


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    """Yield one option as a definition: its spellings with their value, then the help text."""
    if isinstance(action, argparse._SubParsersAction):
        for verb in action._choices_actions:
            yield f"`{verb.dest}`\n:   {_sentence(_prose(verb.help or ''))}\n\n"
        return
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
