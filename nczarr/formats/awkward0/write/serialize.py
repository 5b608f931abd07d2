"""`serialize`: columns as documents and blobs.

Forms follow awkward0: counts for contiguous lists, else starts and stops; tags
alone if each union content is used in order; no empty pieces. Differences:
contiguous texts always become counts, without unused bytes; columns that
awkward0 could not read back are replaced: an empty union by no items of a union
with one, rows without elements by empty lists.

`encode` builds the document and names the blobs before `serialize` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

import nczarr
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.wire.limits import LostPartsWarning, say
from nczarr.formats.awkward0.write.compression import DEFAULT, CompressionRule, Policy, rules
from nczarr.formats.awkward0.write.encoder import ExpressionEncoder
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression


class PlainBlob(NamedTuple):
    """A blob before conversion to bytes."""

    key: str
    """Full key."""
    array: NDArray[Any]
    """Elements in C order."""
    rule: CompressionRule | None
    """Compression rule; None: uncompressed."""

    def bytes(self) -> bytes:
        """Return the stored bytes. Raises errors of the rule's function."""
        return self.array.tobytes() if self.rule is None else self.rule.compressed(self.array)


class EncodedArray(NamedTuple):
    """An array ready for storage."""

    key: str
    """Key of the document."""
    document: Expression
    """The document."""
    blobs: tuple[PlainBlob, ...]
    """Blobs in order."""


class KeyNaming(NamedTuple):
    """Naming scheme of the keys of an array."""

    name: str = ""
    """Name of the array."""
    delimiter: str = "-"
    """Separator of name and number."""
    suffix: str = ""
    """Suffix of blob keys."""
    schemasuffix: str = ""
    """Suffix of the document's key."""
    prefix: str | None = None
    """Prefix of blob keys; None: name and delimiter."""

    @property
    def schema_key(self) -> str:
        """Key of the document."""
        return self.name + self.schemasuffix

    @property
    def blob_prefix(self) -> str:
        """Prefix of all blob keys."""
        if self.prefix is not None:
            return self.prefix
        return self.name + self.delimiter if self.name else ""


def naming(
    name: str | None, delimiter: str | None, suffix: str | None, schemasuffix: str | None, prefix: str | None = None
) -> KeyNaming:
    """Return a naming scheme; None counts as empty. Raises TypeError for other types."""
    for part in (name, delimiter, suffix, schemasuffix, prefix):
        if not isinstance(part, str | None):
            raise TypeError(f"{part!r} is not a string, as names must be")
    return KeyNaming(name or "", delimiter or "", suffix or "", schemasuffix or "", prefix)


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
    document = expressions.encoded(encoded.document)
    for blob in encoded.blobs:
        storage[blob.key] = blob.bytes()
    storage[encoded.key] = document
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
    document = expressions.document(schema, prefix=names.blob_prefix, doc=description, metadata=metadata)
    blobs = tuple(PlainBlob(names.blob_prefix + key, array, rule) for key, array, rule in encoder.blobs)
    if any(blob.key == names.schema_key for blob in blobs):
        raise ValueError(f"{names.schema_key!r} would be the key of both the document and a blob")
    return EncodedArray(names.schema_key, document, blobs)


__all__ = ["EncodedArray", "KeyNaming", "LostPartsWarning", "PlainBlob", "encode", "naming", "serialize"]
