"""8 Reduction of dataset size, and Appendix J."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import has_values, read_numbers, read_pieces
from nczarr.plugins.cf.references import match_all, parse_pairs
from nczarr.plugins.cf.rule import Breach, find_missing, find_missing_dimensions, find_no_text
from nczarr.plugins.cf.view import INTEGERS, REALS, CFDataset, CFVariable

# ---- 8.1 Packed data --------------------------------------------------------------------------------------------
SHORT = frozenset(("byte", "ubyte", "short", "ushort"))


def check_packed_data(dataset: CFDataset) -> Iterator[Breach]:
    """Find types of packing that CF does not allow."""
    for variable in dataset.variables.values():
        names_of = [name for name in ("scale_factor", "add_offset") if name in variable.attributes]
        if names_of:
            yield from _check_packing_types(variable, names_of)


def _check_packing_types(variable: CFVariable, names_of: Sequence[str]) -> Iterator[Breach]:
    node, kinds = variable.attributes[names_of[0]], [variable.kind(name) for name in names_of]
    if not variable.is_typed and "text" not in kinds:
        return  # JSON has no types of numbers
    what = f"`{names_of[0]}` of `{variable.path}` has the type `{kinds[0]}`"
    if len(set(kinds)) > 1:
        yield Breach("equal", f"{what}, and `{names_of[1]}` the type `{kinds[1]}`", node)
    if kinds[0] not in REALS:
        yield Breach("real", what, node)
    elif variable.type not in SHORT | ({"int", "uint"} if kinds[0] == "double" else set()):
        yield Breach("range", f"{what}, and the variable `{variable.type}`", node)
    if kinds[0] != variable.type:
        if kinds[0] not in REALS:
            yield Breach("unpacked", what, node)
        if variable.type not in ("byte", "short", "int", "ubyte", "ushort", "uint"):
            yield Breach("packed", f"{what}, and the variable `{variable.type}`", node)
    if kinds[0] == "float" and variable.type in ("int", "uint"):
        yield Breach("precision", f"{what}, and the variable `{variable.type}`", node)


# ---- 8.2 Lossless compression by gathering ----------------------------------------------------------------------
def check_gathering(dataset: CFDataset) -> Iterator[Breach]:
    """Find lists of gathered cells that are wrong."""
    for variable, node in dataset.having("compress"):
        if not variable.is_coordinate or variable.type not in INTEGERS:
            what = f"`{variable.path}` has `compress`, and is not a coordinate variable of integers"
            yield Breach("place", what, node)
        words = variable.text("compress").split()
        yield from find_no_text(variable, "compress")
        yield from find_missing_dimensions(dataset, variable, "compress", words)
        if "bounds" in variable.attributes:
            yield Breach("bounds", f"`{variable.path}` has `compress` and `bounds`", variable.attributes["bounds"])
        axes = [dataset.resolve_dimension(name, variable.group) for name in words]
        if not axes or None in axes or variable.type not in INTEGERS or not has_values(dataset, variable):
            continue
        cells = math.prod(map(dataset.length, axes))
        for values, missing in read_pieces(dataset, variable):
            wrong = ~missing & ((values < 0) | (values >= cells))
            if wrong.any():
                what = f"`{variable.path}` has the index {values[wrong][0]}, and the dimensions have {cells} cells"
                yield Breach("range", what, node)
                break


# ---- 8.3 Lossy compression by coordinate subsampling, and Appendix J --------------------------------------------
# The conformance document calls the attributes `tie_points` and
# `tie_point_dimensions`; the text, whose names these rules use,
# `coordinate_interpolation` and `tie_point_mapping`.
METHODS = ("linear", "bi_linear", "quadratic", "quadratic_latitude_longitude", "bi_quadratic_latitude_longitude")
_GROUP = re.compile(r"\s*((?:[^\s:]+:\s+)+)([^\s:]+)(?=\s|$)")
_MAPPING = re.compile(r"\s*([^\s:]+):\s+([^\s:]+)\s+([^\s:]+)(?!:)(?:\s+([^\s:]+)(?!\S))?(?=\s|$)")


def check_subsampling(dataset: CFDataset) -> Iterator[Breach]:
    """Find tie points and interpolations that are incomplete."""
    for variable in dataset.variables.values():
        if "coordinate_interpolation" in variable.attributes:
            yield from _check_coordinate_interpolation(dataset, variable)
        if {"interpolation_name", "interpolation_description", "tie_point_mapping"} & variable.attributes.keys():
            yield from _check_interpolation_variable(dataset, variable)
        if "bounds_tie_points" in variable.attributes:
            node, name = variable.attributes["bounds_tie_points"], variable.text("bounds_tie_points")
            yield from find_missing(dataset, variable, "bounds_tie_points", [name])
            other = dataset.resolve(name, variable.group)
            if other is not None and not (other.is_numeric and other.dimensions == variable.dimensions):
                yield Breach("bounds", f"`{other.path}` has not the dimensions of `{variable.path}`", node)
            if other is not None and not other.attributes.keys().isdisjoint(MISSING_MARKS):
                yield Breach("bounds", f"the bounds tie points `{other.path}` have a fill value", other.node)


def _check_coordinate_interpolation(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["coordinate_interpolation"]
    groups = match_all(_GROUP, variable.text("coordinate_interpolation"))
    if groups is None:
        yield Breach("form", f"`coordinate_interpolation` of `{variable.path}` has no valid form", node)
        return
    for ties, name in (match.groups() for match in groups):
        words = [word.rstrip(":") for word in ties.split()]
        yield from find_missing(dataset, variable, "coordinate_interpolation", (*words, name))
        interpolation = dataset.resolve(name, variable.group)
        if interpolation is None:
            continue
        for match in match_all(_MAPPING, interpolation.text("tie_point_mapping")) or ():
            interpolated, _, subsampled, _ = match.groups()
            for word in words:
                tie = dataset.resolve(word, variable.group)
                axes = [] if tie is None else [dataset.label(axis) for axis in tie.dimensions]
                if tie is not None and (interpolated in axes or subsampled not in axes):
                    what = f"`{tie.path}` has not the subsampled dimension `{subsampled}`"
                    yield Breach("dimensions", what, node, word)


def _check_interpolation_variable(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    path, name = variable.path, variable.text("interpolation_name")
    if bool(name) == bool(variable.text("interpolation_description")) or (name and name not in METHODS):
        what = f"`interpolation_name` of `{path}` is `{name}`" if name else f"`{path}` has no `interpolation_name`"
        yield Breach("method", what, variable.attributes.get("interpolation_name", variable.node), "",
                     tuple(suggest(name, METHODS)))  # fmt: skip
    if variable.text("computational_precision") not in ("32", "64"):
        node = variable.attributes.get("computational_precision", variable.node)
        yield Breach("precision", f"`{path}` has no valid `computational_precision`", node)
    if variable.dimensions:
        yield Breach("scalar", f"the interpolation variable `{path}` has dimensions", variable.node)
    pairs = parse_pairs(variable.text("interpolation_parameters")) or []
    yield from find_missing(dataset, variable, "interpolation_parameters", [other for _, other in pairs])
    mappings = match_all(_MAPPING, variable.text("tie_point_mapping"))
    if mappings is None:
        node = variable.attributes.get("tie_point_mapping", variable.node)
        yield Breach("mapping", f"`{path}` has no valid `tie_point_mapping`", node)
        return
    for interpolated, name, subsampled, subarea in (match.groups("") for match in mappings):
        axes = [axis for axis in (interpolated, subsampled, subarea) if axis]
        yield from find_missing_dimensions(dataset, variable, "tie_point_mapping", axes)
        yield from find_missing(dataset, variable, "tie_point_mapping", [name])
        index = dataset.resolve(name, variable.group)
        if index is not None:
            yield from _check_tie_point_index(dataset, variable, index, subsampled, subarea)


def _check_tie_point_index(
    dataset: CFDataset, variable: CFVariable, index: CFVariable, subsampled: str, subarea: str
) -> Iterator[Breach]:
    """Check tie point indices: integers from 0 that ascend; two with a step of 0 or 1 begin a new area."""
    node = variable.attributes["tie_point_mapping"]
    if index.type not in INTEGERS or [dataset.label(axis) for axis in index.dimensions] != [subsampled]:
        what = f"`{index.path}` is no list of integers of the dimension `{subsampled}`"
        yield Breach("index", what, node, index.name)
        return
    if not has_values(dataset, index):
        return
    steps = np.diff(read_numbers(dataset, index)[0].astype("i8"), prepend=0)
    close = steps[1:] <= 1
    if steps[0] != 0 or (steps < 0).any() or (close[1:] & close[:-1]).any():
        yield Breach("values", f"the indices of `{index.path}` do not begin with 0 and increase", node, index.name)
        return
    axis = dataset.resolve_dimension(subarea, variable.group) if subarea else None
    expected = len(steps) - 1 - int(close.sum())
    if axis is not None and dataset.length(axis) != expected:
        what = f"the dimension `{subarea}` has {dataset.length(axis)} cells, not {expected}"
        yield Breach("areas", what, node, subarea)


# ---- 8.4 Lossy compression via quantization ---------------------------------------------------------------------
ALGORITHMS = {"bitround": "quantization_nsb", "bitgroom": "quantization_nsd", "digitround": "quantization_nsd",
              "granular_bitround": "quantization_nsd"}  # fmt: skip
"""Algorithms, with the attribute that counts their bits or digits."""

MOST = {("quantization_nsb", "float"): 23, ("quantization_nsb", "double"): 52,
        ("quantization_nsd", "float"): 7, ("quantization_nsd", "double"): 15}  # fmt: skip


_IMPLEMENTATION = re.compile(r"\S.*? version \S+(?: \(.*\))?")


def check_quantization(dataset: CFDataset) -> Iterator[Breach]:
    """Find quantized variables and containers that are incomplete."""
    for variable in dataset.variables.values():
        if dataset.is_named_by(variable, "quantization"):
            yield from _check_quantization_container(variable)
        if "quantization" in variable.attributes:
            yield from _check_quantized_variable(dataset, variable)


def _check_quantization_container(variable: CFVariable) -> Iterator[Breach]:
    for name in ("algorithm", "implementation"):
        if not variable.text(name):
            yield Breach("container", f"`{variable.path}` has no text `{name}`", variable.node)
    algorithm, implementation = variable.text("algorithm"), variable.text("implementation")
    if algorithm and algorithm not in ALGORITHMS:
        helps = tuple(suggest(algorithm, ALGORITHMS))
        yield Breach("algorithm", f"`algorithm` of `{variable.path}` is `{algorithm}`",
                     variable.attributes["algorithm"], "", helps)  # fmt: skip
    if implementation and not _IMPLEMENTATION.fullmatch(implementation):
        what = f"`implementation` of `{variable.path}` names no version"
        yield Breach("implementation", what, variable.attributes["implementation"])


def _check_quantized_variable(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node, name = variable.attributes["quantization"], variable.text("quantization")
    yield from find_no_text(variable, "quantization", "exists")
    yield from find_missing(dataset, variable, "quantization", [name] if name else [])
    if variable.type not in REALS:
        yield Breach("real", f"`{variable.path}` has `quantization`, and the type `{variable.type}`", node)
    if variable.is_coordinate or dataset.is_named_by(variable, "coordinates", "formula_terms", "cell_measures"):
        yield Breach("coordinates", f"`{variable.path}` is a coordinate, term or measure, and quantized", node)
    container = dataset.resolve(name, variable.group) if name else None
    attribute = ALGORITHMS.get(container.text("algorithm")) if container is not None else None
    if attribute is None or variable.type not in REALS:
        return
    count, most = variable.value(attribute), MOST[attribute, variable.type]
    if variable.kind(attribute) not in INTEGERS or not isinstance(count, int) or not 1 <= count <= most:
        what = f"`{attribute}` of `{variable.path}` is not an integer from 1 to {most}"
        yield Breach("count", what, variable.attributes.get(attribute, variable.node))
