"""Files of CF's discrete sampling geometries, in the forms of appendix H, and a decoder of streams of points.

The decoder is that of protobuf, with messages declared as netCDF-Java declares them; nothing of ours is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LATITUDES, LONGITUDES, ALTITUDES = (10.5, -20.0, 40.25), (170.0, -170.5, 5.0), (1.0, 2.5, 30.0)
NAMES = ("alpha", "beta", "gamma")
TIMES = "hours since 2020-01-01"


class Row(NamedTuple):
    """A sample as a client sees it."""

    time: float
    latitude: float
    longitude: float
    station: str
    value: float


def station_row(station: int, time: float, value: float) -> Row:
    return Row(time, LATITUDES[station], LONGITUDES[station], NAMES[station], value)


def declare(
    file: Any, name: str, dimensions: tuple[str, ...], values: Any, kind: str = "f8", **attributes: Any
) -> None:
    fill = attributes.pop("_FillValue", None)
    variable = file.createVariable(name, kind, dimensions, fill_value=fill)
    variable.set_auto_maskandscale(False)
    variable.setncatts(attributes)
    variable[...] = np.asarray(values)


def declare_stations(file: Any, dimension: str = "station") -> None:
    file.createDimension(dimension, 3)
    file.createDimension("length", 8)
    declare(file, "lat", (dimension,), LATITUDES, "f4", standard_name="latitude", units="degrees_north")
    declare(file, "lon", (dimension,), LONGITUDES, "f4", standard_name="longitude", units="degrees_east")
    declare(file, "alt", (dimension,), ALTITUDES, standard_name="height", units="m", positive="up", axis="Z")
    chars = np.array([list(name.ljust(8, "\0")) for name in NAMES], "S1")
    declare(file, "station_name", (dimension, "length"), chars, "S1", cf_role="timeseries_id", long_name="station")


def declare_times(file: Any, dimensions: tuple[str, ...], values: Any, **attributes: Any) -> None:
    declare(file, "time", dimensions, values, standard_name="time", units=TIMES, **attributes)


def declare_data(file: Any, dimensions: tuple[str, ...], values: Any, **attributes: Any) -> None:
    coordinates = "time lat lon alt station_name" if "alt" in file.variables else "time lat lon"
    declare(file, "temp", dimensions, values, "f4", units="K", long_name="temperature", coordinates=coordinates,
            **attributes)  # fmt: skip


def point(file: Any) -> list[Row]:
    file.featureType = "point"
    file.createDimension("obs", 4)
    declare_times(file, ("obs",), [0, 1, 2, 3])
    declare(file, "lat", ("obs",), [1, 2, 3, 4], standard_name="latitude", units="degrees_north")
    declare(file, "lon", ("obs",), [5, 6, 7, 8], standard_name="longitude", units="degrees_east")
    declare_data(file, ("obs",), [1.5, 2.5, 3.5, 4.5])
    return [Row(at, at + 1, at + 5, "", at + 1.5) for at in range(4)]


def orthogonal(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    declare_stations(file)
    file.createDimension("time", 4)
    declare_times(file, ("time",), [0, 6, 12, 18])
    declare_data(file, ("station", "time"), np.arange(12).reshape(3, 4))
    return [station_row(s, 6 * t, 4 * s + t) for s in range(3) for t in range(4)]


def transposed(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    declare_stations(file)
    file.createDimension("time", 4)
    declare_times(file, ("time",), [0, 6, 12, 18])
    declare_data(file, ("time", "station"), np.arange(12).reshape(4, 3))
    return [station_row(s, 6 * t, 3 * t + s) for t in range(4) for s in range(3)]


def incomplete(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    declare_stations(file)
    file.createDimension("obs", 3)
    times = [[0, 1, 2], [0.5, -99, -99], [7, 8, -99]]
    declare_times(file, ("station", "obs"), times, _FillValue=-99.0)
    declare_data(file, ("station", "obs"), np.arange(9).reshape(3, 3))
    return [station_row(s, times[s][o], 3 * s + o) for s in range(3) for o in range(3) if times[s][o] >= 0]


def contiguous(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    declare_stations(file)
    file.createDimension("obs", 6)
    declare(file, "row_size", ("station",), [2, 0, 3], "i4", sample_dimension="obs")
    declare_times(file, ("obs",), [0, 1, 2, 3, 4, 99])
    declare_data(file, ("obs",), [10, 11, 12, 13, 14, 15])
    return [station_row(s, at, 10 + at) for at, s in enumerate((0, 0, 2, 2, 2))]  # the last one belongs to no station


def indexed(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    declare_stations(file)
    file.createDimension("obs", None)
    declare(file, "index", ("obs",), [2, 0, 1, 2, -1], "i4", instance_dimension="station")
    declare_times(file, ("obs",), [0, 1, 2, 3, 4])
    declare_data(file, ("obs",), [10, 11, 12, 13, 14])
    return [station_row(s, at, 10 + at) for at, s in enumerate((2, 0, 1, 2))]


def single(file: Any) -> list[Row]:
    file.featureType = "timeSeries"
    file.createDimension("time", 3)
    declare_times(file, ("time",), [0, 1, 2])
    declare(file, "lat", (), 1.5, standard_name="latitude", units="degrees_north")
    declare(file, "lon", (), 2.5, standard_name="longitude", units="degrees_east")
    name = file.createVariable("station_name", str, ())
    name.cf_role, name[...] = "timeseries_id", "only"
    declare_data(file, ("time",), [7, 8, 9])
    return [Row(at, 1.5, 2.5, "only", 7 + at) for at in range(3)]


def profiles(file: Any) -> list[Row]:
    file.featureType = "profile"
    file.createDimension("profile", 2)
    file.createDimension("obs", 5)
    declare(file, "profile", ("profile",), [7, 8], "i4", cf_role="profile_id")
    declare(file, "rows", ("profile",), [2, 3], "i4", sample_dimension="obs")
    declare_times(file, ("profile",), [0, 1])
    declare(file, "lat", ("profile",), [1, 2], standard_name="latitude", units="degrees_north")
    declare(file, "lon", ("profile",), [3, 4], standard_name="longitude", units="degrees_east")
    declare(file, "z", ("obs",), [0, 1, 0, 1, 2], units="m", positive="down", axis="Z")
    declare_data(file, ("obs",), [10, 11, 12, 13, 14])
    return [Row(p, p + 1, p + 3, str(p + 7), 10 + at) for at, p in enumerate((0, 0, 1, 1, 1))]


def trajectories(file: Any) -> list[Row]:
    file.featureType = "trajectory"
    file.createDimension("trajectory", 2)
    file.createDimension("obs", 3)
    name = file.createVariable("trajectory", str, ("trajectory",))
    name.cf_role = "trajectory_id"
    name[:] = np.array(["one", "two"], object)
    numbers = np.arange(6.0).reshape(2, 3)
    both = ("trajectory", "obs")
    declare_times(file, both, numbers)
    declare(file, "lat", both, numbers + 1, standard_name="latitude", units="degrees_north")
    declare(file, "lon", both, numbers + 2, standard_name="longitude", units="degrees_east")
    declare_data(file, both, numbers + 3)
    return [Row(at, at + 1, at + 2, ("one", "two")[at // 3], at + 3) for at in range(6)]


def sections(file: Any) -> list[Row]:
    """Profiles of stations, ragged on both levels (H.5.3)."""
    file.featureType = "timeSeriesProfile"
    declare_stations(file)
    file.createDimension("profile", 4)
    file.createDimension("obs", 5)
    declare(file, "station_index", ("profile",), [1, 0, 1, 2], "i4", instance_dimension="station")
    declare(file, "row_size", ("profile",), [1, 2, 0, 2], "i4", sample_dimension="obs")
    declare_times(file, ("profile",), [0, 1, 2, 3])
    declare(file, "z", ("obs",), [0, 0, 1, 0, 1], units="m", positive="up", axis="Z")
    declare_data(file, ("obs",), [10, 11, 12, 13, 14])
    pairs = ((1, 0), (0, 1), (0, 1), (2, 3), (2, 3))
    return [station_row(s, p, 10 + at) for at, (s, p) in enumerate(pairs)]


FORMS: dict[str, tuple[str, Callable[[Any], list[Row]]]] = {
    "point": ("POINT", point),
    "orthogonal": ("STATION", orthogonal),
    "transposed": ("STATION", transposed),
    "incomplete": ("STATION", incomplete),
    "contiguous": ("STATION", contiguous),
    "indexed": ("STATION", indexed),
    "single": ("STATION", single),
    "profiles": ("PROFILE", profiles),
    "trajectories": ("TRAJECTORY", trajectories),
    "sections": ("STATION_PROFILE", sections),
}
"""Kind of features, and the function that writes a file and returns its samples."""


def write(folder: Path, name: str) -> list[Row]:
    """Write one of the files. Its samples."""
    import netCDF4

    with netCDF4.Dataset(folder / f"{name}.nc", "w") as file:
        return FORMS[name][1](file)


# ---- an independent decoder ------------------------------------------------------------------------------------------


def _messages() -> dict[str, Any]:
    """The messages of netCDF-Java's `pointStream.proto`, and those of `ncStream.proto` that they use."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="points_of_tests.proto", package="points_of_tests", syntax="proto3")
    kinds = {"d": 1, "i": 5, "s": 9, "b": 12, "u": 4}
    declared = {
        "Range": (("start", "u", 1), ("size", "u", 2), ("stride", "u", 3)),
        "Section": (("range", "*Range", 1),),
        "Location": (("time", "d", 1), ("lat", "d", 2), ("lon", "d", 3), ("alt", "d", 4), ("nomTime", "d", 5)),
        "PointFeature": (("loc", "Location", 1), ("data", "b", 3), ("sdata", "*s", 4)),
        "Member": (
            ("name", "s", 1), ("desc", "s", 2), ("units", "s", 3), ("dataType", "i", 4), ("section", "Section", 5),
        ),
        "PointFeatureCollection": (
            ("name", "s", 1), ("timeUnit", "s", 2), ("members", "*Member", 3), ("altUnit", "s", 4),
        ),
        "Station": (
            ("id", "s", 1), ("lat", "d", 2), ("lon", "d", 3), ("alt", "d", 4), ("desc", "s", 5), ("wmoId", "s", 6),
        ),
        "StationList": (("stations", "*Station", 1),),
        "Error": (("message", "s", 1), ("code", "i", 2)),
    }  # fmt: skip
    for name, fields in declared.items():
        message = file.message_type.add(name=name)
        for own, kind, number in fields:
            field = message.field.add(name=own, number=number, label=3 if kind.startswith("*") else 1)
            kind = kind.removeprefix("*")
            if kind in kinds:
                field.type = kinds[kind]
            else:
                field.type, field.type_name = 11, f".points_of_tests.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"points_of_tests.{name}") for name in declared}
    return {name: message_factory.GetMessageClass(one) for name, one in found.items()}


MAGICS = {
    "fefeefef": "StationList", "fafaafaf": "PointFeatureCollection", "f0f00f0f": "PointFeature", "abadbada": "Error",
    "ededdede": "",
}  # fmt: skip
CODES = {0: "S1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 5: "f4", 6: "f8", 7: "i4", 14: "u1", 15: "u2", 16: "u4", 17: "u8"}


def decode(stream: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the name of each message and the message; the end has no message."""
    messages, at = _messages(), 0
    while at < len(stream):
        name = MAGICS[stream[at : at + 4].hex()]
        at += 4
        if not name:
            yield "End", None
            continue
        length = shift = 0
        while True:
            byte = stream[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield name, messages[name].FromString(stream[at : at + length])
        at += length


def decode_points(stream: bytes) -> tuple[Any, list[dict[str, Any]]]:
    """The collection, and its points: place, time and members by name."""
    (first, collection), *features, (last, _) = decode(stream)
    assert (first, last) == ("PointFeatureCollection", "End")
    fields = []
    for number, member in enumerate(collection.members):
        shape = tuple(one.size for one in member.section.range)
        fields.append((str(number), ">" + CODES[member.dataType], () if member.dataType == 7 else shape))
    found = []
    for name, feature in features:
        assert name == "PointFeature"
        row = np.frombuffer(feature.data, np.dtype(fields))[0]
        values = {"time": feature.loc.time, "lat": feature.loc.lat, "lon": feature.loc.lon, "alt": feature.loc.alt}
        for number, member in enumerate(collection.members):
            value = row[str(number)]
            if member.dataType == 7:
                value = feature.sdata[int(value)]
            elif member.dataType == 0:
                value = value.tobytes().rstrip(b"\0").decode()
            values["=" + member.name] = value
        found.append(values)
    return collection, found
