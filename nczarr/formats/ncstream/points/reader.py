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
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Variable
from nczarr.ast.types import CompoundType, Field
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.formats.ncstream.points.point_rows import LOCATION, Collection, CollectionMember, parts
from nczarr.formats.ncstream.read.scan import entries, refuse, refuse_error
from nczarr.formats.ncstream.wire.element_types import ATOMS, ENUM_BASES, name_of
from nczarr.formats.ncstream.wire.framing import COLLECTION, FEATURE, STATIONS, Incoming
from nczarr.formats.ncstream.wire.limits import DEFAULT, UnreadableStreamError, bad, contradictory, oversized
from nczarr.names import from_bytes, name_problem
from nczarr.options import Options

if TYPE_CHECKING:
    from nczarr.arrays.sources.source import Parts

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
        declared = [_declared(stem, collection, source) for stem, collection in zip(stems, collections, strict=True)]
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
                collection = _begun(entry.message, entry.offset)
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


def _begun(message: points_pb.PointFeatureCollection, offset: int) -> Collection:
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


def location_names(taken: set[str]) -> tuple[str, ...]:
    """Return names for the location members that do not clash with the names in `taken`."""
    free = []
    for name in LOCATION:
        while name in taken:
            name += "_"
        free.append(name)
    return tuple(free)


def _declared(stem: str, collection: Collection, source: Source) -> tuple[CompoundType, Dimension, Variable]:
    """Return the record type, dimension and variable of a collection."""
    span = Span(source, collection.offset, collection.offset)
    members = collection.members
    where = location_names({member.name for member in members})
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
