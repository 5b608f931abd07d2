"""Prepared entries of a document: `refs` with rendered URLs, generators in blocks.

An `EntrySequence` makes entries on demand and stores none. Faults of templates and of
first entries are reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from nczarr.formats.reference.evaluation import NameScope, rendered
from nczarr.formats.reference.family import BLOCK, GeneratorFamily
from nczarr.formats.reference.jinja import pieces
from nczarr.formats.reference.limits import Account, Limits, RefusedTextError
from nczarr.formats.reference.wire import ReferenceDocument
from nczarr.syntax.json.positions import Faults, Path

LONG = 4 << 20
"""Approximate document bytes per block of `refs`."""

encode = json.JSONEncoder(separators=(",", ":")).encode
"""Encode a value as ASCII JSON without spaces."""

quote: Callable[[str], str] = json.encoder.encode_basestring_ascii
"""Encode a text like `encode`, ten times as fast."""


class EntrySequence(Protocol):
    """Ordered entries."""

    count: int
    block: int
    """Entries made at once."""

    def keys(self, start: int, stop: int) -> list[str]:
        """Return keys as JSON."""

    def values(self, start: int, stop: int) -> list[str]:
        """Return values as JSON."""

    def lines(self, start: int, stop: int) -> list[str]:
        """Return keys and values as members of an object."""


def prepare(document: ReferenceDocument, faults: Faults, limits: Limits, missing: Missing) -> list[EntrySequence]:
    """Return the entries of `refs`, then those of each nonempty generator."""
    scope = NameScope({}, {}, limits, missing, Account())
    for name, text in document.templates.items():
        try:
            template = pieces(text, limits, scope.account) if "{{" in text else text
            scope = scope._replace(templates={**scope.templates, name: template})
        except RefusedTextError as error:
            faults.error(error.code, f"template `{name}`: {error.message}", ("templates", name))
    refs = Refs(document, scope, faults, missing)
    sequences: list[EntrySequence] = [refs] if refs.count else []
    for number, generator in enumerate(document.generators):
        if not generator.entries:
            continue
        try:
            family = GeneratorFamily(generator, number, scope)
            family.values(0, 1)
            sequences.append(family)
        except RefusedTextError as error:
            refuse(error, faults)
        missing.tell(f"generator {number}", ("gen", number))
    return sequences


class Missing(dict[str, None]):
    """Undefined names, each reported once."""

    def __init__(self, faults: Faults) -> None:
        super().__init__()
        self._faults = faults
        self._told: set[str] = set()

    def tell(self, where: str, path: Path) -> None:
        """Report names added since the last call; `where` uses them."""
        for name in self.keys() - self._told:
            text = f"{where}: undefined name `{name}` becomes an empty string"
            self._faults.warning("undefined-name", text, path, [f"define it with `--set {name}=TEXT`"])
        self._told.update(self)


def refuse(error: RefusedTextError, faults: Faults) -> None:
    """Report a fault of a generator's member."""
    _, number, member = error.place
    text = error.message if error.code == "bad-reference" else f"generator {number}: `{member}`: {error.message}"
    faults.error(error.code, text, error.place)


class Refs:
    """Entries of `refs`, with rendered URLs."""

    def __init__(self, document: ReferenceDocument, scope: NameScope, faults: Faults, missing: Missing) -> None:
        self.refs = document.refs
        self.names = list(document.refs)
        self._urls: dict[str, str] = {}
        self.count = len(self.names)
        size = len(faults.source.data)
        self.block = max(1, min(BLOCK, LONG * self.count // max(size, 1)))
        if not document.templates:
            return
        for url, key in document.refs.named():
            if url is None or "{{" not in url:
                continue
            try:
                self._urls[url] = rendered(pieces(url, scope.limits, scope.account), scope)
            except RefusedTextError as error:
                self._urls[url] = ""
                faults.error(error.code, f"`{key}`: {error.message}", ("refs", key, 0))
            missing.tell(f"`{key}`", ("refs", key, 0))

    def keys(self, start: int, stop: int) -> list[str]:
        return list(map(quote, self.names[start:stop]))

    def values(self, start: int, stop: int) -> list[str]:
        return [self._value(self.refs[key]) for key in self.names[start:stop]]

    def lines(self, start: int, stop: int) -> list[str]:
        return [f"{quote(key)}:{self._value(self.refs[key])}" for key in self.names[start:stop]]

    @property
    def longest(self) -> int:
        """Maximum length of a rendered URL as JSON."""
        return 6 * max(map(len, self._urls.values()), default=0)

    def url(self, written: str | None) -> str | None:
        """Return the rendered URL of a reference."""
        return self._urls.get(written, written) if self._urls and written is not None else written

    def _value(self, value: Any) -> str:
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, dict):
            return quote(encode(value))
        url = self.url(value[0])
        written = "null" if url is None else quote(url)
        return f"[{written}]" if len(value) == 1 else f"[{written},{value[1]},{value[2]}]"


def blocks(part: EntrySequence) -> Iterator[tuple[int, int]]:
    """Yield the entries of a part in blocks: the first of each, and the one after its last."""
    for start in range(0, part.count, part.block):
        yield start, min(start + part.block, part.count)
