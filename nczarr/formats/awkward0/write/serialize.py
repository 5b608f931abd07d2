"""`serialize`: columns as documents and blobs.

Forms follow awkward0: counts for contiguous lists, else starts and stops; tags
alone if each union content is used in order; no empty pieces. Differences:
contiguous texts always become counts, without unused bytes; columns that
awkward0 could not read back are replaced: an empty union by no items of a union
with one, rows without elements by empty lists.

`encode` builds the document and names the blobs before `serialize` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.wire.limits import LostPartsWarning, say
from nczarr.formats.awkward0.write.compression import DEFAULT, CompressionRule, Policy, rules
from nczarr.formats.awkward0.write.encoder import ExpressionEncoder
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression

Member: TypeAlias = tuple[str, Callable[[], bytes]]
"""A key, and a function that returns its bytes when called in turn."""


class EncodedArray(NamedTuple):
    """An array ready for storage."""

    key: str
    """Key of the document."""
    document: Expression
    """The document."""
    blobs: tuple[Member, ...]
    """Blobs in order."""

    def members(self) -> list[Member]:
        """Return the members, blobs first, so that no document exists without them."""
        document = expressions.encoded(self.document)
        return [*self.blobs, (self.key, lambda: document)]


class KeyNaming(NamedTuple):
    """Keys of an array."""

    document: str
    """Key of the document."""
    prefix: str
    """Prefix of all blob keys."""
    suffix: str
    """Suffix of blob keys."""


def naming(
    name: str | None, delimiter: str | None, suffix: str | None, schemasuffix: str | None, prefix: str | None = None
) -> KeyNaming:
    """Return the keys of an array; None counts as empty. Raises TypeError for other types."""
    for part in (name, delimiter, suffix, schemasuffix, prefix):
        if not isinstance(part, str | None):
            raise TypeError(f"{part!r} is not a string, as names must be")
    if prefix is None:
        prefix = name + (delimiter or "") if name else ""
    return KeyNaming((name or "") + (schemasuffix or ""), prefix, suffix or "")


def serialize(
    obj: Any,
    storage: MutableMapping[str, Any],
    name: str | None = None,
    delimiter: str | None = "-",
    suffix: str | None = None,
    schemasuffix: str | None = None,
    compression: Policy = DEFAULT,
    prefix: str | None = None,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Expression:
    """Store an array, blobs first, and return its document as a dictionary.

    `obj`: a column, an awkward or NumPy array, or a JSON value. The document is
    stored under `name + schemasuffix`, blob n under `name + delimiter + n +
    suffix` (`n + suffix` without a name); `prefix` replaces `name + delimiter`.
    All stored values are bytes. `compression`: see `compression.py`. `doc` and
    `metadata` go into the document, where readers ignore them; the default
    `doc` names the writer.

    Raises CompileError before anything is stored if the array is unwritable.
    Lost type information causes warnings in `report`, or LostPartsWarning.
    Raises TypeError and ValueError for invalid names and policies.
    """
    messages = report if report is not None else Report()
    names = naming(name, delimiter, suffix, schemasuffix, prefix)
    encoded = encode(obj, names, rules(compression), messages, doc=doc, metadata=metadata)
    say(messages, encoded, caller=report)
    assert encoded is not None
    for key, data in encoded.members():
        storage[key] = data()
    return encoded.document


def encode(
    obj: Any,
    names: KeyNaming,
    policy: tuple[CompressionRule, ...],
    report: Report,
    *,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> EncodedArray | None:
    """Return the document and blobs of an array. Returns None and reports errors if it is unwritable.

    Raises ValueError if the document and a blob would have the same key.
    """
    before = report.errors
    encoder = ExpressionEncoder(names.suffix, policy, report)
    try:
        schema = encoder.value(obj)
    except RecursionError:
        report.error("unsuited-array", "the array is nested too deeply, or encloses itself")
        return None
    if schema is None:
        return None
    levels = expressions.nesting(schema)
    if levels > expressions.DEEPEST:
        report.error("unsuited-array", f"the array has {levels} levels; the limit of readers is {expressions.DEEPEST}")
    if report.errors > before:
        return None
    description = f"nczarr {nczarr.__version__}" if doc is None else doc
    document = expressions.document(schema, prefix=names.prefix, doc=description, metadata=metadata)
    blobs = tuple(
        (names.prefix + key, array.tobytes if rule is None else partial(rule.compressed, array))
        for key, array, rule in encoder.blobs
    )
    if any(key == names.document for key, _ in blobs):
        raise ValueError(f"{names.document!r} would be the key of both the document and a blob")
    return EncodedArray(names.document, document, blobs)


__all__ = ["EncodedArray", "LostPartsWarning", "Member", "encode", "naming", "serialize"]
