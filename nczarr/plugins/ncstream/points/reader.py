"""Reader of point streams: a collection defines the row layout; a feature has location, time and a row.

Each collection becomes a dimension `obs` and a record variable `obs(obs)`; the
next ones are `obs_2`, …. The first record members are `time latitude longitude
altitude nominal_time` (with a `_` if a member has that name), listed in the
variable's attribute `location`. The collection's members follow; enums become
integers. Member metadata become attributes of the variable (`time.units`,
`depth.long_name`); its `long_name` is the collection's name.

Station lists are skipped with a warning; END may be missing. Invariant: memory
is proportional to the input, because only rows of the collection's length are
decoded.

Rows are big-endian and packed. A string member takes one index into the strings
of its row. If the member has dimensions, all its strings follow at that index,
so indices count members, not strings.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.decoded_parts import in_one_piece
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Parts, numpy_dtype
from nczarr.arrays.values.parts import descr, escape, is_fixed
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Variable
from nczarr.ast.types import ATOMIC, CompoundType, Field
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.names import from_bytes, name_problem
from nczarr.options import Options
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.read.scan import entries, refuse, refuse_error
from nczarr.plugins.ncstream.wire.element_types import ATOMS, ENUM_BASES, name_of
from nczarr.plugins.ncstream.wire.framing import COLLECTION, FEATURE, STATIONS, Incoming
from nczarr.plugins.ncstream.wire.limits import DEFAULT, UnreadableStreamError, bad, contradictory, oversized
from nczarr.semantics.checked import Unchecked

LOCATION = ("time", "latitude", "longitude", "altitude", "nominal_time")
"""Location values in message order; `nominal_time` is the time of the enclosing series."""


class CollectionMember(NamedTuple):
    """One member of a collection."""

    name: str
    type: str
    """Atomic type in the model."""
    shape: tuple[int, ...]
    """Shape of its values."""

    @property
    def elements(self) -> int:
        """Number of values in one row."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        """Bytes in one row; strings take one 4-byte index in total."""
        return 4 if self.type == "string" else self.elements * ATOMIC[self.type].size


class Collection(NamedTuple):
    """A collection and its features."""

    message: points_pb.PointFeatureCollection
    """Message that describes the collection."""
    offset: int
    """Stream offset of the message."""
    members: tuple[CollectionMember, ...]
    """Members of a row."""
    length: int
    """Bytes of a row."""
    places: array[float]
    """Five doubles per feature: time and place."""
    offsets: array[int]
    """Stream offset of each feature."""
    rows: list[bytes]
    """Packed members of each feature."""
    texts: list[tuple[bytes, ...]]
    """Strings of each feature."""

    def add(self, feature: points_pb.PointFeature, offset: int) -> None:
        """Add one feature. Raises UnreadableStreamError if its row has the wrong length."""
        if len(feature.data) != self.length:
            text = f"a row has {len(feature.data)} bytes, but the members of the collection have {self.length}"
            raise contradictory(text, offset)
        loc = feature.loc
        self.places.extend((loc.time, loc.lat, loc.lon, loc.alt, loc.nomTime))
        self.offsets.append(offset)
        self.rows.append(feature.data)
        self.texts.append(tuple(feature.sdata))


def row_dtype(members: Iterable[CollectionMember]) -> np.dtype[Any]:
    """Return the NumPy dtype of a row. Fields are named by number because member names are arbitrary."""
    fields: list[tuple[str, str, tuple[int, ...]]] = []
    for number, member in enumerate(members):
        is_text = member.type == "string"
        code = ">i4" if is_text else "S1" if member.type == "char" else f">{ATOMIC[member.type].code}"
        fields.append((str(number), code, () if is_text else member.shape))
    return np.dtype(fields)


def parts(collection: Collection, record: CompoundType) -> Parts:
    """Return the arrays of a collection's records. Raises UnreadableStreamError if a string index is invalid."""
    count = len(collection.rows)
    places = np.array(collection.places, "<f8").reshape(count, len(LOCATION))
    records = np.empty(count, row_dtype(collection.members))
    if count and collection.length:
        records = np.frombuffer(b"".join(collection.rows), records.dtype)
    columns: list[NDArray[Any]] = [places[:, place] for place in range(len(LOCATION))]
    texts = _texts(collection, records)
    columns += [
        texts[number] if member.type == "string" else records[str(number)]
        for number, member in enumerate(collection.members)
    ]
    name = f"/{record.name}"
    types = {name: record}
    if is_fixed(name, types):
        whole = descr(name, types)
        values = np.zeros(count, numpy_dtype(whole))
        for field, column in zip(record.fields, columns, strict=True):
            values[field.name] = column
        return {"": _source(values, whole)}
    pieces: Parts = {}
    for field, column in zip(record.fields, columns, strict=True):
        form = descr(field.type, types)
        pieces[escape(field.name)] = _source(column.astype(numpy_dtype(form)), form)
    return pieces


def _source(values: NDArray[Any], form: Any) -> ArrayInMemory:
    return ArrayInMemory(in_one_piece(form, values.shape), values)


def _texts(collection: Collection, records: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return the values of the string members by member number: objects (`bytes`), shape (features, *member shape).

    `records`: the rows, a structured array of shape (features,). Raises
    UnreadableStreamError for indices outside the strings of a row.
    """
    numbers = [number for number, member in enumerate(collection.members) if member.type == "string"]
    members = [collection.members[number] for number in numbers]
    count = len(records)
    if not count:
        return {number: np.empty((0, *member.shape), object) for number, member in zip(numbers, members, strict=True)}
    if not numbers:
        return {}
    indices = np.stack([records[str(number)].astype(np.int64) for number in numbers], axis=1)
    lengths = [member.elements for member in members]
    patterns, which = np.unique(indices, axis=0, return_inverse=True)
    starts = np.array([_starts(pattern, lengths) for pattern in patterns.tolist()], np.int64)[which.reshape(-1)]
    available = np.fromiter(map(len, collection.texts), np.int64, count)
    wrong = np.flatnonzero(((starts < 0) | (starts + np.array(lengths) > available[:, None])).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        text = f"a row has {available[row]} strings, but its indices are {', '.join(map(str, indices[row].tolist()))}"
        raise contradictory(text, collection.offsets[row])
    texts = {}
    for place, (number, member) in enumerate(zip(numbers, members, strict=True)):
        column = np.empty(count * member.elements, object)
        first = starts[:, place].tolist()
        column[:] = [
            text
            for row, start in zip(collection.texts, first, strict=True)
            for text in row[start : start + member.elements]
        ]
        texts[number] = column.reshape(count, *member.shape)
    return texts


def _starts(indices: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """Return the first string of each member in one row, -1 if its index is invalid.

    An index stands for all strings of its member; an unused index stands for
    one string.
    """
    spans: dict[int, int] = {}
    for index, length in zip(indices, lengths, strict=True):
        if spans.setdefault(index, length) != length:
            return [-1] * len(indices)
    begin, added = {}, 0
    for index in sorted(spans):
        begin[index] = index + added if index >= 0 else -1
        added += spans[index] - 1
    return [begin[index] for index in indices]


def rows(
    columns: Sequence[NDArray[Any]], members: Sequence[CollectionMember], count: int
) -> tuple[list[bytes], list[list[bytes]]]:
    """Return the packed rows of `count` features and the strings of each. NIL becomes an empty string.

    `columns`: for each member an array of shape (count, *member shape) in its
    dtype, or objects (`bytes | None`).
    """
    records = np.zeros(count, row_dtype(members))
    texts: list[list[bytes]] = [[] for _ in range(count)]
    index = 0
    for number, (column, member) in enumerate(zip(columns, members, strict=True)):
        if member.type != "string":
            records[str(number)] = column
            continue
        records[str(number)] = index
        index += 1
        for into, row in zip(texts, column.reshape(count, member.elements).tolist(), strict=True):
            into += [text or b"" for text in row]
    raw, length = records.tobytes(), records.dtype.itemsize
    if not length:
        return [b""] * count, texts
    return [raw[start : start + length] for start in range(0, len(raw), length)], texts


MOST_MEMBERS = 10_000
"""Maximum members of a collection."""

LONGEST_ROW = 1 << 31
"""Exclusive limit of the bytes of a row."""


def is_points(head: bytes) -> bool:
    """Return whether the bytes begin a point stream."""
    return head[:4] in (COLLECTION, FEATURE, STATIONS)


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a point stream. Returns None, and reports the fault, if it is invalid."""
    collections: list[Collection] = []
    try:
        collections.extend(_collections(source, report))
        stems = ["obs" if not place else f"obs_{place + 1}" for place in range(len(collections))]
        declared = [_declare(stem, collection, source) for stem, collection in zip(stems, collections, strict=True)]
        values: dict[str, Parts] = {}
        for stem, collection, (record, _, _) in zip(stems, collections, declared, strict=True):
            values["/" + stem] = parts(collection, record)
    except UnreadableStreamError as error:
        refuse(error, source, report)
        return None
    dataset = Dataset(
        name="",
        types=tuple(record for record, _, _ in declared),
        dimensions=tuple(dimension for _, dimension, _ in declared),
        variables=tuple(variable for _, _, variable in declared),
        attributes=(Attribute(name="featureType", value=Constant.text(b"point")),),
    )
    return Unchecked(dataset, parts=values)


def _collections(source: Source, report: Report) -> Iterator[Collection]:
    """Yield each collection once its features are complete. Raises UnreadableStreamError."""
    collection: Collection | None = None
    end = len(source.data)
    for entry in entries(Incoming(source.data, DEFAULT)):
        match entry.kind:
            case "feature":
                if collection is None:
                    raise bad("a point precedes its collection", entry.offset)
                collection.add(entry.message, entry.offset)
            case "collection":
                if collection is not None:
                    yield collection
                collection = _begin(entry.message, entry.offset)
            case "stations":
                text = f"a list of {len(entry.message.stations)} stations is ignored"
                report.warning("skipped-stations", text, Span(source, entry.offset, entry.end))
            case "error":
                refuse_error(entry, Span(source, entry.offset, entry.end), report)
            case "end":
                end = entry.end
            case _:
                raise bad(f"a message `{entry.kind}` is not allowed in a stream of points", entry.offset, entry.end)
    if end < len(source.data):
        raise bad("the stream continues after its end", end)
    if collection is not None:
        yield collection


def _begin(message: points_pb.PointFeatureCollection, offset: int) -> Collection:
    """Return an empty collection. Raises UnreadableStreamError if the model cannot represent a member."""
    if len(message.members) > MOST_MEMBERS:
        raise oversized(f"a collection has {len(message.members)} members, more than {MOST_MEMBERS}", offset)
    members: list[CollectionMember] = []
    for declared in message.members:
        name = names.normal(from_bytes(declared.name))
        problem = name_problem(name)
        if problem is not None:
            raise bad(f"a member of the collection has an invalid name: {problem}", offset)
        word = ATOMS.get(declared.dataType) or ENUM_BASES.get(declared.dataType)
        if word is None:
            text = f"member `{name}` has the type {name_of(declared.dataType)}, which rows of points do not support"
            raise bad(text, offset)
        shape = tuple(extent.size for extent in declared.section.range)
        if not all(shape) or math.prod(shape) >= LONGEST_ROW:
            raise bad(f"member `{name}` has the lengths {', '.join(map(str, shape))}", offset)
        members.append(CollectionMember(name, word, shape))
    if len({member.name for member in members}) < len(members):
        raise contradictory("two members of the collection have the same name", offset)
    length = sum(member.width for member in members)
    if length >= LONGEST_ROW:
        raise oversized(f"a row has {length} bytes", offset)
    return Collection(message, offset, tuple(members), length, array("d"), array("q"), [], [])


def _declare(stem: str, collection: Collection, source: Source) -> tuple[CompoundType, Dimension, Variable]:
    """Return the record type, dimension and variable of a collection."""
    span = Span(source, collection.offset, collection.offset)
    members = collection.members
    where, taken = [], {member.name for member in members}
    for name in LOCATION:
        while name in taken:
            name += "_"
        where.append(name)
    record = CompoundType(
        name=f"{stem}_t",
        fields=(
            *(Field(name=name, type="double", span=span) for name in where),
            *(Field(name=member.name, type=member.type, shape=member.shape, span=span) for member in members),
        ),
        span=span,
    )
    message = collection.message
    texts = [
        ("location", " ".join(where).encode()),
        ("long_name", message.name),
        (f"{where[0]}.units", message.timeUnit),
        (f"{where[1]}.units", b"degrees_north"),
        (f"{where[2]}.units", b"degrees_east"),
        (f"{where[3]}.units", message.altUnit),
        (f"{where[4]}.units", message.timeUnit),
    ]
    for member, declared in zip(members, message.members, strict=True):
        texts += [(f"{member.name}.long_name", declared.desc), (f"{member.name}.units", declared.units)]
    attributes = tuple(Attribute(name=name, value=Constant.text(text), span=span) for name, text in texts if text)
    variable = Variable(name=stem, type=f"/{record.name}", dimensions=(f"/{stem}",), attributes=attributes, span=span)
    return record, Dimension(name=stem, size=len(collection.rows), span=span), variable
