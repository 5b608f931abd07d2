"""Answers of DAP4: requested variables of a dataset, their document (DMR) as libnetcdf's server writes it, and values.

Constraint expressions select variables: `/v[0:9];/g/w[1][0:2:8];/time=[0:2:8]`. A slice of a dimension holds for all
variables along it that have no slice of their own there; they go on to share the dimension.

    nczarr:count    number of values that an attribute of the dataset has; further ones are for other clients

libnetcdf (4.9.0 to 4.10.1) converts a Float32 attribute twice, which replaces its last three bits. So these attributes
are Float64, which has all their values. Only `_FillValue` must have the type of its variable: `missing_value` repeats
it as Float64.

Values are little-endian and cut into chunks, with a checksum behind each variable. Those of fixed size are sent as they
are in memory; arrays are never held whole.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import all_of, linear_pieces
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import itemsize, numpy_dtype
from nczarr.arrays.values.parts import Types, descr, inner_types, is_fixed, part_tree, size
from nczarr.ast import Attribute, CompoundType, Constant, OpaqueType
from nczarr.ast.values import shortest
from nczarr.plugins.common.selected_parts import select_parts
from nczarr.plugins.opendap.common.dmr_writer import (
    STEP,
    AttributeText,
    DmrWriter,
    Projection,
    XmlAttributes,
    attribute_lines,
)
from nczarr.plugins.opendap.common.packed import PackedCells, pack
from nczarr.plugins.opendap.common.words import (
    LEFT_OUT,
    MOST_CLAUSES,
    ConstraintError,
    dap4_name,
    escape,
    is_safe_text,
    missing,
    show,
)
from nczarr.plugins.opendap.dap4.response import ERROR, HEADER, LAST, LITTLE, UNCHECKED, crc32
from nczarr.semantics.checked import Checked

_SLICES = re.compile(r"((?:\[[^\[\]]{0,80}\])*)\s*")
_UNESCAPED = re.compile(r"\\(.)")
_DIMENSION = re.compile(r"([^\[=]+)=\s*(\[[^\[\]]{0,80}\])")
_SLICE = re.compile(
    r"\[\s*(?:(?P<start>[0-9]{1,18})\s*(?::\s*(?P<middle>[0-9]{1,18})\s*)?(?::\s*(?P<stop>[0-9]{1,18})?\s*)?)?\]"
)


def select(checked: Checked, expression: str) -> Projection:
    """Return what an expression selects: all variables if it names none. Raises ConstraintError.

    `expression`: decoded value of `dap4.ce`.
    """
    clauses = [clause.strip() for clause in expression.split(";") if clause.strip()]
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} variables and dimensions")
    slices: dict[str, range] = {}
    others = []
    for clause in clauses:
        match = _DIMENSION.fullmatch(clause)
        if match is None:
            others.append(clause)
            continue
        fqn = _fqn_of(match[1].strip(), checked.dimensions, "dimension")
        length = checked.dimensions[fqn].size
        indices = _parse_slice(match[2], range(length), length, clause)
        if slices.setdefault(fqn, indices) != indices:
            raise ConstraintError(f"the dimension `{fqn}` has two slices")
    dimensions = {fqn: range(dimension.size) for fqn, dimension in checked.dimensions.items()} | slices
    selected: dict[str, tuple[range, ...]] = {}
    for clause in others:
        fqn, ranges = _select(checked, dimensions, clause)
        if selected.setdefault(fqn, ranges) != ranges:
            raise ConstraintError(f"`{fqn}` is requested twice in different ways")
    if not others:
        selected = {fqn: _whole(checked, fqn, dimensions) for fqn in checked.variables}
    return Projection({fqn: selected[fqn] for fqn in checked.variables if fqn in selected}, dimensions)


def _whole(checked: Checked, fqn: str, dimensions: Mapping[str, range]) -> tuple[range, ...]:
    """Return the ranges of a variable without slices of its own."""
    references = checked.variables[fqn].dimensions
    return tuple(
        dimensions[reference] if isinstance(reference, str) else range(length)
        for reference, length in zip(references, checked.shapes[fqn], strict=True)
    )


def _fqn_of(name: str, named: Mapping[str, object], kind: str) -> str:
    """Return the FQN that is written as `name`, perhaps with escapes. Raises ConstraintError."""
    fqn = "/" + name.removeprefix("/")
    if fqn not in named:
        fqn = names.fqn(_UNESCAPED.sub(r"\1", segment) for segment in fqn[1:].split("/"))
    if fqn not in named:
        raise missing(kind, name, fqn, named)
    return fqn


def _select(checked: Checked, dimensions: Mapping[str, range], clause: str) -> tuple[str, tuple[range, ...]]:
    """Return the FQN of a variable and the ranges of its dimensions. Raises ConstraintError."""
    name, bracket, rest = clause.partition("[")
    fqn = _fqn_of(name.strip(), checked.variables, "variable")
    if not _SLICES.fullmatch(bracket + rest):
        raise ConstraintError(f"`{clause[:80]}` is not a variable with slices: structures are sent whole")
    whole = _whole(checked, fqn, dimensions)
    slices = re.findall(r"\[[^\[\]]*\]", bracket + rest)
    if len(slices) not in (0, len(whole)):
        raise ConstraintError(f"`{clause[:80]}` has {len(slices)} slices for {len(whole)} dimensions")
    triples = zip(slices, whole, checked.shapes[fqn], strict=True) if slices else ()
    return fqn, tuple(_parse_slice(*triple, clause) for triple in triples) or whole


def _parse_slice(text: str, default: range, length: int, clause: str) -> range:
    """Return the indices of a slice of a dimension; `default`: those of `[]`. Raises ConstraintError."""
    match = _SLICE.fullmatch(text)
    if match is None:
        raise ConstraintError(f"`{clause[:80]}`: slices are `[start:stride:stop]`, `[start:stop]`, `[index]`, `[]`")
    if match["start"] is None:
        return default
    colons, start, middle = text.count(":"), int(match["start"]), match["middle"]
    stride = int(middle) if colons == 2 and middle is not None else 1
    last = start if not colons else int(middle) if colons == 1 and middle is not None else length - 1
    last = int(match["stop"]) if match["stop"] is not None else last
    if stride < 1 or last < start or last >= length:
        raise ConstraintError(f"`{clause[:80]}`: `{text}` is no section of a dimension of length {length}")
    return range(start, last + 1, stride)


FILL, MISSING = "_FillValue", "missing_value"


def dmr(checked: Checked, projection: Projection, name: str) -> str:
    """Return the document of a projection; `name`: name of the dataset."""
    return "".join(line + "\n" for line in _ServedDmr(checked, projection).document("2.0", name, {}))


class _ServedDmr(DmrWriter):
    dialect = "dap4"
    unlimited = ("_edu.ucar.isunlimited", "1")

    def __init__(self, checked: Checked, projection: Projection) -> None:
        super().__init__(checked, projection)
        self.left_out: list[str] = []
        self.restored: list[str] = []
        """Messages about losses that our own client does not have."""
        self._fill: tuple[str, ...] = ()
        """Text of a fill value that `missing_value` repeats, of the attributes that are written."""

    def end(self) -> Iterator[str]:
        messages = [*self.left_out, *self.restored, *self._list_misread()]
        if messages:
            texts = [show(message.encode("utf-8", "surrogateescape")) for message in messages]
            hints: XmlAttributes = {"nczarr__type": "string", "nczarr__count": len(self.left_out)}
            yield from attribute_lines(LEFT_OUT, AttributeText("String", hints, texts), STEP)

    def _list_misread(self) -> Iterator[str]:
        """Yield messages about variables of which libnetcdf reads other values, without an error."""
        for fqn, ranges in self.selected.items():
            type_name = self.checked.variables[fqn].type
            records = [
                one for inner in inner_types(type_name, self.types) if (one := self.types.get(inner)) is not None
            ]
            fields = [field for one in records if isinstance(one, CompoundType) for field in one.fields]
            # libnetcdf (to 4.10.1) reads one element of a member, and takes the second one for the next member
            if any(math.prod(field.shape) > 1 for field in fields):
                yield f"{fqn}: libnetcdf reads other values, because a member of its compound type is an array"
            elif math.prod(map(len, ranges)) > 1 and _is_padded(type_name, self.types):
                yield f"{fqn}: libnetcdf 4.9.0 reads other values, because C pads its compound type"

    def attributes(self, attributes: tuple[Attribute, ...], owner: str, step: str) -> Iterator[str]:
        """Yield the lines of attributes, with a fill value of floats as `missing_value`."""
        self._fill = _repeat_fill(attributes) if owner in self.selected else ()
        yield from super().attributes(attributes, owner, step)
        if self._fill and all(attribute.name != MISSING for attribute in attributes):
            repeated = AttributeText(self.word("double"), {"nczarr__count": 0}, self._fill)
            yield from attribute_lines(MISSING, repeated, step)

    def attribute(self, attribute: Attribute, owner: str) -> AttributeText | None:
        """Return the text of an attribute, and note losses."""
        value, declared = attribute.value, self.types.get(attribute.value.type)
        place = f"{owner}@{attribute.name}"
        opaque_hints: XmlAttributes = {}
        if isinstance(declared, OpaqueType):
            opaque_hints = {"nczarr__type": dap4_name(value.type), "_edu.ucar.opaque.size": declared.size}
            attribute = attribute.model_copy(update={"value": value.model_copy(update={"type": "ubyte"})})
        written = super().attribute(attribute, owner)
        if written is None:
            self.left_out.append(f"{place}: attributes are numbers and texts")
            return None
        texts: Sequence[str] = ["NaN" if text == "nan" else text for text in written.texts]
        if value.type in ("char", "string"):
            texts = self._texts(value, place, written.texts)
        elif value.type == "float" and attribute.name != FILL:
            texts = ["NaN" if math.isnan(number) else shortest(number, "double") for number in value.as_numbers()]
            written = AttributeText(self.word("double"), {"nczarr__type": "float", **written.hints}, texts)
        if not texts:
            self.left_out.append(f"{place}: an attribute has at least one value")
            return None
        if self._fill and attribute.name == MISSING:
            opaque_hints["nczarr__count"], texts = len(texts), [*texts, *self._fill]
        return written._replace(hints=written.hints | opaque_hints, texts=texts)

    def _texts(self, value: Constant, place: str, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts of an attribute as other clients show them, and note what they do not have."""
        items = (value.data,) if isinstance(value.data, bytes) else value.data
        if isinstance(value.data, bytes) and value.data.endswith(b"\0"):
            self.restored.append(f"{place}: NULs at the end")
            items = (value.data.rstrip(b"\0"),)
            texts = [show(items[0] or b"")]
        if not all(_is_exact(item) for item in items if isinstance(item, bytes)):
            self.restored.append(f"{place}: characters that XML does not hold are replaced")
        return texts


def _is_padded(type_name: str, types: Types) -> bool:
    """Return whether records of numbers have gaps in memory; False for types with other members."""
    declared = [types.get(inner) for inner in inner_types(type_name, types)]
    if not is_fixed(type_name, types) or any(isinstance(one, OpaqueType) for one in declared):
        return False
    packed = numpy_dtype(descr(type_name, types))
    return bool(_align(packed).itemsize > packed.itemsize)


def _align(dtype: Any) -> Any:
    """Return the dtype of records as C lays them out in memory."""
    if dtype.names is None:
        return dtype
    return np.dtype([(name, _align(dtype[name])) for name in dtype.names], align=True)


def _repeat_fill(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    """Return the text of a fill value of floats that `missing_value` must repeat: it lacks it, or is missing."""
    values = {attribute.name: attribute.value for attribute in attributes}
    fill, missing = values.get(FILL), values.get(MISSING)
    if fill is None or fill.type != "float" or fill.count != 1:
        return ()
    (number,) = fill.as_numbers()
    if math.isnan(number) or (missing is not None and missing.type not in ("float", "double")):
        return ()
    is_there = missing is not None and number in missing.as_numbers()
    return () if is_there else (shortest(number, "double"),)


def _is_exact(text: bytes) -> bool:
    try:
        return is_safe_text(text.decode())
    except UnicodeDecodeError:
        return False


PIECE = 2 << 20
"""Approximate bytes of values read at once: a checksum and the copies into chunks find them in the cache."""

CELLS = 1 << 12
"""Cells of variable size read at once."""

CHUNK = (1 << 20) - HEADER
"""Bytes of values in a chunk; the last has fewer."""

LONGEST = (1 << 24) - 1
"""Maximum bytes of a chunk."""

TEXT_SIZE = 64
"""Estimated bytes of a value of unknown size."""


def response(checked: Checked, projection: Projection, name: str, *, checksums: bool = True) -> Iterator[bytes]:
    """Yield the data response of a projection: whole chunks. Raises OSError."""
    flags = LITTLE | (0 if checksums else UNCHECKED)
    document = dmr(checked, projection, name).encode("utf-8", "replace") + b"\r\n"  # DAP4: CRLF ends the DMR
    for start in range(0, len(document), LONGEST):
        yield _chunk(flags, document[start : start + LONGEST])
    pieces, size = list[bytes](), 0
    for piece in _values(checked, projection, checksums):
        start = 0
        while len(piece) - start > CHUNK - size:
            stop = start + CHUNK - size
            yield _chunk(flags, *pieces, piece[start:stop])
            pieces, size, start = [], 0, stop
        pieces.append(bytes(piece[start:]))  # a view of a mapped file must not be read when the file has changed
        size += len(pieces[-1])
    yield _chunk(flags | LAST, *pieces)


def _chunk(flags: int, *parts: bytes | memoryview) -> bytes:
    """Return a chunk with the bytes of all parts."""
    return b"".join((struct.pack(">I", flags << 24 | sum(map(len, parts))), *parts))


def error_chunk(status: int, message: str) -> bytes:
    """Return the last chunk of a response that failed."""
    document = error_document(status, message).encode("utf-8", "replace")
    return _chunk(LITTLE | ERROR | LAST, document)


def error_document(status: int, message: str) -> str:
    """Return the document of an error: an HTTP status and a text."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Error xmlns="http://xml.opendap.org/ns/DAP/4.0#" httpcode="{status}">\n'
        f"    <Message>{escape(message)}</Message>\n</Error>\n"
    )


def _values(checked: Checked, projection: Projection, checksums: bool) -> Iterator[bytes | memoryview]:
    """Yield the values of the variables in the projection, each followed by its CRC-32 if `checksums`."""
    for fqn, ranges in projection.variables.items():
        checksum = 0
        for piece in values(checked, fqn, ranges):
            checksum = crc32(piece, checksum) if checksums else 0
            yield piece
        if checksums:
            yield struct.pack("<I", checksum)


def values(checked: Checked, fqn: str, ranges: tuple[range, ...]) -> Iterator[bytes | memoryview]:
    """Yield the values of a variable. Raises OSError."""
    type_name, sources = checked.variables[fqn].type, select_parts(checked, fqn, ranges)
    if is_fixed(type_name, checked.types):
        for part in slabs(sources[""], max(1, PIECE // max(1, itemsize(sources[""].layout.dtype)))):
            yield memoryview(pack(part, type_name, checked.types).view(np.uint8).data)
        return
    cells, tree = PackedCells(sources, checked.types), part_tree(type_name, checked.types)
    for region in linear_pieces(all_of(tuple(map(len, ranges))), CELLS):
        yield b"".join(cells.rows(tree, region))


def size_of(checked: Checked, projection: Projection) -> int:
    """Return the bytes of the values of a projection, estimated for types of variable size."""
    total = 0
    for fqn, ranges in projection.variables.items():
        type_name = checked.variables[fqn].type
        width = size(type_name, checked.types) if is_fixed(type_name, checked.types) else TEXT_SIZE
        total += math.prod(map(len, ranges)) * width
    return total
