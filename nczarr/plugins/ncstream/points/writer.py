"""Writer of point streams, the inverse of `reader`.

A one-dimensional record variable with members of atomic types becomes one
collection, one feature per record, and END, in pieces. The variable's attribute
`location` names the location members; otherwise names from `LOCATION` or
`SHORT` apply. A location member of type double is not repeated in the row;
other types are. Missing altitude is NaN, missing nominal time the time. One
warning, lost-beside-points, lists the losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import escape, is_fixed
from nczarr.ast import Variable
from nczarr.ast.types import ATOMIC, CompoundType, EnumType
from nczarr.ast.types import Field as TypeField
from nczarr.diagnostics.report import Report
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.points.reader import LOCATION, CollectionMember, rows
from nczarr.plugins.ncstream.wire.element_types import WIRE, write_section
from nczarr.plugins.ncstream.wire.framing import COLLECTION, END, FEATURE, frame
from nczarr.semantics.checked import Checked

SHORT = {"latitude": "lat", "longitude": "lon", "altitude": "alt"}
"""Alternative names of location members."""

BLOCK = 1 << 22
"""Approximate bytes of rows converted at once."""


class _Plan(NamedTuple):
    """Plan for writing one variable as point features."""

    path: str
    """FQN of the variable."""
    variable: Variable
    record: CompoundType
    members: tuple[CollectionMember, ...]
    """Members of the rows."""
    places: tuple[str | None, ...]
    """Member of each location value, or None."""


def write(checked: Checked, report: Report, path: str | None = None) -> Iterator[bytes] | None:
    """Return the pieces of the point stream of the variable at `path`, or of the only suitable one.

    Returns None and reports an error if no variable is suitable. Iteration may raise
    OSError.
    """
    path = _choose(checked, report) if path is None else path
    plan = None if path is None else _plan(checked, path, report)
    if plan is None:
        return None
    _warn(checked, plan, report)
    return _write_pieces(checked, plan)


def _choose(checked: Checked, report: Report) -> str | None:
    """Return the only variable of records along one dimension; None after reporting that there is not exactly one."""
    suited = [
        path
        for path, variable in checked.variables.items()
        if len(variable.dimensions) == 1 and isinstance(checked.types.get(variable.type), CompoundType)
    ]
    if len(suited) == 1:
        return suited[0]
    what = f"{len(suited)} variables of records along one dimension" if suited else "no variable of records"
    report.error(
        "unsuited-points", f"the dataset has {what}: a stream of points has exactly one", helps=["name the variable"]
    )
    return None


def _plan(checked: Checked, path: str, report: Report) -> _Plan | None:
    """Return the members to write and those that are time, latitude, longitude…; None after a reported error."""
    variable = checked.variables.get(path)
    if variable is None:
        report.error("unsuited-points", f"there is no variable `{path}`")
        return None
    record = checked.types.get(variable.type)
    if not isinstance(record, CompoundType) or len(variable.dimensions) != 1:
        text = f"`{path}` is not a variable of records along one dimension"
        report.error("unsuited-points", text, variable.span)
        return None
    words = {field.name: _word(field, checked) for field in record.fields}
    unsuited = [field for field in record.fields if words[field.name] is None]
    if unsuited:
        text = f"member `{unsuited[0].name}` of `{path}` has type `{unsuited[0].type}`: rows of points "
        report.error("unsuited-points", text + "can hold numbers, chars and strings", variable.span)
        return None
    places = _places(variable, record, words)
    missing = [name for name, member in zip(LOCATION[:3], places, strict=False) if member is None]
    if missing:
        text = f"the records of `{path}` have no numeric member for the {', the '.join(missing)}"
        helps = ["the attribute `location` of the variable can name five members: " + ", ".join(LOCATION)]
        report.error("unsuited-points", text, variable.span, helps=helps)
        return None
    members = tuple(
        CollectionMember(field.name, words[field.name] or "", field.shape)
        for field in record.fields
        if not (field.name in places and field.type == "double")
    )
    return _Plan(path, variable, record, members, places)


def _word(field: TypeField, checked: Checked) -> str | None:
    """Return the atomic type in which a member is written; the base type of an enum."""
    declared = checked.types.get(field.type)
    if isinstance(declared, EnumType):
        return declared.base
    return field.type if declared is None else None


def _places(variable: Variable, record: CompoundType, words: Mapping[str, str | None]) -> tuple[str | None, ...]:
    """Return the member for each location value, None if missing."""
    numbers = {
        field.name for field in record.fields if not field.shape and words[field.name] not in ("char", "string", None)
    }
    named = _text(variable, "location").decode("utf-8", "replace").split(" ")
    if len(named) == len(LOCATION) and numbers.issuperset(named):
        return tuple(named)
    return tuple(
        next((candidate for candidate in (name, SHORT.get(name, "")) if candidate in numbers), None)
        for name in LOCATION
    )


def _text(variable: Variable, name: str) -> bytes:
    """Return the text of an attribute, empty if it is missing or no text."""
    value = next((attribute.value for attribute in variable.attributes if attribute.name == name), None)
    if value is None or value.type not in ("char", "string") or not value.data:
        return b""
    if isinstance(value.data, bytes):
        return value.data.rstrip(b"\0")
    return value.data[0] if value.count == 1 and isinstance(value.data[0], bytes) else b""


def _write_pieces(checked: Checked, plan: _Plan) -> Iterator[bytes]:
    """Yield the messages of a stream: the header, blocks of points, and the end."""
    yield frame(COLLECTION, _make_header(plan))
    [length] = checked.shapes[plan.path]
    sources = checked.parts.get(plan.path) or all_fill(
        checked.fills[plan.path], plan.variable.type, (length,), checked.types
    )
    width = 40 + sum(member.width + 32 * member.elements * (member.type == "string") for member in plan.members)
    step = max(1, BLOCK // width)
    for start in range(0, length, step):
        count = min(step, length - start)
        columns = _columns(sources, checked, plan, (slice(start, start + count),))
        where = _list_locations(columns, plan, count)
        data, texts = rows([columns[member.name] for member in plan.members], plan.members, count)
        yield b"".join(map(frame_feature, where, data, texts))
    yield END


def _make_header(plan: _Plan) -> points_pb.PointFeatureCollection:
    """Return the message that declares the collection: its units and members."""
    variable = plan.variable
    collection = points_pb.PointFeatureCollection(name=_text(variable, "long_name") or variable.name.encode())
    for name, place in (("timeUnit", 0), ("altUnit", 3)):
        unit = _text(variable, f"{plan.places[place]}.units")
        if unit:
            setattr(collection, name, unit)
    for declared in plan.members:
        member = collection.members.add(name=declared.name.encode(), dataType=WIRE[declared.type])
        write_section(tuple(map(range, declared.shape)), member.section)
        member.desc = _text(variable, f"{declared.name}.long_name")
        member.units = _text(variable, f"{declared.name}.units")
    return collection


def _columns(sources: Parts, checked: Checked, plan: _Plan, region: Selection) -> dict[str, NDArray[Any]]:
    """Return the values of a region of records by member.

    Each array has the region's shape, followed by the member's, in the layout's
    dtype.
    """
    fields = plan.record.fields
    if is_fixed(plan.variable.type, checked.types):
        values = sources[""].read(region)
        return {field.name: values[field.name] for field in fields}
    return {field.name: sources[escape(field.name)].read((*region, *all_of(field.shape))) for field in fields}


def _list_locations(columns: Mapping[str, NDArray[Any]], plan: _Plan, count: int) -> Iterator[tuple[float, ...]]:
    """Yield the five location values of each point, in message order.

    `columns`: numeric arrays of shape (count,).
    """
    instead = (None, None, None, np.full(count, math.nan), columns[plan.places[0] or ""])
    pairs = zip(plan.places, instead, strict=True)
    places = [np.asarray(other if name is None else columns[name], np.float64).tolist() for name, other in pairs]
    return zip(*places, strict=True)


def frame_feature(where: Sequence[float], data: bytes, texts: list[bytes]) -> bytes:
    """Return the message of a point. `where`: time, latitude, longitude, altitude and nominal time."""
    place = points_pb.Location(**dict(zip(("time", "lat", "lon", "alt", "nomTime"), where, strict=True)))
    return frame(FEATURE, points_pb.PointFeature(loc=place, data=data, sdata=texts))


def _warn(checked: Checked, plan: _Plan, report: Report) -> None:
    """Warn once of everything that the stream cannot store."""
    dataset, variable = checked.dataset, plan.variable
    written = {"location", "long_name"}
    written |= {f"{member.name}.{word}" for member in plan.members for word in ("units", "long_name")}
    written |= {f"{name}.units" for name in plan.places if name}
    lost = [f"variable `{path}`" for path in checked.variables if path != plan.path]
    lost += [
        f"attribute `{attribute.name}` of `{plan.path}`"
        for attribute in variable.attributes
        if attribute.name not in written
    ]
    lost += [
        f"global attribute `{attribute.name}`" for attribute in dataset.attributes if attribute.name != "featureType"
    ]
    lost += [f"the labels of `{field.type}`" for field in plan.record.fields if field.type not in ATOMIC]
    if lost:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        text = f"a stream of points has no place for {', '.join(lost[:5])}{more}"
        report.warning("lost-beside-points", text, variable.span)
