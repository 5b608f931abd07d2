"""Plugins that were removed: tests that need them skip visibly. `make deletable` removes each in turn.

`tests/conftest.py` skips what the mark `plugin("combine")` says, modules that import an absent plugin, and a test that
fails after it asked for something that only an absent plugin offers: a command, a public name, a format, a check.
"""

from __future__ import annotations

import re
import traceback
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
    "name": r"(?:module 'nczarr[\w.]*' has no attribute|No module named) '(?:nczarr\.)?(?:refs\.)?{0}'",
    "format": r"format `{0}` does not name a format|'{0}' is not a reader or a format",
    "check": r"invalid choice: '{0}'|'{0}' is not a reader|`{0}` is not a reader",
    "convention": r"unrecognized arguments: --{0}\b|no option `?--{0}|has the convention `{0}`|`{0}` is not a code",
    "declaration": r"`{0}` is not a convention|`?{0}`? is no convention",
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
    "wrapper": r"unrecognized arguments: --(?:against|depfile|if-changed|watch|sample)\b|--data belongs to --schema",
    "comparison": r"unrecognized arguments: --{0}\b|has the comparison `{0}`",
}
"""Patterns of the messages about unknown things, by kind; `{0}` is the name of the thing."""

ENGINE = re.compile(r"unrecognized engine '?nczarr")
"""Message of xarray if our engine is missing."""

EVERY = pytest.mark.plugin(*OFFERS)
"""Mark of tests about all plugins, such as rules with a table that names them, and pages that list what they add."""

asked: set[str] = set()
"""Absent plugins that the running test asked for."""


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    offers = [(name, *each.partition(" ")[::2]) for name in ABSENT for each in OFFERS[name]]
    found = [
        (name, re.compile(MESSAGES[kind].format(re.escape(offer.removeprefix("refs ").removeprefix("refs.")))))
        for name, kind, offer in offers
        if kind in MESSAGES
    ]
    suffixes = [(name, re.compile(rf"[\w/.-]+\.{end}\W")) for end, name in SUFFIXES.items() if name in ABSENT]
    return [*found, *suffixes, *([("xarray", ENGINE)] if "xarray" in ABSENT else [])]


def note_asked(text: str) -> None:
    """Note the absent plugins of which a message says that something of theirs is unknown."""
    if ABSENT:
        asked.update(name for name, pattern in _patterns() if pattern.search(text))


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
