"""CDM Remote Feature: samples of discrete sampling geometries as streams of points, and parts of grids as coverages.

`req=featureType` is the kind of features; `header` or `capabilities` what there is, as an XML document for samples and
a message for grids; `stations` a list; `coord` coordinates of a grid. `data`, also without a word, is values of `var`
in a box (`north`, `south`, `east`, `west`) and time (`time_start`, `time_end`); of samples also by `stn`, of grids by
`minx` … `maxy`, a point (`latitude`, `longitude`), `time`, `vertCoord`, and `horizStride` and `timeStride`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qsl

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.time_units import CALENDARS, Units, date_text
from nczarr.diagnostics.report import hint
from nczarr.pipeline.select.physical import NUMBERS, attributes_of
from nczarr.plugins.serve.answers import BYTES, TEXT, UNREADABLE, XML, HttpAnswer, RefusedRequestError, conditional
from nczarr.plugins.serve.context import Answer, ServerContext, StreamedValues, of_dataset
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.features.coverages import CoverageQuery, GridCoverage, TimeRequest, cut, find_coverages
from nczarr.plugins.serve.features.sample_reader import Box, SampleFilter
from nczarr.plugins.serve.features.sampling import (
    SampledColumn,
    Sampling,
    UnsuitedFeaturesError,
    find_samples,
    units_of,
)
from nczarr.plugins.serve.pages.markup import CDMRFEATURE, render_template
from nczarr.plugins.serve.protocols.cdmremote import NCSTREAM
from nczarr.plugins.serve.request import Request, read_number, url
from nczarr.plugins.serve.value_streams import end_with_error, longest_chunk, memory_for

T = TypeVar("T")

Coverages = dict[str, GridCoverage]

OF_SAMPLES = ("featureType", "header", "capabilities", "stations", "data")
OF_GRIDS = ("featureType", "header", "coord", "data")
"""Values of `req`."""

SIDES = ("west", "east", "south", "north")


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/cdmrfeature/PATH?req=…`; without a query, say that the protocol is there."""
    if not asked.query:
        context.dataset(asked.segments[1:])
        return HttpAnswer(b"", headers=NCSTREAM)
    return _query(context, asked, at_hand)


@of_dataset
def _query(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    """Answer a query. Raises RefusedRequestError, CompileError, OSError."""
    try:
        features = _find_features(opened)
        if isinstance(features, Sampling):
            return _answer_samples(context, asked, opened, features)
        return _answer_coverages(context, asked, opened, features)
    except UnsuitedFeaturesError as error:
        raise RefusedRequestError(UNREADABLE, str(error)) from None
    except ValueError as error:
        raise RefusedRequestError(400, str(error)) from None


def _find_features(opened: CachedDataset) -> Sampling | Coverages:
    """Return the samples or coverages of a dataset; cached. Raises RefusedRequestError, UnsuitedFeaturesError."""
    with opened.lock:
        features: Sampling | Coverages | None = opened.views.get(CDMRFEATURE)
        if features is None:
            features = find_samples(opened.checked) or find_coverages(opened.checked)
            opened.views[CDMRFEATURE] = features
    if not features:
        text = "the dataset has no features: neither `featureType` of CF nor a grid whose dimensions have coordinates"
        raise RefusedRequestError(404, text)
    return features


def _choose_request(asked: Request, known: tuple[str, ...]) -> str:
    """Return what a query requests, in lower case; data without a word."""
    request = asked.query.get("req", "data").lower()
    if request not in map(str.lower, known):
        raise RefusedRequestError(400, f"`req` must be one of {', '.join(known)} for this dataset")
    return request


def _plain(asked: Request, opened: CachedDataset, body: bytes, kind: str) -> HttpAnswer:
    """Return an answer with a document or message."""
    headers = NCSTREAM if kind == BYTES else ()
    return conditional(HttpAnswer(body, kind, headers=headers), asked.headers, opened.modified)


# ---- samples ---------------------------------------------------------------------------------------------------------


def _answer_samples(context: ServerContext, asked: Request, opened: CachedDataset, sampling: Sampling) -> Answer:
    """Answer by the kind of samples, the document that describes them, stations or points."""
    from nczarr.plugins.serve.features import feature_messages

    request = _choose_request(asked, OF_SAMPLES)
    if request == "featuretype":
        return _plain(asked, opened, sampling.kind.encode(), TEXT)
    coordinates = [one for one in sampling.places if one is not None]
    need = _measure(sampling, coordinates)[1]
    if request in ("header", "capabilities"):
        location = asked.place + url(CDMRFEATURE, *opened.place.segments)
        describe = partial(_describe, sampling, location)
        return context.now_or_later(opened, lambda: _plain(asked, opened, describe(), XML), need)
    wanted = _parse_filter(asked, sampling)
    if request == "stations":
        pieces = _refusing(feature_messages.station_messages(sampling, wanted))
        return context.now_or_later(opened, lambda: _plain(asked, opened, b"".join(pieces), BYTES), need)
    columns = _choose(_list_names(asked), sampling.columns, sampling.usual)
    size, need = _measure(sampling, [*columns, *coordinates])
    is_whole = wanted == SampleFilter()
    pieces = feature_messages.point_messages(sampling, columns, wanted, opened.place.segments[-1])
    values = StreamedValues(_refusing(pieces), size if is_whole else 0, need, is_whole, BYTES, NCSTREAM, _end_stream)
    return context.stream_values(opened, values)


def _measure(sampling: Sampling, columns: Sequence[SampledColumn]) -> tuple[int, int]:
    """Return the approximate bytes of variables of all samples, and the memory in bytes to send them in blocks."""
    from nczarr.plugins.serve.features.feature_messages import stream_size

    size, need = stream_size(sampling, columns)
    return size, need + 2 * longest_chunk(sampling.checked, [one.path for one in columns])


def _refusing(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises RefusedRequestError for requests that the dataset does not suit."""
    try:
        yield from pieces
    except UnsuitedFeaturesError as error:
        raise RefusedRequestError(400, str(error)) from None


def _end_stream(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, which are whole messages; after the first ones, an error ends them with an error message."""
    from nczarr.plugins.serve.features.feature_messages import error_message

    return end_with_error(pieces, lambda refusal: error_message(refusal.text))


def _parse_filter(asked: Request, sampling: Sampling) -> SampleFilter:
    """Return which samples a query requests. Raises RefusedRequestError, ValueError."""
    query = asked.query
    for name in ("time", "time_duration", "latitude", "longitude"):
        if query.get(name):
            text = f"`{name}` is not for samples: they are chosen by `time_start`, `time_end`, a box and `stn`"
            raise RefusedRequestError(400, text)
    times = TimeRequest(query.get("time_start", ""), query.get("time_end", ""))
    units = _time_units(sampling)
    if any(times) and units is None:
        raise RefusedRequestError(400, "the times of the dataset have no units")
    stations = query.get("stn") or query.get("stns")
    instances = frozenset(stations.split(",")) if stations else None
    return SampleFilter(_parse_box(query), times.within(units) if any(times) and units else None, instances)


def _time_units(sampling: Sampling) -> Units | None:
    """Return the encoding of times; None for units that are no times."""
    time = sampling.places[0]
    return None if time is None or time.conversion is None else time.conversion.times


def _describe(sampling: Sampling, location: str) -> bytes:
    """Return the document that describes samples. Raises OSError, CompileError."""
    from nczarr.plugins.serve.features.feature_messages import measure_extent

    times, latitudes, longitudes = measure_extent(sampling)
    units = _time_units(sampling)
    columns = [sampling.columns[name] for name in sorted(sampling.usual)]
    return render_template(
        "features.xml",
        location=location,
        kind=sampling.kind.lower(),
        time_unit=units_of(sampling.places[0]),
        calendar=(units.calendar if units is not None else None) or "standard",
        altitude_unit=units_of(sampling.places[3]),
        variables=[(column, _list_attributes(sampling, column)) for column in columns],
        words=WORDS,
        box=None if latitudes is None or longitudes is None else (*longitudes, *latitudes),
        span=None if times is None or units is None else [_write_date(edge, units) for edge in times],
    )


def _write_date(time: float, units: Units) -> str:
    """Return a time by ISO 8601."""
    seconds = units.start + units.unit * Fraction(time)
    day, _, clock = date_text(seconds, CALENDARS[(units.calendar or "standard").lower()]).partition(" ")
    return f"{day}T{clock or '00:00'}{':00' if clock.count(':') < 2 else ''}Z"


WORDS = {"int64": "long", "uint64": "ulong", "string": "String"}
"""Types in netCDF-Java's words."""


def _list_attributes(sampling: Sampling, column: SampledColumn) -> Iterator[tuple[str, str | None, str]]:
    """Yield the names, types (None for texts) and values of attributes of a variable."""
    types = {one.name: one.value.type for one in sampling.checked.variables[column.path].attributes}
    for name, value in attributes_of(sampling.checked, column.path).items():
        if isinstance(value, str):
            yield name, None, value
        elif types[name] in NUMBERS:
            yield name, WORDS.get(types[name], types[name]), " ".join(map(str, np.reshape(value, -1).tolist()))


# ---- coverages -------------------------------------------------------------------------------------------------------


def _answer_coverages(context: ServerContext, asked: Request, opened: CachedDataset, coverages: Coverages) -> Answer:
    """Answer by the kind of grid, its declarations, coordinates or values."""
    from nczarr.plugins.serve.features import feature_messages

    request, checked = _choose_request(asked, OF_GRIDS), opened.checked
    every = list(coverages.values())
    if request == "featuretype":
        return _plain(asked, opened, feature_messages.name_kind(every).encode(), TEXT)
    if request == "header":
        location = asked.place + url(CDMRFEATURE, *opened.place.segments)
        return _plain(asked, opened, feature_messages.coverage_header(checked, every, location), BYTES)
    if request == "coord":
        axes = {axis.name: axis for one in every for axis in one.axes}
        chosen = _choose(_list_names(asked), axes)
        need = 4 * sum(axis.values.nbytes for axis in chosen)
        pieces = feature_messages.coordinate_messages(chosen)
        return context.now_or_later(opened, lambda: _plain(asked, opened, b"".join(pieces), BYTES), need)
    wanted, query = _choose(_list_names(asked), coverages), _parse_part(asked.query)
    cuts = cut(wanted, query)
    size = feature_messages.values_size(wanted, cuts)
    need = memory_for(checked, [one.path for one in wanted], size)
    pieces = feature_messages.coverage_data(checked, wanted, cuts, query)
    return context.stream_values(opened, StreamedValues(pieces, size, need, True, BYTES, NCSTREAM))


def _parse_part(query: Mapping[str, str]) -> CoverageQuery:
    """Return the part of a grid that a query requests. Raises RefusedRequestError."""
    if query.get("time_duration"):
        raise RefusedRequestError(400, "give `time_start` and `time_end` instead of `time_duration`")
    rectangle = {}
    for role, ends in (("X", ("minx", "maxx")), ("Y", ("miny", "maxy"))):
        low, high = (read_number(query, name) for name in ends)
        if low is not None or high is not None:
            rectangle[role] = -math.inf if low is None else low, math.inf if high is None else high
    latitude, longitude = read_number(query, "latitude"), read_number(query, "longitude")
    if (latitude is None) != (longitude is None):
        raise RefusedRequestError(400, "a point needs `latitude` and `longitude`")
    point = None if latitude is None or longitude is None else (latitude, longitude)
    times = TimeRequest(query.get("time_start", ""), query.get("time_end", ""), query.get("time", ""))
    across, along = (_parse_step(query, name) for name in ("horizstride", "timestride"))
    strides = {"X": across, "Y": across, "T": along}
    return CoverageQuery(_parse_box(query), rectangle, point, times, read_number(query, "vertcoord"), strides)


# ---- queries ---------------------------------------------------------------------------------------------------------


def _list_names(asked: Request) -> list[str]:
    """Return the names in all members `var` of a query, separated by commas."""
    members = parse_qsl(asked.constraint, keep_blank_values=True)
    return [part for name, value in members if name.lower() == "var" for part in value.split(",") if part]


def _choose(wanted: list[str], known: Mapping[str, T], usual: tuple[str, ...] = ()) -> list[T]:
    """Return the things of some names; without names the usual ones. Raises RefusedRequestError."""
    chosen = [names.normal(name).removeprefix("/") for name in wanted if name != "all"]
    chosen = chosen or list(usual or (known if "all" in wanted else ()))
    if not chosen:
        offered = ", ".join(map(names.readable, list(known)[:20]))
        raise RefusedRequestError(400, f"`var` is missing; there are {offered}")
    for name in chosen:
        if name not in known:
            end = hint(name, known)
            raise RefusedRequestError(400, f"there is no `{names.readable(name)}` among the features{end}")
    return [known[name] for name in dict.fromkeys(chosen)]


def _parse_box(query: Mapping[str, str]) -> Box | None:
    """Return the requested longitudes and latitudes. Raises RefusedRequestError."""
    sides = [read_number(query, name) for name in SIDES]
    if sides == [None] * 4:
        return None
    west, east, south, north = sides
    if west is None or east is None or south is None or north is None:
        raise RefusedRequestError(400, f"a box has four sides: {', '.join(SIDES)}")
    if not -90 <= south <= north <= 90:
        raise RefusedRequestError(400, "`south` and `north` are latitudes in ascending order, -90 to 90")
    return Box(west, east if east >= west else east + 360, south, north)


def _parse_step(query: Mapping[str, str], name: str) -> int:
    """Return a step of indices; 1 without one. Raises RefusedRequestError."""
    text = query.get(name, "").strip() or "1"
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise RefusedRequestError(400, f"`{name}` must be a number from 1 on")
    return int(text)
