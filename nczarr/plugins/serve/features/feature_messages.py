"""Messages of samples and coverages: the collection or header that declares them, features, coordinates, and values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.time_units import CALENDARS
from nczarr.ast.types import ATOMIC
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import Physical, attributes_of, text_of
from nczarr.plugins.ncstream import messages
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.points.reader import CollectionMember, rows
from nczarr.plugins.ncstream.points.writer import frame_feature
from nczarr.plugins.ncstream.wire import protobuf
from nczarr.plugins.ncstream.wire.element_types import WIRE, write_section
from nczarr.plugins.ncstream.wire.framing import (
    COLLECTION,
    COVERAGE_DATA,
    COVERAGES,
    END,
    ERROR,
    FEATURE,
    STATIONS,
    frame,
)
from nczarr.plugins.ncstream.write.header_writer import encode_attributes
from nczarr.plugins.serve.features.coverages import (
    GEO_X,
    GEO_Y,
    LATITUDE,
    LONGITUDE,
    CoverageAxis,
    CoverageQuery,
    GridCoverage,
    coordinates_in,
)
from nczarr.plugins.serve.features.sample_reader import MOST, SampleFilter, SampleReader
from nczarr.plugins.serve.features.sampling import SampledColumn, Sampling, time_units, units_of
from nczarr.semantics.checked import Checked

FRAME = len(FEATURE) + 56
"""Approximate bytes of a feature beside its row."""

TEXT = 32
"""Assumed bytes of a text."""

ENCODED = 1 << 12
"""Samples encoded at once."""


def point_messages(
    sampling: Sampling, columns: Sequence[SampledColumn], wanted: SampleFilter, name: str
) -> Iterator[bytes]:
    """Yield the stream of the requested samples: the collection, features block by block, and the end.

    Raises OSError, CompileError, UnsuitedFeaturesError.
    """
    yield frame(COLLECTION, _make_collection(sampling, columns, name))
    members = [CollectionMember(column.name, column.type, column.shape) for column in columns]
    for block in SampleReader(sampling).blocks(columns, wanted):
        for start in range(0, block.places.shape[1], ENCODED):
            part = slice(start, start + ENCODED)
            places = block.places[:, part].tolist()
            data, texts = rows([column[part] for column in block.columns], members, len(places[0]))
            where = zip(*places, places[0], strict=True)  # the nominal time is the time
            yield b"".join(map(frame_feature, where, data, texts))
    yield END


def error_message(text: str) -> bytes:
    """Return the message that ends a stream early."""
    return frame(ERROR, pb.Error(message=text.encode("utf-8", "replace")))


def stream_size(sampling: Sampling, columns: Sequence[SampledColumn]) -> tuple[int, int]:
    """Return the approximate bytes of the stream of all samples, and the memory to make it."""
    width = FRAME + sum(_row_width(column) for column in columns)
    lengths = (sampling.checked.dimensions[axis].size for axis in sampling.links)
    count = math.prod(sampling.lengths)
    return width * count, 3 * width * min(count, MOST) + 8 * (len(columns) + 8) * sum(lengths)


def _row_width(column: SampledColumn) -> int:
    """Return the approximate bytes of a variable in a row."""
    member = CollectionMember(column.name, column.type, column.shape)
    return member.width + (TEXT * member.elements if column.type == "string" else 0)


def _make_collection(
    sampling: Sampling, columns: Sequence[SampledColumn], name: str
) -> points_pb.PointFeatureCollection:
    """Return the message that describes rows."""
    collection = points_pb.PointFeatureCollection(
        name=names.to_bytes(name),
        timeUnit=time_units(sampling).encode("utf-8", "replace"),
        altUnit=units_of(sampling.places[3]).encode("utf-8", "replace") or None,
    )
    for column in columns:
        attributes = attributes_of(sampling.checked, column.path)
        member = collection.members.add(name=names.to_bytes(column.name), dataType=WIRE[column.type])
        member.desc = text_of(attributes, "long_name", "description", "standard_name").encode("utf-8", "replace")
        member.units = text_of(attributes, "units").encode("utf-8", "replace")
        write_section(tuple(map(range, column.shape)), member.section)
    return collection


def station_messages(sampling: Sampling, wanted: SampleFilter) -> Iterator[bytes]:
    """Yield the message with the list of stations. Raises OSError, CompileError, UnsuitedFeaturesError."""
    listed = points_pb.StationList()
    for labels, places in SampleReader(sampling).stations(wanted):
        for label, (latitude, longitude, altitude) in zip(labels, places.T.tolist(), strict=True):
            listed.stations.add(id=label.encode("utf-8", "replace"), lat=latitude, lon=longitude, alt=altitude)
    yield frame(STATIONS, listed)


def measure_extent(sampling: Sampling) -> tuple[tuple[float, float] | None, ...]:
    """Return the lowest and highest time, latitude and longitude; None where no value is present."""
    reader = SampleReader(sampling)
    return tuple(reader.measure(column) for column in sampling.places[:3] if column is not None)


INLINE = 500
"""Number of coordinates from which on a header leaves them to `req=coord`, as that of TDS."""

PIECE = 4 << 20
"""Bytes of values read at once."""

VERSION = 3
"""Version of values."""

CALENDAR = {"proleptic_gregorian": 0, "standard": 1, "noleap": 2, "all_leap": 3, "360_day": 4, "julian": 5}
"""Numbers of calendars."""

PACKING = ("scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value", "valid_min", "valid_max",
           "valid_range")  # fmt: skip
"""Attributes with stored values, which unpacked variables lose."""

INDEPENDENT, TWO_DIMENSIONS = 0, 3
"""Kinds of axes by their dimensions: one, or two of a curvilinear grid."""

REGULAR, IRREGULAR = 0, 1
"""Distances of coordinates."""


def name_kind(coverages: Sequence[GridCoverage]) -> str:
    """Return the kind of a dataset of coverages in netCDF-Java's words."""
    return "CURVILINEAR" if all(one.is_curvilinear for one in coverages) else "GRID"


def coverage_header(checked: Checked, coverages: Sequence[GridCoverage], location: str) -> bytes:
    """Return the message that declares coverages."""
    written = pb.CoverageDataset(name=names.to_bytes(location), coverageType=name_kind(coverages))
    written.atts.extend(encode_attributes(checked, checked.groups["/"].attributes))
    axes = {axis.path: axis for one in coverages for axis in one.axes}
    _write_extent(axes.values(), written)
    for axis in axes.values():
        written.coordAxes.append(_write_axis(checked, axis, axis.values, INLINE))
    written.coordSys.extend(_list_systems(coverages))
    written.coordTransforms.extend(_list_transforms(checked, coverages))
    for one in coverages:
        attributes = attributes_of(checked, one.path)
        grid = written.grids.add(name=names.to_bytes(one.name), dataType=WIRE[one.type])
        grid.coordSys = names.to_bytes(one.system)
        grid.units = text_of(attributes, "units").encode("utf-8", "replace")
        grid.description = text_of(attributes, "long_name", "standard_name").encode("utf-8", "replace")
        grid.atts.extend(_list_attributes(checked, one.path, one.conversion))
    return frame(COVERAGES, written)


def _write_extent(axes: Any, into: pb.CoverageDataset) -> None:
    """State the latitudes and longitudes, the coordinates of a projection, and the times of all axes."""
    for kinds, name in (((LONGITUDE, LATITUDE), "latlonRect"), ((GEO_X, GEO_Y), "projRect")):
        across, along = ([axis.values for axis in axes if axis.kind == kind and axis.role in "XY"] for kind in kinds)
        if across and along:
            west, south = (min(float(values.min()) for values in each) for each in (across, along))
            east, north = (max(float(values.max()) for values in each) for each in (across, along))
            rectangle = getattr(into, name)
            rectangle.startx, rectangle.starty = west, south
            rectangle.incx, rectangle.incy = east - west, north - south
    dated = [axis for axis in axes if axis.role == "T" and axis.conversion.times is not None and axis.values.size]
    if dated:
        units = dated[0].conversion.times
        start, end = (
            round((float(units.start) + float(edge) * float(units.unit)) * 1000)
            for edge in (dated[0].values.min(), dated[0].values.max())
        )
        into.dateRange.start, into.dateRange.end = start, end
        into.dateRange.calendar = CALENDAR[CALENDARS[(units.calendar or "standard").lower()]]


def _list_systems(coverages: Sequence[GridCoverage]) -> Iterator[pb.CoordSys]:
    """Yield the coordinate systems of coverages, each once."""
    for one in {one.system: one for one in coverages}.values():
        system = pb.CoordSys(name=names.to_bytes(one.system))
        system.coverageType = pb.CURVILINEAR if one.is_curvilinear else pb.GRID
        system.axisNames.extend(names.to_bytes(axis.name) for axis in one.axes)
        if one.mapping is not None:
            system.transformNames.append(names.to_bytes(one.mapping.removeprefix("/")))
        yield system


def _list_transforms(checked: Checked, coverages: Sequence[GridCoverage]) -> Iterator[pb.CoordTransform]:
    """Yield the projections of coverages, each once."""
    for path in dict.fromkeys(one.mapping for one in coverages if one.mapping is not None):
        attributes = encode_attributes(checked, checked.variables[path].attributes)
        yield pb.CoordTransform(isHoriz=True, name=names.to_bytes(path.removeprefix("/")), params=attributes)


def _list_attributes(checked: Checked, path: str, conversion: Physical) -> list[pb.Attribute]:
    """Return the attributes of a variable; those of packing only where its values are sent as they are stored."""
    is_packed = conversion.scale is not None or conversion.offset is not None
    kept = (one for one in checked.variables[path].attributes if not (is_packed and one.name in PACKING))
    return encode_attributes(checked, kept)


def _write_axis(checked: Checked, axis: CoverageAxis, values: NDArray[np.float64], inline: int) -> pb.CoordAxis:
    """Return an axis with coordinates; those of long irregular ones are left out. `inline`: length from which on."""
    attributes = attributes_of(checked, axis.path)
    written = pb.CoordAxis(name=names.to_bytes(axis.name), dataType=WIRE[axis.type], axisType=axis.kind)
    written.atts.extend(_list_attributes(checked, axis.path, axis.conversion))
    written.units = text_of(attributes, "units").encode("utf-8", "replace")
    written.description = text_of(attributes, "long_name", "standard_name").encode("utf-8", "replace")
    written.depend = TWO_DIMENSIONS if values.ndim == 2 else INDEPENDENT
    if values.ndim == 2:
        written.shape.extend(values.shape)
    flat = values.reshape(-1)
    written.nvalues, written.startValue, written.endValue = len(flat), float(flat[0]), float(flat[-1])
    written.resolution = (written.endValue - written.startValue) / max(1, len(flat) - 1)
    regular = written.startValue + np.arange(len(flat)) * written.resolution
    is_regular = values.ndim == 1 and len(flat) > 1 and bool((regular == flat).all()) and written.resolution != 0
    written.spacing = REGULAR if is_regular else IRREGULAR
    if not is_regular and len(flat) < inline:
        written.values = flat.astype(">f8").tobytes()
    return written


def coordinate_messages(axes: Sequence[CoverageAxis]) -> Iterator[bytes]:
    """Yield a message of columns with the coordinates of each axis."""
    for axis in axes:
        message = messages.of_values(axis.name, axis.values, tuple(map(range, axis.values.shape)), column=True)
        yield b"".join(map(bytes, messages.write_message(message)))


def values_size(coverages: Sequence[GridCoverage], cuts: Mapping[str, NDArray[np.int64]]) -> int:
    """Return the bytes of the values of parts."""
    return sum(
        math.prod(len(cuts[dimension]) for dimension in one.dimensions) * ATOMIC[one.type].size for one in coverages
    )


def coverage_data(
    checked: Checked, coverages: Sequence[GridCoverage], cuts: Mapping[str, NDArray[np.int64]], query: CoverageQuery
) -> Iterator[bytes]:
    """Yield the message with the values of parts of coverages. Raises OSError, CompileError.

    Packed values are unpacked, and missing ones among them are NaN; all others are as stored.
    """
    transforms = _list_transforms(checked, coverages)
    head = pb.CoverageDataResponse(coordSys=_list_systems(coverages), coordTransforms=transforms)
    for axis in {axis.path: axis for one in coverages for axis in one.axes}.values():
        values = coordinates_in(axis, cuts, query)
        head.coordAxes.append(_write_axis(checked, axis, values, values.size + 1))
    begin, arrays = head.SerializeToString(deterministic=True), []
    for one in coverages:
        shape = tuple(len(cuts[dimension]) for dimension in one.dimensions)
        array = pb.GeoReferencedArray(coverageName=names.to_bytes(one.name), dataType=WIRE[one.type], version=VERSION)
        array.bigend, array.coordSysName = True, names.to_bytes(one.system)
        array.shape.extend(shape)
        array.axisName.extend(names.to_bytes(axis.name) for axis in one.axes)
        size = math.prod(shape) * ATOMIC[one.type].size
        described = array.SerializeToString(deterministic=True) + protobuf.write_tag(10, size)
        arrays.append((one, protobuf.write_tag(4, len(described) + size) + described, size))
    total = len(begin) + sum(len(described) + size for _, described, size in arrays)
    yield COVERAGE_DATA + protobuf.encode(total) + begin
    for one, described, _ in arrays:
        yield described
        yield from _read_pieces(checked, one, cuts)


def _read_pieces(checked: Checked, coverage: GridCoverage, cuts: Mapping[str, NDArray[np.int64]]) -> Iterator[bytes]:
    """Yield the bytes of values, big-endian."""
    first, *rest = (cuts[dimension] for dimension in coverage.dimensions)
    dtype = np.dtype(ATOMIC[coverage.type].code).newbyteorder(">")
    is_packed = coverage.conversion.scale is not None or coverage.conversion.offset is not None
    step = max(1, PIECE // max(1, math.prod(map(len, rest)) * dtype.itemsize))
    for start in range(0, len(first), step):
        keys = [_as_slice(one) for one in (first[start : start + step], *rest)]
        stored = read_outer(checked, coverage.path, keys)
        values, absent = coverage.conversion.mask(stored)
        if is_packed:
            values = np.where(absent, np.nan, values)
        yield values.astype(dtype).tobytes()


def _as_slice(indices: NDArray[np.int64]) -> Any:
    """Return indices as a slice where their distances are equal."""
    steps = np.diff(indices)
    step = int(steps[0]) if len(steps) else 1
    if step < 1 or not (steps == step).all():
        return indices
    return slice(int(indices[0]), int(indices[-1]) + 1, step)
