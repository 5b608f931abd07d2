"""Collections of points as they are read and written: members, and the rows of features (ncstream §11)."""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

from nczarr.ast.types import ATOMIC
from nczarr.formats.ncstream._generated import pointstream_pb2 as points_pb
from nczarr.formats.ncstream.wire.limits import contradictory

LOCATION = ("time", "latitude", "longitude", "altitude", "nominal_time")
"""Where and when a point is, in the order of the message; `nominal_time` is that of a series that it belongs to."""


class Member(NamedTuple):
    """A member of a collection: its name and atomic type in the model, its dimensions, where it begins in a row."""

    name: str
    type: str
    shape: tuple[int, ...]
    start: int

    @property
    def elements(self) -> int:
        """How many values a row has of it."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        """Bytes in a row: of strings, one index however many there are."""
        return 4 if self.type == "string" else self.elements * ATOMIC[self.type].size


class Collection(NamedTuple):
    """A collection and its features so far: `places` has five doubles a feature, `offsets` where it begins."""

    message: points_pb.PointFeatureCollection
    offset: int
    members: tuple[Member, ...]
    length: int
    places: array[float]
    offsets: array[int]
    rows: list[bytes]
    texts: list[tuple[bytes, ...]]

    def add(self, feature: points_pb.PointFeature, offset: int) -> None:
        """Take one feature. Raises RefusedError if its row is not as long as it has to be."""
        if len(feature.data) != self.length:
            text = f"a row has {len(feature.data)} bytes, and the members of the collection {self.length}"
            raise contradictory(text, offset)
        loc = feature.loc
        self.places.extend((loc.time, loc.lat, loc.lon, loc.alt, loc.nomTime))
        self.offsets.append(offset)
        self.rows.append(feature.data)
        self.texts.append(tuple(feature.sdata))
