"""Templates of NCEI: CDL whose comments say REQUIRED, RECOMMENDED or SUGGESTED.

A template describes many datasets, so what it does not mark is optional, and other elements may be there. Lengths are
placeholders, such as `obs = < dim1 >`, and texts are examples, unless the comment says that they must not be changed.

Source: https://www.ncei.noaa.gov/netcdf-templates
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from nczarr.plugins.languages.language import find_language
from nczarr.plugins.schema.contract.places import Comment, key_of
from nczarr.plugins.schema.contract.rules import STRICT, Presence, Rules
from nczarr.sdk import Attribute, Source

_MARK = re.compile(r"//[./\s]*(HIGHLY RECOMMENDED|REQUIRED|RECOMMENDED|SUGGESTED|OPTIONAL)\b[\s:.-]*(.*)", re.DOTALL)

_PRESENCES: dict[str, Presence] = {
    "REQUIRED": "required",
    "HIGHLY RECOMMENDED": "recommended",
    "RECOMMENDED": "recommended",
    "SUGGESTED": "optional",
    "OPTIONAL": "optional",
}

_CONDITION = re.compile(r"if\b|when\b|for\b", re.IGNORECASE)

_FIXED = re.compile(r"do not (change|modify|alter)|must be exactly", re.IGNORECASE)

_PLACEHOLDER = re.compile(rb"(?<==)(\s*)<[^<>\n;\"]*>(?=\s*[;,])")

LOOSE = Rules(presence="optional", any_type=True, any_value=True, any_length=True, extra_allowed=True)
"""Rules of what a template does not mark."""


class Marks(NamedTuple):
    """Marks of a template."""

    rules: dict[str, Rules]
    """Rules by path."""
    usual: Rules
    """Rules of the other nodes; strict ones if the schema has no marks."""


def find_marks(comments: Iterable[Comment]) -> Marks:
    """Return the rules that comments of a template state; those of a schema without marks are strict."""
    rules: dict[str, Rules] = {}
    for comment in comments:
        found = _MARK.match(comment.text)
        if found is None:
            continue
        word, text = found[1], " ".join(found[2].split())
        presence, condition = _PRESENCES[word], ""
        if presence == "required" and _CONDITION.match(text):
            presence, condition = "recommended", text
        for path, node in comment.nodes:
            fixed = isinstance(node, Attribute) and _FIXED.search(text) is not None
            loose = LOOSE._replace(presence=presence, condition=condition, span=comment.span)
            rules[key_of(path, node)] = loose._replace(any_value=not fixed)
    return Marks(rules, LOOSE if rules else STRICT)


def fill_placeholders(source: Source) -> Source:
    """Return a text with lengths of one for placeholders such as `< dim1 >`; the same text without any.

    Every byte keeps its place, so that diagnostics point at the lines as they were written.
    """
    data = bytes(source.data)
    language = find_language("cdl") if _PLACEHOLDER.search(data) else None
    if language is None:
        return source
    texts = [lexeme for lexeme in language.split(data) if lexeme.kind in ("string", "comment")]

    def fill(found: re.Match[bytes]) -> bytes:
        if any(lexeme.start < found.start() < lexeme.end for lexeme in texts):
            return found[0]
        return found[1] + b"1".ljust(len(found[0]) - len(found[1]))

    return Source(source.name, _PLACEHOLDER.sub(fill, data), key=source.key, path=source.path)
