"""Instructions of aggregation variables: the attributes and variables that say where fragments are."""

from collections.abc import Sequence
from typing import NamedTuple

from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import descr
from nczarr.ast import Variable
from nczarr.diagnostics.report import Report
from nczarr.plugins.cf.coordinates import has_values, read_numbers, read_texts
from nczarr.plugins.cf.references import parse_pairs
from nczarr.plugins.cf.view import INTEGERS, TEXTS, CFDataset, CFVariable
from nczarr.plugins.combine.aggregation.fragments import (
    TYPES,
    UnfitFragmentError,
    canonical_form_of,
    cast_values,
    require,
)

DIMENSIONS, DATA = ATTRIBUTES = ("aggregated_dimensions", "aggregated_data")
"""Attributes of aggregation variables."""

PLACES, VALUES = ("map", "uris", "identifiers"), ("map", "unique_values")
"""Features of fragments in datasets, and of fragments that have one value each."""

DRAFTS = {"shape": "map", "file": "uris", "address": "identifiers", "variable": "identifiers",
          "value": "unique_values", "unique_value": "unique_values"}  # fmt: skip
"""Features under the names that they had in drafts (CFA 0.6 and later) before CF 1.13."""

HELPS = ("`--aggregation keep` reads the variable as it is stored",)


class Fragments(NamedTuple):
    """Fragments of one aggregation variable, in C order."""

    dimensions: tuple[str, ...]
    """FQNs of the aggregated dimensions."""
    lengths: tuple[tuple[int, ...], ...]
    """Lengths of the fragments along each dimension."""
    features: tuple[str, ...]
    """FQNs of the variables that describe the fragments."""
    uris: Sequence[str | None] | None = None
    """URI of each fragment dataset; None for a missing fragment. None without datasets."""
    identifiers: Sequence[str | None] = ()
    """Name of the variable in each fragment dataset."""
    values: Sequence[bytes | None] = ()
    """Value of each fragment without a dataset, as an element of the array; None: it is missing."""


def is_aggregation(variable: Variable) -> bool:
    """Return whether a variable has both attributes of aggregation variables."""
    return sum(attribute.name in ATTRIBUTES for attribute in variable.attributes) == len(ATTRIBUTES)


def read_instructions(dataset: CFDataset, variable: CFVariable, report: Report) -> Fragments | None:
    """Return the fragments of an aggregation variable; None after a reported error. Raises OSError.

    Reports bad-aggregation.
    """
    try:
        return _read(dataset, variable)
    except UnfitFragmentError as fault:
        text = f"aggregation variable `{variable.path}`: {fault}"
        report.error("bad-aggregation", text, variable.node.span, helps=(*fault.helps, *HELPS))
        return None


def _read(dataset: CFDataset, variable: CFVariable) -> Fragments:
    """Return the fragments. Raises UnfitFragmentError, OSError."""
    require(variable.type in TYPES, f"type `{variable.type}` is neither a number nor a text")
    dimensions: list[str] = []
    for word in variable.text(DIMENSIONS).split():
        dimension, helps = dataset.resolve_dimension(word, variable.group), dataset.suggest_dimension
        if dimension is None:
            raise UnfitFragmentError(f"there is no dimension `{word}`", helps(word, variable.group))
        dimensions.append(dimension)
    features = _find_features(dataset, variable)
    lengths = _read_map(dataset, features["map"], dimensions)
    found = Fragments(tuple(dimensions), lengths, tuple(feature.path for feature in features.values()))
    shape = tuple(map(len, lengths))
    if "unique_values" in features:
        return found._replace(values=_read_values(dataset, variable, features["unique_values"], shape))
    uris = _read_texts(dataset, features["uris"], shape)
    if features["identifiers"].axes:
        identifiers = _read_texts(dataset, features["identifiers"], shape)
    else:
        identifiers = _read_texts(dataset, features["identifiers"], ()) * len(uris)
    for uri, identifier in zip(uris, identifiers, strict=True):
        named = uri is None or identifier is not None
        require(named, f"`{features['identifiers'].path}` names no variable of `{uri}`")
    return found._replace(uris=uris, identifiers=identifiers)


def _find_features(dataset: CFDataset, variable: CFVariable) -> dict[str, CFVariable]:
    """Return the variables that describe the fragments, by feature. Raises UnfitFragmentError."""
    pairs = parse_pairs(variable.text(DATA)) or ()
    require(pairs, f"`{DATA}` is not a list of pairs such as `map: fragment_map`")
    drafts = {**DRAFTS, "location": "map" if "file" in dict(pairs) else "uris"}
    features: dict[str, CFVariable] = {}
    for word, name in pairs:
        feature, described = drafts.get(word, word), dataset.resolve(name, variable.group)
        if described is not None:
            features[feature] = described
        elif feature in PLACES + VALUES:
            raise UnfitFragmentError(f"there is no variable `{name}`", dataset.suggest(name, variable.group))
    for feature in VALUES if "unique_values" in features else PLACES:
        require(feature in features, f"`{DATA}` has no feature `{feature}`")
    return features


def _read_map(dataset: CFDataset, table: CFVariable, dimensions: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of the fragments along each dimension. Raises UnfitFragmentError, OSError."""
    require(table.type in INTEGERS, f"`{table.path}` has type `{table.type}`, not integers")
    require(has_values(dataset, table), f"`{table.path}` has no values")
    values, missing = read_numbers(dataset, table)
    if not dimensions:
        text = f"`{table.path}` must have the single value 1, because the data are a scalar"
        require(values.reshape(-1).tolist() == [1], text)
        return ()
    text = f"`{table.path}` has the shape {list(table.shape)}, not a row for each of {len(dimensions)} dimensions"
    require(len(table.shape) == 2 and table.shape[0] == len(dimensions), text)
    rows = [tuple(row[~gap].tolist()) for row, gap in zip(values, missing, strict=True)]
    for dimension, row in zip(dimensions, rows, strict=True):
        size, shown = dataset.length(dimension), " + ".join(map(str, row[:8])) or "0"
        text = f"the lengths {shown} of fragments in `{table.path}` do not add up to {size}, the length of"
        require(sum(row) == size and min(row, default=0) >= 0, f"{text} `{dimension}`")
    return tuple(rows)


def _check_shape(variable: CFVariable, shape: tuple[int, ...]) -> None:
    """Raise UnfitFragmentError unless a variable has a value for each fragment, whatever its dimensions of length 1."""
    own_shape = variable.shape[: len(variable.axes)]
    text = f"`{variable.path}` has the shape {list(own_shape)}, and the map of fragments {list(shape)}"
    require([length for length in own_shape if length > 1] == [length for length in shape if length > 1], text)


def _read_texts(dataset: CFDataset, variable: CFVariable, shape: tuple[int, ...]) -> list[str | None]:
    """Return the text for each fragment; None where it is missing. Raises UnfitFragmentError, OSError."""
    require(variable.type in TEXTS, f"`{variable.path}` has type `{variable.type}`, not texts")
    require(has_values(dataset, variable), f"`{variable.path}` has no values")
    missing = {"", variable.text("_FillValue"), variable.text("missing_value")}
    texts = [None if text in missing else text for text in read_texts(dataset, variable)]
    _check_shape(variable, shape)
    return texts


def _read_values(
    dataset: CFDataset, variable: CFVariable, feature: CFVariable, shape: tuple[int, ...]
) -> list[bytes | None]:
    """Return the unique value of each fragment as an element of the array. Raises UnfitFragmentError, OSError."""
    if feature.type == variable.type == "string":
        texts = _read_texts(dataset, feature, shape)
        return [None if text is None else text.encode("utf-8", "surrogateescape") for text in texts]
    text = f"`{feature.path}` has type `{feature.type}`, not `{variable.type}`"
    require(feature.is_numeric and variable.is_numeric, text)
    require(has_values(dataset, feature), f"`{feature.path}` has no values")
    _check_shape(feature, shape)
    values, missing = read_numbers(dataset, feature)
    elements = cast_values(values, missing, numpy_dtype(descr(variable.type, {}))).reshape(-1)
    missing = missing.reshape(-1) | canonical_form_of(dataset.checked, variable.path).physical.mask(elements)[1]
    return [None if gap else element.tobytes() for element, gap in zip(elements, missing.tolist(), strict=True)]
