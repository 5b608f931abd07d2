"""Rules of a contract, written as comments that every reader of CDL skips.

A comment `// nczarr: RULE; RULE` behind a declaration concerns the declarations that begin on its line, or the one
that ends there. Alone on a line it concerns those of the next line that has any. Before `netcdf NAME {` it concerns
the root group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from nczarr.sdk import (
    Span,
    hint,
)

Presence: TypeAlias = Literal["required", "recommended", "optional"]

_WORD = re.compile(r'\s*("(?:\\.|[^"\\])*"|[^,]*)\s*(?:,|\Z)')
"""An item of `one-of`: quoted, or up to the next comma."""


class Rules(NamedTuple):
    """Rules of one node. Those without a value are as strict as a schema without rules."""

    presence: Presence = "required"
    condition: str = ""
    """Words of a condition under which the node is required. Only people can judge it."""
    any_value: bool = False
    """An attribute may have any value of its kind: a text, or numbers of its type."""
    any_type: bool = False
    """A variable or attribute may have any type."""
    any_length: bool = False
    """A dimension may have any length, and be unlimited."""
    extra_allowed: bool = False
    """Elements that the schema does not define may be there, in the node and everything below."""
    pattern: re.Pattern[str] | None = None
    """Expression that each text, or number as it is printed, matches as a whole."""
    one_of: tuple[str, ...] | None = None
    """Texts, or numbers as they are printed, one of which each value is."""
    bounds: tuple[float, float] | None = None
    """Least and greatest number."""
    span: Span | None = None
    """Place of the comment."""

    @property
    def frees_value(self) -> bool:
        """True if an attribute need not have the value of the schema."""
        return self.any_value or self.has_demands

    @property
    def has_demands(self) -> bool:
        """True if rules concern values."""
        return self.pattern is not None or self.one_of is not None or self.bounds is not None


STRICT = Rules()
"""Rules of a node without a comment."""


class Contract(NamedTuple):
    """Rules of a schema."""

    rules: Mapping[str, Rules]
    """Rules by `places.key_of`: mostly the path, an FQN, or `/v@units` of an attribute."""
    usual: Rules = STRICT
    """Rules of the other nodes."""
    free: frozenset[str] = frozenset()
    """Paths in which, and below which, anything else may be."""

    def of(self, key: str) -> Rules:
        """Return the rules of a node."""
        return self.rules.get(key, self.usual)

    def allows_extra(self, path: str) -> bool:
        """Return whether a group or variable may have what the schema does not define."""
        if self.usual.extra_allowed:
            return True
        while path not in self.free:
            if path == "/":
                return False
            path = path.rpartition("/")[0] or "/"
        return True


class BadRuleError(ValueError):
    """A rule that cannot be read; the text says why."""


def parse_rules(text: str, rules: Rules = STRICT) -> Rules:
    """Return rules with those of a comment, separated by semicolons, added. Raises BadRuleError."""
    for part in _split(text):
        word, _, rest = part.partition(" ")
        rest = rest.strip()
        if rest and word not in _WITH_ARGUMENT:
            raise BadRuleError(f"`{word}` takes nothing behind it" if word in _FLAGS else _unknown(word))
        if word in _FLAGS:
            rules = _FLAGS[word](rules)
        elif word == "match":
            rules = rules._replace(pattern=_compile_pattern(rest))
        elif word == "one-of":
            rules = rules._replace(one_of=tuple(_list_items(rest)))
        elif word == "range":
            rules = rules._replace(bounds=_parse_bounds(rest))
        else:
            raise BadRuleError(_unknown(word))
    return rules


_FLAGS: Mapping[str, Callable[[Rules], Rules]] = {
    "required": lambda rules: rules._replace(presence="required"),
    "recommended": lambda rules: rules._replace(presence="recommended"),
    "optional": lambda rules: rules._replace(presence="optional"),
    "any-value": lambda rules: rules._replace(any_value=True),
    "any-type": lambda rules: rules._replace(any_type=True),
    "any-length": lambda rules: rules._replace(any_length=True),
    "extra-allowed": lambda rules: rules._replace(extra_allowed=True),
}

_WITH_ARGUMENT = ("match", "one-of", "range")


def _split(text: str) -> Iterator[str]:
    """Yield the rules of a comment; those within quotes, or behind `match`, separate nothing."""
    rest = text.strip()
    while rest:
        if rest.startswith("match "):
            yield rest
            return
        end = re.match(r'(?:"(?:\\.|[^"\\])*"|[^;"]|")*', rest)
        part = rest[: end.end()] if end is not None else rest
        if part.strip():
            yield part.strip()
        rest = rest[len(part) + 1 :].strip()


def _unknown(word: str) -> str:
    known = [*_FLAGS, *_WITH_ARGUMENT]
    every = ", ".join(known)
    return f"`{word}` is not a rule{hint(word, known, f'rules: {every}')}"


def _compile_pattern(text: str) -> re.Pattern[str]:
    if not text:
        raise BadRuleError("`match` takes a regular expression")
    try:
        return re.compile(text)
    except re.error as error:
        raise BadRuleError(f"`{text}` is not a regular expression: {error}") from error


def _list_items(text: str) -> Iterator[str]:
    """Yield the items of a list. Raises BadRuleError for an empty one."""
    position, items = 0, 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None or match.end() == position:
            raise BadRuleError(f"the list `{text}` cannot be read; put texts with commas into quotes")
        item = match[1].strip()
        yield re.sub(r"\\(.)", r"\1", item[1:-1]) if item.startswith('"') else item
        position, items = match.end(), items + 1
    if not items:
        raise BadRuleError("`one-of` takes values, separated by commas")


def _parse_bounds(text: str) -> tuple[float, float]:
    words = text.split()
    try:
        low, high = map(float, words)
    except ValueError:
        raise BadRuleError("`range` takes the least and the greatest number, such as `range -90 90`") from None
    if not low <= high:
        raise BadRuleError(f"no number is between {words[0]} and {words[1]}")
    return low, high
