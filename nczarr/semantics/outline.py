"""`dump --as tree`: a readable drawing of a checked dataset's groups.

    ocean
    ├─ time = unlimited (3)
    ├─ temp  float (time 3, lat 4)  chunks 1×4  shuffle deflate(5)  1.2 kB of 4.8 kB (4.0:1)
    └─ surface/
       └─ wind  /obs (3, 4)

Stored sizes come from manifests; no data are read. Lines are yielded singly,
each with its end.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.chunks.manifest import Affine, PlaceColumns
from nczarr.arrays.execution.counts import bytes_text
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import Codec, CompoundType, Dimension, EnumType, Group, OpaqueType, UserType, Variable, VlenType
from nczarr.ast.dataset import ZARR_PLUGIN
from nczarr.semantics.checked import Checked


def lines(checked: Checked) -> Iterator[str]:
    """Yield the drawing by lines."""
    dataset = checked.dataset
    kind = f"  ({dataset.kind})" if dataset.kind is not None else ""
    yield f"{names.readable(dataset.name) or '/'}{kind}\n"
    for line in members(checked, "/"):
        yield line + "\n"


def members(checked: Checked, path: str, *, stored: bool = True) -> Iterator[str]:
    """Yield the drawing of a group's members by lines, without their ends; `stored`: with stored sizes."""
    return _write_members(checked, path, checked.groups[path], "", stored)


def _write_members(checked: Checked, path: str, group: Group, margin: str, stored: bool) -> Iterator[str]:
    """Yield the lines of a group, with branches as the command `tree` draws them; `stored`: with storage."""
    entries: Iterator[str | Group] = itertools.chain(
        map(type_text, group.types),
        map(_dimension, group.dimensions),
        (_write_variable(checked, names.join(path, variable.name), variable, stored) for variable in group.variables),
        [_count(len(group.attributes), "attribute")] if group.attributes else [],
        group.groups,
    )
    count = sum(map(len, (group.types, group.dimensions, group.variables, group.groups))) + bool(group.attributes)
    for number, entry in enumerate(entries):
        branch, below = ("└─ ", "   ") if number == count - 1 else ("├─ ", "│  ")
        if isinstance(entry, str):
            yield margin + branch + entry
        else:
            yield f"{margin}{branch}{names.readable(entry.name)}/"
            yield from _write_members(checked, names.join(path, entry.name), entry, margin + below, stored)


def type_text(declared: UserType) -> str:
    """Return a declared type in words."""
    match declared:
        case EnumType():
            what = f"enum of {declared.base}, {_count(len(declared.constants), 'constant')}"
        case OpaqueType():
            what = f"opaque, {_count(declared.size, 'byte')}"
        case VlenType():
            what = f"vlen of {names.readable(declared.base)}"
        case CompoundType():
            fields = (
                names.readable(field.type) + "".join(f"[{length}]" for length in field.shape)
                for field in declared.fields
            )
            what = f"compound of {', '.join(fields)}"
    return f"type {names.readable(declared.name)}: {what}"


def _dimension(dimension: Dimension) -> str:
    length = f"unlimited ({dimension.size})" if dimension.unlimited else str(dimension.size)
    return f"{names.readable(dimension.name)} = {length}"


def _write_variable(checked: Checked, fqn: str, variable: Variable, stored: bool) -> str:
    """Return a variable's line: name, type, dimensions with lengths, chunks, codecs, size."""
    words = [names.readable(variable.name), names.readable(variable.type)]
    shape = checked.shapes[fqn]
    if shape:
        axes = zip(variable.dimensions, shape, strict=True)
        lengths = (
            str(length) if isinstance(reference, int) else f"{names.readable(names.last(reference))} {length}"
            for reference, length in axes
        )
        words[-1] += f" ({', '.join(lengths)})"
    storage = variable.storage
    if storage.chunks:
        words.append(f"chunks {_times(storage.chunks)}")
    elif storage.layout is not None:
        words.append(storage.layout)
    if storage.codecs:
        words.append(" ".join(map(codec_text, storage.codecs)))
    if storage.endian == "big":
        words.append("big-endian")
    if variable.attributes:
        words.append(_count(len(variable.attributes), "attribute"))
    words.append(_sizes(checked, fqn, variable, shape, stored))
    return "  ".join(word for word in words if word)


def codec_text(codec: Codec) -> str:
    """Return the name of a codec with its parameters; the names of a chain of plugins."""
    if codec.id == ZARR_PLUGIN:
        from nczarr.arrays.codecs.zarr_plugin import names_of

        return "+".join(names_of(codec.parameters))
    name = codec.name or f"filter {codec.id}"
    return f"{name}({','.join(map(str, codec.parameters))})" if codec.parameters else name


def _sizes(checked: Checked, fqn: str, variable: Variable, shape: tuple[int, ...], stored: bool) -> str:
    """Return stored and decoded size and their ratio, if known."""
    fixed = is_fixed(variable.type, checked.types)
    plain = math.prod(shape) * size(variable.type, checked.types) if fixed else None
    stored_size = measure_stored(checked.parts[fqn]) if stored and fqn in checked.parts else None
    if stored_size is None:
        return "" if plain is None else bytes_text(plain)
    if plain is None:
        return f"{bytes_text(stored_size)} stored"
    ratio = f" ({plain / stored_size:.1f}:1)" if stored_size else ""
    return f"{bytes_text(stored_size)} of {bytes_text(plain)}{ratio}"


class StoredChunks(NamedTuple):
    """Encoded chunks of a variable."""

    number: int
    """Chunks that exist."""
    size: int | None
    """Their bytes; None if the size of one is unknown."""


def count_stored(parts: Parts) -> StoredChunks | None:
    """Return the encoded chunks of a variable; None if their places are unknown. Raises OSError, CompileError."""
    number, total = 0, 0
    known = True
    for source in parts.values():
        match source.manifest():
            case PlaceColumns() as columns:
                number += len(columns.length)
                known = known and not (len(columns.length) and int(columns.length.min()) < 0)  # whole objects
                total += int(columns.length.sum())
            case Affine() as affine:
                number += affine.number
                total += affine.length * affine.number
            case None:
                return None
    return StoredChunks(number, total if known else None)


def measure_stored(parts: Parts) -> int | None:
    """Return the bytes of a variable's encoded chunks; None if unknown. Raises OSError, CompileError."""
    stored = count_stored(parts)
    return None if stored is None else stored.size


def _times(lengths: Sequence[int]) -> str:
    return "×".join(map(str, lengths))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
