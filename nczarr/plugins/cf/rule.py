"""Rules of CF as data: one rule is one requirement or recommendation of the conformance document, with its example.

A topic is a TOML file of `rules/` and a function in the module of its chapter:
the file has the rules, which share one code, and the function finds their breaches.

Breaches that several sections have in common are found here too: attributes that are no texts, and names of
variables and dimensions that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nczarr.ast.node import Node
from nczarr.diagnostics.report import Severity
from nczarr.plugins.cf.view import NEWEST, CFDataset, CFVariable, Version

OLDEST: Version = (1, 6)
VERSIONS: tuple[Version, ...] = tuple((1, minor) for minor in range(OLDEST[1], NEWEST[1] + 1))
"""Versions of CF whose rules are known."""

_SECTION = re.compile(r"(?:types|dimensions|variables|data):|group: .*|\}")
_FOLDER = Path(__file__).parent / "rules"

_LINE_END = re.compile(r"(?<=[;{}])\s+|(?<=\bdimensions:)\s+|(?<=\bvariables:)\s+|(?<=\bdata:)\s+")
_CHOICE = re.compile(r"«([^|»]*)\|([^»]*)»", re.DOTALL)


class Rule(NamedTuple):
    """One requirement or recommendation."""

    code: str
    """Code of its diagnostics, such as `cf-flags`."""
    name: str
    """Word by which the topic's function names it."""
    number: str
    """Section of the conformance document."""
    severity: Severity
    """Error for a requirement, warning for a recommendation."""
    text: str
    """The rule in one sentence."""
    example: str
    """CDL in which `«…|…»` encloses a fault and its correction."""
    remedy: str
    """Help where the breach has none."""
    since: Version = OLDEST
    """First version with the rule."""
    until: Version = NEWEST
    """Last version with the rule."""

    def holds(self, version: Version) -> bool:
        """Return whether a version of CF has the rule."""
        return self.since <= version <= self.until

    @property
    def failing(self) -> str:
        """CDL that breaks the rule."""
        return _complete(_CHOICE.sub(r"\1", self.example))

    @property
    def passing(self) -> str:
        """The same with the correction."""
        return _complete(_CHOICE.sub(r"\2", self.example))


def _complete(body: str) -> str:
    """Return CDL of the inner part of a dataset; without a section it declares variables."""
    section = "" if re.match(r"\s*(types|dimensions|variables|group|:)", body) else "variables: "
    lines = map(str.strip, _LINE_END.split(section + body))
    indented = (line if _SECTION.fullmatch(line) else f"  {line}" for line in lines if line)
    return "netcdf example {\n" + "\n".join(indented) + "\n}\n"


class Breach(NamedTuple):
    """Place where a rule is broken."""

    rule: str
    """Name of the rule."""
    what: str
    """Description of the fault."""
    node: Node
    """Variable, attribute, dimension or group."""
    word: str = ""
    """Word of the attribute's value that is wrong; empty for the whole value."""
    helps: tuple[str, ...] = ()
    """Remedies that replace that of the rule."""


Find: TypeAlias = Callable[[Any], Iterator[Breach]]
"""Function that finds the breaches of a topic in a `CFDataset`."""


class Topic(NamedTuple):
    """Rules with one code, and the function that finds their breaches."""

    rules: tuple[Rule, ...]
    """Requirements and recommendations, in the order of the document."""
    find: Find
    """Yields the breaches of a dataset, in any version."""

    @property
    def code(self) -> str:
        """Code of the diagnostics."""
        return self.rules[0].code


@cache
def load_table(topic: str) -> dict[str, Any]:
    """Return `rules/TOPIC.toml`: its rules, and the words that the topic's function looks for."""
    import tomllib

    return tomllib.loads((_FOLDER / f"{topic}.toml").read_text(encoding="utf-8"))


@cache
def load_rules(topic: str) -> tuple[Rule, ...]:
    """Return the rules of a topic from its table, where their keys are the fields of a rule."""
    table = load_table(topic)
    common = {key: table[key] for key in ("code", "number")}
    return tuple(_make_rule({**common, **rule}) for rule in table["rules"])


def _make_rule(entry: Mapping[str, str]) -> Rule:
    severity = Severity.ERROR if entry["kind"] == "requirement" else Severity.WARNING
    since, until = (parse_version(entry[key]) if key in entry else None for key in ("since", "until"))
    identity = entry["code"], entry["name"], entry["number"]
    return Rule(*identity, severity, entry["text"], entry["example"], entry["remedy"], since or OLDEST, until or NEWEST)


def parse_version(text: str) -> Version:
    """Return the version of a text such as `1.8` or `CF-1.8`. Raises ValueError for an unknown one."""
    match = re.fullmatch(r"(?:CF-)?1\.([0-9]{1,2})", text.strip())
    version = (1, int(match[1])) if match else None
    if version is None or version not in VERSIONS:
        known_versions = ", ".join(map(show_version, VERSIONS))
        raise ValueError(f"{text!r} is not a version of CF; known versions: {known_versions}")
    return version


def show_version(version: Version) -> str:
    """Return a version as text: `1.8`."""
    return ".".join(map(str, version))


def find_no_text(variable: CFVariable, attribute: str, rule: str = "text") -> Iterator[Breach]:
    """Find an attribute that is not a single text."""
    node = variable.attributes.get(attribute)
    if node is not None and not isinstance(variable.value(attribute), str):
        yield Breach(rule, f"`{attribute}` of `{variable.path}` is not a text", node)


def find_missing(
    dataset: CFDataset, variable: CFVariable, attribute: str, words: Iterable[str], rule: str = "exists"
) -> Iterator[Breach]:
    """Find names of variables that do not exist."""
    for name in words:
        if dataset.resolve(name, variable.group) is None:
            what = f"`{attribute}` of `{variable.path}` names `{name}`, which does not exist"
            yield Breach(rule, what, variable.attributes[attribute], name, dataset.suggest(name, variable.group))


def find_missing_dimensions(
    dataset: CFDataset, variable: CFVariable, attribute: str, words: Iterable[str], rule: str = "exists"
) -> Iterator[Breach]:
    """Find names of dimensions that do not exist."""
    for name in words:
        if dataset.resolve_dimension(name, variable.group) is None:
            what = f"`{attribute}` of `{variable.path}` names the dimension `{name}`, which does not exist"
            helps = dataset.suggest_dimension(name, variable.group)
            yield Breach(rule, what, variable.attributes[attribute], name, helps)


def name_dimensions(dataset: CFDataset, dimensions: Iterable[object]) -> str:
    """Return dimensions for messages: `(time, lat)`."""
    return f"({', '.join(map(dataset.label, dimensions))})"
