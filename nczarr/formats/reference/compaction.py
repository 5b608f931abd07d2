"""Version 0 → version 1: chunk families as generators, repeated URLs as templates, losslessly.

One generator makes the chunks of an array whose URL, offset and length are
affine in the indices. A second one replaces deviating chunks: its dimension
lists a mixed-radix number for each, of its position and the differences from
the affine columns; so it does for chunks that fill no grid. Entries stay unless
they become shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.formats.reference.expressions import quoted
from nczarr.formats.reference.families import FEWEST, ChunkFamily, bundle, family_of, generators, kin
from nczarr.formats.reference.grouping import LONGEST, PatternGroup, TargetURL, grouped
from nczarr.formats.reference.parts import encode, quote
from nczarr.formats.reference.write_expressions import PACKED

PIECE = 1 << 16
"""Characters per output piece."""

SHORTEST = 12
"""Minimum length of a URL that becomes a template."""


class _Found(NamedTuple):
    """One or more families with equal templates."""

    family: ChunkFamily
    """The first family."""
    generators: list[dict[str, Any]]
    """Generators that make the entries."""
    groups: list[PatternGroup]
    """Groups of the families."""


def compact(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return a version 1 document that expands to these checked version 0 entries."""
    groups, targets, refs = grouped(entries)
    families: list[_Found] = []
    for group in groups:
        family = family_of(group, targets) if len(group.keys) >= FEWEST else None
        if family is not None:
            families.append(_Found(family, list(generators(family)), [group]))
        else:
            group.put_back(refs, targets)
    written: list[dict[str, Any]] = []
    for candidate in _bundled(families):
        if len(encode(candidate.generators)) < _size(candidate.groups, targets):
            written += candidate.generators
        else:
            for group in candidate.groups:
                group.put_back(refs, targets)
    templates = _templates(refs, written)
    document: dict[str, Any] = {"version": 1, "templates": templates, "gen": written, "refs": refs}
    return {name: member for name, member in document.items() if member or name == "version"}


def written(document: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the JSON text of a version 1 document in pieces."""
    before = encode({name: member for name, member in document.items() if name != "refs"})[:-1]
    refs = document.get("refs")
    if refs:
        before += ',"refs":{'
        for key, value in refs.items():
            before += f"{quote(key)}:{encode(value)}"
            if len(before) > PIECE:
                yield before.encode()
                before = ""
            before += ","
        before = before[:-1] + "}"
    yield f"{before}}}\n".encode()


def _bundled(families: list[_Found]) -> Iterator[_Found]:
    """Yield the families, bundling those with adjacent chunks if that is shorter."""
    groups: dict[tuple[object, ...], list[_Found]] = {}
    for number, current in enumerate(families):
        packed = any(PACKED in item["dimensions"] for item in current.generators)
        groups.setdefault((kin(current.family) if packed else None) or (number,), []).append(current)
    for group in groups.values():
        together = bundle([member.family for member in group]) if len(group) > 1 else None
        if together is not None and len(encode(together)) < sum(len(encode(member.generators)) for member in group):
            yield _Found(group[0].family, [together], [one for member in group for one in member.groups])
        else:
            yield from group


def _size(groups: list[PatternGroup], targets: list[TargetURL]) -> float:
    """Estimate the number of characters of the groups' entries."""
    size = 0.0
    for group in groups:
        rows = range(0, len(group.keys), max(1, len(group.keys) // 64))
        some = encode([[group.keys[row], group.value(row, targets)] for row in rows])
        size += len(some) / len(rows) * len(group.keys)
    return size


def _templates(refs: dict[str, Any], generators: list[dict[str, Any]]) -> dict[str, str]:
    """Replace repeated URLs by templates, and return the templates."""
    listed = [key for key, value in refs.items() if isinstance(value, list) and value[0] is not None]
    uses = Counter(refs[key][0] for key in listed)
    uses.update(item["url"] for item in generators)
    if any(len(url) > LONGEST and "{{" in url for url in uses):
        return {}  # without templates no URL is rendered, however long it is
    chosen = [
        url for url, count in uses.items() if count > 1 and SHORTEST <= len(url) <= LONGEST and quoted(url) == url
    ]
    names = {url: f"u{number}" for number, url in enumerate(chosen)}
    for key in listed if names else ():
        url = refs[key][0]
        if url in names or "{{" in url:
            refs[key] = [f"{{{{{names[url]}}}}}" if url in names else quoted(url), *refs[key][1:]]
    for item in generators:
        if item["url"] in names:
            item["url"] = f"{{{{{names[item['url']]}}}}}"
    return {name: url for url, name in names.items()}
