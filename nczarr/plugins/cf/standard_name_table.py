"""CF's controlled words: standard names with units and definitions, area types and names of regions.

`tools/cf_tables.py` makes the table of standard names from the official file.
Tables are read on first use.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nczarr.names import closest

_TABLES = Path(__file__).with_name("tables")


class StandardName(NamedTuple):
    """One entry of the table of standard names."""

    name: str
    """The name, such as `air_temperature`."""
    units: str
    """Canonical units; empty where the table has none, as for texts."""
    definition: str
    """First sentence of the official description; it may be empty."""
    aliases: tuple[str, ...] = ()
    """Old names that mean the same."""


class _Table(NamedTuple):
    """The table of standard names."""

    version: str
    """Number of the version, and its date."""
    entries: dict[str, StandardName]
    aliases: dict[str, str]
    """Present names by old names."""
    words: dict[str, frozenset[str]]
    """Words of each present name, for suggestions."""


@cache
def _read() -> _Table:
    """Read the table of the package: names with units and definitions, and the aliases of each."""
    lines = gzip.decompress((_TABLES / "standard-names.tsv.gz").read_bytes()).decode("utf-8").splitlines()
    number, date = lines[0].split("\t")
    rows = [line.split("\t") for line in lines[1:]]
    replaced = {row[0]: row[1][1:].split()[0] for row in rows if len(row) == 2}
    old_names: dict[str, list[str]] = {}
    for old, present in replaced.items():
        old_names.setdefault(present, []).append(old)
    entries = {
        row[0]: StandardName(row[0], row[1], row[2], tuple(old_names.get(row[0], ()))) for row in rows if len(row) == 3
    }
    words = {name: frozenset(name.split("_")) for name in entries}
    return _Table(f"{number} ({date})", entries, replaced, words)


def standard_name_version() -> str:
    """Return number and date of the table, such as `93 (2026-03-17)`."""
    return _read().version


def standard_names() -> tuple[StandardName, ...]:
    """Return all present standard names in the order of the alphabet."""
    return tuple(_read().entries.values())


def find_standard_name(name: str) -> StandardName | None:
    """Return the entry of a standard name, or None.

    For an old name it is the entry that replaces it: then `entry.name` differs from `name`.

    Examples
    --------
    >>> find_standard_name("air_temperature").units
    'K'
    >>> find_standard_name("chlorophyll_concentration_in_sea_water").name
    'mass_concentration_of_chlorophyll_in_sea_water'
    """
    table = _read()
    return table.entries.get(table.aliases.get(name, name))


def suggest_standard_name(name: str) -> str | None:
    """Return the standard name that is probably meant, or None.

    Examples
    --------
    >>> suggest_standard_name("air_temprature")
    'air_temperature'
    """
    lowered = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
    table = _read()
    if lowered in table.entries:
        return lowered
    words = frozenset(lowered.split("_"))
    common = [entry for entry, parts in table.words.items() if 2 * len(words & parts) >= len(words)]
    near = [entry for entry in table.entries if abs(len(entry) - len(lowered)) <= 3 and entry[0] == lowered[:1]]
    candidates = sorted({*common, *near}, key=lambda entry: abs(len(entry) - len(lowered)))
    return closest(lowered, candidates[:500])


@cache
def area_types() -> frozenset[str]:
    """Return the words that a variable with the standard name `area_type` may hold."""
    return _read_words("area-types.txt")


@cache
def regions() -> frozenset[str]:
    """Return the words that a variable with the standard name `region` may hold."""
    return _read_words("regions.txt")


def _read_words(name: str) -> frozenset[str]:
    lines = (_TABLES / name).read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
