"""Instructions of aggregation variables: the attributes and variables that say where fragments are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import descr
from nczarr.ast import Variable
from nczarr.diagnostics.report import Report
from nczarr.operations.aggregation.canonical_form import TYPES, UnfitFragmentError, canonical_form_of, cast_values
from nczarr.operations.cf.references import parse_pairs
from nczarr.operations.cf.values import has_values, read_numbers, read_texts
from nczarr.operations.cf.view import INTEGERS, TEXTS, CFDataset, CFVariable
from nczarr.select.physical import physical
from nczarr.select.reader import reader_of

DIMENSIONS, DATA = ATTRIBUTES = ("aggregated_dimensions", "aggregated_data")
"""Attributes of aggregation variables."""

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
    identifiers: Sequence[str] = ()
    """Name of the variable in each fragment dataset."""
    values: Sequence[bytes | None] = ()
    """Value of each fragment without a dataset, as an element of the array; None: it is missing."""


def is_aggregation(variable: Variable) -> bool:
    """Return whether a variable has both attributes of aggregation variables."""
    return sum(attribute.name in ATTRIBUTES for attribute in variable.attributes) == len(ATTRIBUTES)


def list_shapes(lengths: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield the shape of each fragment, in C order."""
    return itertools.product(*lengths)


def read_instructions(dataset: CFDataset, variable: CFVariable, report: Report) -> Fragments | None:
    """Return the fragments of an aggregation variable; None after a reported error. Raises OSError.

    Reports bad-aggregation.
    """
    try:
        return _read(dataset, variable)
    except UnfitFragmentError as fault:
        helps = (*fault.helps, *HELPS)
        report.error(
            "bad-aggregation", f"aggregation variable `{variable.path}`: {fault}", variable.node.span, helps=helps
        )
        return None


def _read(dataset: CFDataset, variable: CFVariable) -> Fragments:
    """Return the fragments. Raises UnfitFragmentError, OSError."""
    if variable.type not in TYPES:
        raise UnfitFragmentError(f"type `{variable.type}` is neither a number nor a text")
    dimensions = []
    for word in variable.text(DIMENSIONS).split():
        dimension = dataset.resolve_dimension(word, variable.group)
        if dimension is None:
            raise UnfitFragmentError(f"there is no dimension `{word}`", dataset.suggest_dimension(word, variable.group))
        dimensions.append(dimension)
    features = _find_features(dataset, variable)
    lengths = _read_map(dataset, features["map"], dimensions)
    paths = tuple(feature.path for feature in features.values())
    shape = tuple(map(len, lengths))
    if "uris" in features:
        uris = _read_texts(dataset, features["uris"], shape)
        identifiers = _read_texts(dataset, features["identifiers"], shape)
        absent = next(
            (number for number, pair in enumerate(zip(uris, identifiers, strict=True)) if None in pair[1:] and pair[0]),
            None,
        )
        if absent is not None:
            raise UnfitFragmentError(f"`{features['identifiers'].path}` names no variable of `{uris[absent]}`")
        return Fragments(tuple(dimensions), lengths, paths, uris, [text or "" for text in identifiers])
    values = _read_values(dataset, variable, features["unique_values"], shape)
    return Fragments(tuple(dimensions), lengths, paths, None, (), values)


def _find_features(dataset: CFDataset, variable: CFVariable) -> dict[str, CFVariable]:
    """Return the variables that describe the fragments, by feature. Raises UnfitFragmentError."""
    pairs = parse_pairs(variable.text(DATA))
    if pairs is None:
        raise UnfitFragmentError(f"`{DATA}` is not a list of pairs such as `map: fragment_map`")
    named = dict(pairs)
    drafts = {**DRAFTS, "location": "map" if "file" in named else "uris"}
    features: dict[str, CFVariable] = {}
    for word, name in pairs:
        feature = drafts.get(word, word)
        described = dataset.resolve(name, variable.group)
        if described is not None:
            features[feature] = described
        elif feature in ("map", "uris", "identifiers", "unique_values"):
            raise UnfitFragmentError(f"there is no variable `{name}`", dataset.suggest(name, variable.group))
    expected = ["map", "unique_values"] if "unique_values" in features else ["map", "uris", "identifiers"]
    for feature in expected:
        if feature not in features:
            raise UnfitFragmentError(f"`{DATA}` has no feature `{feature}`")
    return features


def _read_map(dataset: CFDataset, table: CFVariable, dimensions: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of the fragments along each dimension. Raises UnfitFragmentError, OSError."""
    if table.type not in INTEGERS:
        raise UnfitFragmentError(f"`{table.path}` has type `{table.type}`, not integers")
    _check_values(dataset, table)
    values, missing = read_numbers(dataset, table)
    if not dimensions:
        if values.size != 1 or values.reshape(-1)[0] != 1:
            raise UnfitFragmentError(f"`{table.path}` must have the single value 1, because the data are a scalar")
        return ()
    if len(table.shape) != 2 or table.shape[0] != len(dimensions):
        raise UnfitFragmentError(
            f"`{table.path}` has the shape {list(table.shape)}, not a row for each of {len(dimensions)} dimensions"
        )
    rows = [tuple(row[~gap].tolist()) for row, gap in zip(values, missing, strict=True)]
    for dimension, row in zip(dimensions, rows, strict=True):
        size = dataset.length(dimension)
        if sum(row) != size or min(row, default=0) < 0:
            raise UnfitFragmentError(
                f"the lengths {_show(row)} of fragments in `{table.path}` do not add up to {size}, "
                f"the length of `{dimension}`"
            )
    return tuple(rows)


def _show(row: Sequence[int]) -> str:
    """Return some lengths as text."""
    return " + ".join(map(str, row[:8])) + (" + …" if len(row) > 8 else "") if row else "0"


def _check_values(dataset: CFDataset, variable: CFVariable) -> None:
    """Raise UnfitFragmentError for a variable whose values are not at hand."""
    if not has_values(dataset, variable):
        raise UnfitFragmentError(f"`{variable.path}` has no values")


def _read_texts(dataset: CFDataset, variable: CFVariable, shape: tuple[int, ...]) -> list[str | None]:
    """Return the text for each fragment; None where it is missing. Raises UnfitFragmentError, OSError."""
    if variable.type not in TEXTS:
        raise UnfitFragmentError(f"`{variable.path}` has type `{variable.type}`, not texts")
    _check_values(dataset, variable)
    missing = {"", variable.text("_FillValue"), variable.text("missing_value")}
    texts = [None if text in missing else text for text in read_texts(dataset, variable)]
    own_shape = variable.shape[: len(variable.axes)]
    if len(texts) == 1 and not own_shape:
        return texts * int(np.prod(shape, dtype=np.int64))
    _check_shape(variable, own_shape, shape)
    return texts


def _check_shape(variable: CFVariable, own_shape: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise UnfitFragmentError for a variable that does not have a value for each fragment."""
    if own_shape != shape:
        raise UnfitFragmentError(
            f"`{variable.path}` has the shape {list(own_shape)}, and the map of fragments {list(shape)}"
        )


def _read_values(
    dataset: CFDataset, variable: CFVariable, feature: CFVariable, shape: tuple[int, ...]
) -> list[bytes | None]:
    """Return the unique value of each fragment as an element of the array. Raises UnfitFragmentError, OSError."""
    _check_values(dataset, feature)
    if feature.type in TEXTS and feature.type == variable.type == "string":
        return [
            None if text is None else text.encode("utf-8", "surrogateescape")
            for text in _read_texts(dataset, feature, shape)
        ]
    if not (feature.is_numeric and variable.is_numeric):
        raise UnfitFragmentError(f"`{feature.path}` has type `{feature.type}`, not `{variable.type}`")
    _check_shape(feature, feature.shape, shape)
    checked = dataset.checked
    stored = reader_of(checked, feature.path).outer(feature.type, [range(length) for length in feature.shape])
    values, missing = physical(checked, feature.path).mask(stored)
    form = canonical_form_of(checked, variable.path)
    dtype = numpy_dtype(descr(form.type, checked.types))
    elements: Any = cast_values(values, missing, dtype).reshape(-1)
    missing = missing.reshape(-1) | form.physical.mask(elements)[1]
    return [None if gap else element.tobytes() for element, gap in zip(elements, missing.tolist(), strict=True)]
