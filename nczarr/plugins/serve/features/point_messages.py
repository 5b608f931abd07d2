"""Streams of points of a dataset's samples: the collection, a feature for each sample, and lists of stations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from nczarr import names
from nczarr.pipeline.select.physical import attributes_of, text_of
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.plugins.ncstream.points.reader import CollectionMember, rows
from nczarr.plugins.ncstream.points.writer import frame_feature
from nczarr.plugins.ncstream.wire.element_types import WIRE, write_section
from nczarr.plugins.ncstream.wire.framing import COLLECTION, END, ERROR, FEATURE, STATIONS, frame
from nczarr.plugins.serve.features.sample_reader import MOST, SampleFilter, SampleReader
from nczarr.plugins.serve.features.sampling import SampledColumn, Sampling, time_units, units_of

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
