"""Plugins that were removed: tests that need them skip visibly. `make deletable` removes each in turn.

`tests/conftest.py` skips what the mark `plugin("combine")` says, modules that import an absent plugin, and a test that
fails after it asked for something that only an absent plugin offers: a command, a public name, a format, a check. Pages
whose wanted output differs only in lines that an absent plugin makes skip too (`note_lost`).
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import pytest

from nczarr.plugins import OFFERS

ROOT = Path(__file__).resolve().parents[2]
ABSENT = frozenset(name for name in OFFERS if not (ROOT / "nczarr" / "plugins" / name / "plugin.py").exists())
"""Built-in plugins that were removed."""

SUFFIXES = {"ncs": "ncstream", "awkd": "awkward0", "dmrpp": "opendap", "ncml": "ncml", "dods": "opendap"}
"""Plugins by the suffixes of their targets and sources."""

MESSAGES = {
    "command": r"unknown command `(?:refs )?{0}`",
    "name": (
        r"(?:module 'nczarr[\w.]*' has no attribute|No module named) '(?:nczarr\.)?(?:refs\.)?{0}'"
        r"|cannot import name '{0}' from 'nczarr"
    ),
    "format": r"format `{0}` does not name a format|'{0}' is not a reader or a format",
    "check": r"invalid choice: '{0}'|'{0}' is not a reader|`{0}` is not a reader",
    "convention": (
        r"unrecognized arguments: --{0}\b|no option `?--{0}"
        r"|(?:checks|has) the convention `{0}`|`{0}` is not a code"
    ),
    "declaration": r"`{0}` is not a convention|`?{0}`? is no convention|makes declarations of `{0}`",
    "location": r"the suffix of `{0}:|No such file or directory: '(?:[^']*/)?{0}:",
    "object": r"or an object of xarray, not (?:Dataset|DataArray|DataTree|DataFrame|Series)\b",
    "codec": r"`(?:numcodecs\.)?{0}`",
    "template": r"templates and generators need a plugin",
    "place": r"URLs need a plugin for remote places",
    "schema_check": r"unrecognized arguments:.* --{0}\b|unrecognized arguments: --{0}\b|has the schema check `{0}`",
    "data_check": r"has the data check `data`",
    "judgement": r"unrecognized arguments: --{0}\b",
    "product": r"unrecognized arguments: --{0}\b",
    "emission": r"`{0}` is not a phase",
    "explanation": r"no plugin of this installation explains {0}s",
    "schema_reader": r"unrecognized arguments: --define\b|compiles several schemas as one",
    "wrapper": (
        r"unrecognized arguments: --(?:against|depfile|if-changed|watch|sample|flatten-groups|restore-groups)\b"
        r"|--data belongs to --schema"
    ),
    "change": r"`--{0}` needs a plugin",
    "comparison": r"unrecognized arguments: --{0}\b|has the comparison `{0}`",
}
"""Patterns of the messages about unknown things, by kind; `{0}` is the name of the thing."""

LINES = {
    "edit": r"formats that can be edited: (?:.*, )?{0}(?:,|$)",
    "format": r"help: write .*`{0}`|formats that can be edited: (?:.*, )?{0}(?:,|$)",
    "verification": r", verified with \w",
}
"""Patterns of lines of wanted output that are otherwise without the thing, by kind; `{0}` is its name."""

ENGINE = re.compile(r"unrecognized engine '?nczarr")
"""Message of xarray if our engine is missing."""

EVERY = pytest.mark.plugin(*OFFERS)
"""Mark of tests about all plugins, such as rules with a table that names them, and pages that list what they add."""

asked: set[str] = set()
"""Absent plugins that the running test asked for."""


def _make_patterns(kinds: Mapping[str, str], absent: Collection[str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield what some plugins offer of some kinds as patterns, each with the name of the plugin."""
    for name in absent:
        for kind, _, offer in (each.partition(" ") for each in OFFERS[name]):
            if kind in kinds:
                text = re.escape(offer.removeprefix("refs ").removeprefix("refs."))
                yield name, re.compile(kinds[kind].format(text))


@cache
def _list_patterns(absent: frozenset[str]) -> list[tuple[str, re.Pattern[str]]]:
    suffixes = [(name, re.compile(rf"[\w/.-]+\.{end}\W")) for end, name in SUFFIXES.items() if name in absent]
    return [*_make_patterns(MESSAGES, absent), *suffixes, *([("xarray", ENGINE)] if "xarray" in absent else [])]


def find_asked(text: str, absent: frozenset[str] = ABSENT) -> set[str]:
    """Return the absent plugins of which a message says that something of theirs is unknown."""
    return {name for name, pattern in _list_patterns(absent) if pattern.search(text)}


def find_lost(wanted: str, found: str, absent: frozenset[str] = ABSENT) -> set[str]:
    """Return the absent plugins that make all lines in which a wanted output differs; none if one line is otherwise."""
    patterns, lost = list(_make_patterns(LINES, absent)), set[str]()
    old, new = wanted.splitlines(), found.splitlines()
    for kind, start, end, other_start, other_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            makers = [{name for name, pattern in patterns if pattern.search(line)} for line in old[start:end]]
            if not all(makers) or other_end - other_start > end - start:
                return set()
            lost.update(*makers)
    return lost


def note_asked(text: str) -> None:
    """Note the absent plugins of which a message says that something of theirs is unknown."""
    asked.update(find_asked(text))


def note_lost(wanted: str, found: str) -> None:
    """Note the absent plugins that make all lines in which a wanted output differs."""
    asked.update(find_lost(wanted, found) if ABSENT else ())


def offered(*formats: str) -> tuple[str, ...]:
    """Return those of some formats that the plugins offer which are there, for tests of several formats at once."""
    absent = {offer for name in ABSENT for offer in OFFERS[name]}
    return tuple(name for name in formats if f"format {name}" not in absent)


def skip_without(*names: str) -> None:
    """Skip the test that runs, if one of these plugins is absent."""
    gone = sorted(ABSENT.intersection(names))
    if gone:
        pytest.skip(f"plugin {gone[0]} was removed")


def find_imported(error: BaseException | None) -> str:
    """Return the absent plugin of which a file of tests imports a module; empty for every other error."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    name = f"{error.name}..".split(".")[2] if str(error.name).startswith("nczarr.plugins.") else ""
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    importer = next((file for file in reversed(frames) if not file.startswith("<")), "")
    return name if name in ABSENT and Path(importer).is_relative_to(ROOT / "tests") else ""
