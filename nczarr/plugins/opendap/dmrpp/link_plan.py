"""Encoding of variables' values in a document: byte ranges of chunks, or inline; and what a document loses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.chunks.manifest import WHOLE, PlaceColumns, columns_of
from nczarr.arrays.regions import grid_of, number_of
from nczarr.arrays.sources.source import ArraySource, Descr, Stored, big_descr, itemsize, little_descr
from nczarr.arrays.values.parts import Types, descr, is_fixed, size
from nczarr.ast import Attribute, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.ast.dataset import SHUFFLE, VERSION, groups
from nczarr.ast.rectilinear import varies
from nczarr.options import Options, TargetOptions
from nczarr.plan.plans import Loss
from nczarr.plugins.opendap.dmrpp.references import FILTER_NAMES, foreign_kind
from nczarr.semantics.checked import Checked
from nczarr.stores.url import is_remote

TEXT = 16
"""Approximate size of a variable-length text in a document, in bytes."""


class Linked(NamedTuple):
    """Chunks as byte ranges of the HDF5 file."""

    columns: PlaceColumns
    """The byte ranges."""
    stored: Stored
    """ValueEncoding of the chunks."""
    big: bool
    """True for big-endian elements."""
    one_piece: bool
    """True for a single range."""


class Refused(NamedTuple):
    """Values that a document cannot represent."""

    why: str
    """Reason for the message."""


ValueEncoding = Linked | str | None | Refused
"""Encoding of values: byte ranges, the element that holds them in the document, or fill values only (None)."""


def _unknown_type(type_name: str, types: Types) -> str | None:
    """Describe a component of a type that DMR++ lacks, or return None."""
    declared = types.get(type_name)
    match declared:
        case VlenType():
            return f"lists (`{type_name}`)"
        case OpaqueType():
            return f"opaque values (`{type_name}`)"
        case CompoundType():
            return next(
                (description for field in declared.fields if (description := _unknown_type(field.type, types))), None
            )
        case _:
            return None


def choose_encoding(checked: Checked, fqn: str, target: TargetOptions) -> ValueEncoding:
    """Return the encoding of a variable's values. Raises OSError."""
    variable, shape, parts = checked.variables[fqn], checked.shapes[fqn], checked.parts.get(fqn)
    unknown = _unknown_type(variable.type, checked.types)
    if unknown is not None:
        return Refused(f"DMR++ has no {unknown}")
    if not parts:
        return None
    fixed = is_fixed(variable.type, checked.types)
    if variable.type == "char" and not shape:
        return "compact"  # VirtualiZarr 2.5.1 fails at a scalar text that has chunks
    if fixed:
        linked = _link(parts[""], descr(variable.type, checked.types))
        if linked is not None:
            return linked
    if fixed and next(iter(parts[""].list_occupied(tuple(max(1, length) for length in shape))), None) is None:
        return None
    room = math.prod(shape) * (size(variable.type, checked.types) if fixed else TEXT)
    if room > target.writing.embed:
        text = f"DMR++ cannot describe its chunks as byte ranges, and the document would have to contain {room} bytes"
        return Refused(text)
    if isinstance(checked.types.get(variable.type), CompoundType):
        return "specialstructuredata"
    if variable.type == "string":
        return "vlsa"
    return "compact" if variable.storage.layout == "compact" or variable.type == "char" else "missingdata"


def _link(source: ArraySource, dtype: Descr) -> Linked | None:
    """Return the chunks of an array as byte ranges; None unless all of them are."""
    stored = source.stored
    if stored is None or little_descr(stored.dtype) != dtype or varies(stored.chunks):
        return None
    big = stored.dtype != dtype
    width = itemsize(dtype)
    if big and stored.dtype != big_descr(dtype):
        return None
    for codec in stored.codecs:
        shuffled = codec.parameters[0] if codec.id == SHUFFLE and codec.parameters else width
        if codec.id not in FILTER_NAMES or shuffled != width:
            return None
    manifest = source.manifest()
    if manifest is None:
        return None
    columns = columns_of(manifest)
    counts = grid_of(source.layout.shape, stored.chunks) if 0 not in stored.chunks else ()
    numbers = set(columns.chunk.tolist())
    if (columns.length == WHOLE).any() or not columns.sources:
        return None
    if any(not is_remote(place) and foreign_kind(place) is not None for place in columns.sources):
        return None
    if any(number_of(index, counts) not in numbers for index in source.list_occupied(stored.chunks)):
        return None
    one_piece = stored.chunks == source.layout.shape and not stored.codecs and len(numbers) == 1
    return Linked(columns, stored, big, one_piece)


def losses(checked: Checked, options: Options) -> Iterator[Loss]:
    """Yield everything that the document omits or changes. Raises OSError."""
    if checked.dataset.version != VERSION:
        yield Loss("version", "annotation", "/", f"the version of the data model, {checked.dataset.version}")
    if options.layout.chunks or options.layout.codecs or options.layout.shards:
        yield Loss("storage", "annotation", "/", "requested chunks and codecs; those of the target are kept")
    used = set[str]()
    for fqn, variable in checked.variables.items():
        encoding = choose_encoding(checked, fqn, options.target)
        if isinstance(encoding, Refused):
            text = f"`{fqn}` has no byte ranges: {encoding.why}"
            yield Loss("unreferable-variable", "value", fqn, text, variable.span)
            continue
        _use(variable.type, checked, used)
    for fqn, declared in checked.types.items():
        if not isinstance(declared, EnumType) and fqn not in used:
            yield Loss("type-name", "annotation", fqn, f"type `{fqn}`", declared.span)
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes, checked)
        for variable in group.variables:
            yield from _attributes(names.join(path, variable.name), variable.attributes, checked)


def _use(type_name: str, checked: Checked, used: set[str]) -> None:
    """Record a type and its component types."""
    declared = checked.types.get(type_name)
    if declared is None or type_name in used:
        return
    used.add(type_name)
    for field in declared.fields if isinstance(declared, CompoundType) else ():
        _use(field.type, checked, used)


def _attributes(path: str, attributes: tuple[Attribute, ...], checked: Checked) -> Iterator[Loss]:
    for attribute in attributes:
        declared = checked.types.get(attribute.value.type)
        if declared is not None and not isinstance(declared, EnumType):
            what = f"attribute `{attribute.name}` of `{path}` has a value of type `{attribute.value.type}`"
            yield Loss("lost-attribute", "value", path, f"{what}: it would be left out", attribute.span)
