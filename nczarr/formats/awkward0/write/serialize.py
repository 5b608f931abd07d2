"""Columns as documents and blobs: `serialize`.

The forms are those that awkward0 chooses: counts where lists lie one behind the other, starts and stops else; tags
alone where each content of a union is used up in order; pieces without items are left out. Two things differ. Texts
that lie one behind the other are written as counts from wherever they start, so bytes before and behind them are left
out. And what awkward0 could not read back is written so that it can: a union without items as none of a union that has
one, rows without elements as lists without items.

Everything is found before a byte goes out: `encode` makes the document and names the blobs, `serialize` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

import nczarr
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.awkward import expressions
from nczarr.awkward.expressions import Expression
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.write.compression import DEFAULT, Policy, Rule, rules
from nczarr.formats.awkward0.write.encoder import Encoder
from nczarr.formats.awkward0.write.inputs import Json, taken
from nczarr.formats.awkward0.write.warnings import LostPartsWarning, say


class Blob(NamedTuple):
    """One blob before it is bytes: its whole key, the elements in C order, and the rule that compresses it, if any."""

    key: str
    array: NDArray[Any]
    rule: Rule | None

    def bytes(self) -> bytes:
        """What is stored. Raises what the function of the rule raises."""
        return self.array.tobytes() if self.rule is None else self.rule.compressed(self.array)


class Encoded(NamedTuple):
    """One array, ready to be stored: the key of its document, the document, and the blobs in their order."""

    key: str
    document: Expression
    blobs: tuple[Blob, ...]


class Naming(NamedTuple):
    """How keys are made of the name of an array."""

    name: str = ""
    delimiter: str = "-"
    suffix: str = ""
    schemasuffix: str = ""
    prefix: str | None = None

    @property
    def schema_key(self) -> str:
        """The key of the document."""
        return self.name + self.schemasuffix

    @property
    def blob_prefix(self) -> str:
        """What every key of a blob begins with."""
        if self.prefix is not None:
            return self.prefix
        return self.name + self.delimiter if self.name else ""


def naming(
    name: str | None, delimiter: str | None, suffix: str | None, schemasuffix: str | None, prefix: str | None = None
) -> Naming:
    """Names with None as nothing. Raises TypeError for what is no text."""
    for each in (name, delimiter, suffix, schemasuffix, prefix):
        if not isinstance(each, str | None):
            raise TypeError(f"{each!r} is no text for a name")
    return Naming(name or "", delimiter or "", suffix or "", schemasuffix or "", prefix)


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
    """Put an array into a storage, blobs first, and return its document as a dictionary.

    `obj`: a column, an array of awkward or numpy, or what JSON holds. The document is stored under
    `name + schemasuffix`, blob n under `name + delimiter + n + suffix` (`n + suffix` without a name); `prefix` stands
    in place of `name + delimiter`. All values that are stored are bytes. `compression`: see `compression.py`.
    `doc` and `metadata` go into the document, where readers ignore them; by default it says what wrote it.

    Raises CompileError if the array cannot be said, before anything is stored. What is lost of its type is warned of:
    in `report`, or as LostPartsWarning. Raises TypeError and ValueError for names and policies that are none.
    """
    found = report if report is not None else Report()
    names = naming(name, delimiter, suffix, schemasuffix, prefix)
    made = encode(obj, names, rules(compression), found, doc=doc, metadata=metadata)
    say(found, made, given=report)
    assert made is not None
    document = expressions.encoded(made.document)
    for blob in made.blobs:
        storage[blob.key] = blob.bytes()
    storage[made.key] = document
    return made.document


def encode(
    obj: Any,
    names: Naming,
    policy: tuple[Rule, ...],
    report: Report,
    *,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Encoded | None:
    """The document and the blobs of an array; None and errors where the protocol cannot say it."""
    before = report.errors
    encoder = Encoder(names.suffix, policy, report)
    try:
        column = taken(obj, report)
        if column is None:
            return None
        schema = encoder.constant(column.value) if isinstance(column, Json) else encoder.column(column)
    except RecursionError:
        report.error("unsuited-array", "the array has more levels than can be followed, or encloses itself")
        return None
    levels = expressions.nesting(schema)
    if levels > expressions.DEEPEST:
        report.error("unsuited-array", f"the array has {levels} levels; readers take {expressions.DEEPEST}")
    if report.errors > before:
        return None
    said = f"nczarr {nczarr.__version__}" if doc is None else doc
    document = expressions.document(schema, prefix=names.blob_prefix, doc=said, metadata=metadata)
    blobs = tuple(Blob(names.blob_prefix + key, array, rule) for key, array, rule in encoder.blobs)
    if any(blob.key == names.schema_key for blob in blobs):
        raise ValueError(f"{names.schema_key!r} would be the key of the document and of a blob")
    return Encoded(names.schema_key, document, blobs)


__all__ = ["Blob", "Encoded", "LostPartsWarning", "Naming", "encode", "naming", "serialize"]
