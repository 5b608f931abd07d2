"""2 NetCDF files and components."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.ast import Attribute
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.ast.node import Node
from nczarr.plugins.cf import references
from nczarr.plugins.cf.coordinates import axis_of, has_values, read_pieces
from nczarr.plugins.cf.rule import Breach, show_version
from nczarr.plugins.cf.view import NEWEST, AttributeOwner, CFDataset, CFVariable
from nczarr.semantics.resolve import list_scopes

# ---- 2.1 Filename, and 2.6.1 Identification of conventions ------------------------------------------------------
KNOWN = frozenset(f"CF-1.{minor}" for minor in range(NEWEST[1] + 1))
"""Names of all versions."""


def check_conventions(dataset: CFDataset) -> Iterator[Breach]:
    """Find a missing name of the convention."""
    name = dataset.filename
    if name is not None and not name.endswith(".nc"):
        yield Breach("suffix", f"the name of the file, `{name}`, does not end in `.nc`", dataset.checked.dataset)
    node = dataset.root.attributes.get("Conventions")
    expected = f"CF-{show_version(dataset.version)}"
    if node is None:
        yield Breach("version", "the dataset has no attribute `Conventions`", dataset.checked.dataset, "",
                     (f'write `:Conventions = "{expected}"`',))  # fmt: skip
        return
    text = dataset.root.text("Conventions")
    if dataset.root.kind("Conventions") != "text" or not isinstance(dataset.root.value("Conventions"), str):
        yield Breach("text", "`Conventions` is not a single text", node)
        return
    versions = [word for word in list_conventions(text) if word in KNOWN]
    if not versions:
        yield Breach("version", f"`Conventions` is `{text}`, which names no version of CF", node)
    elif expected not in versions:
        what = f"`Conventions` names `{versions[0]}`, and the dataset is checked as `{expected}`"
        yield Breach("requested", what, node, versions[0])


def list_conventions(text: str) -> list[str]:
    """Return the names in an attribute `Conventions`."""
    return text.replace(",", " ").split()


# ---- 2.6.2 Description of file contents -------------------------------------------------------------------------
TEXTS = ("title", "history", "institution", "source", "references", "comment")


def check_description(dataset: CFDataset) -> Iterator[Breach]:
    """Find descriptions that are no texts, or stand at a variable."""
    for owner in dataset.owners:
        for name in TEXTS:
            node = owner.attributes.get(name)
            if node is None:
                continue
            if owner.kind(name) != "text":
                yield Breach("text", f"attribute `{name}` of `{owner.path}` is not a text", node)
            if isinstance(owner, CFVariable) and name in ("title", "history"):
                yield Breach("global", f"`{owner.path}` has the attribute `{name}`", node)


# ---- 2.6.3 External variables -----------------------------------------------------------------------------------
def check_external_variables(dataset: CFDataset) -> Iterator[Breach]:
    """Find external variables that are in the dataset."""
    node = dataset.root.attributes.get("external_variables")
    if node is None:
        return
    if dataset.root.kind("external_variables") != "text":
        yield Breach("text", "`external_variables` is not a text", node)
    for name in dataset.root.text("external_variables").split():
        if dataset.resolve(name, "/") is not None:
            text = f"`external_variables` names `{name}`, which is in the dataset"
            yield Breach("absent", text, node, name)


# ---- 2.2 Data types, and 2.5: a text is no coordinate variable --------------------------------------------------
CLASSIC = frozenset(("char", "byte", "short", "int", "float", "double"))
LATER = CLASSIC | {"ubyte", "ushort", "uint", "int64", "uint64", "string"}


def check_data_types(dataset: CFDataset) -> Iterator[Breach]:
    """Find types of variables and attributes that CF does not have."""
    for variable in dataset.variables.values():
        if variable.type not in LATER:
            yield Breach("type", f"`{variable.path}` has the type `{variable.type}`", variable.node)
        elif variable.type not in CLASSIC | {"string"}:
            helps = ("use a 32-bit type or `double`, or conform to CF 1.9",) if variable.type.endswith("64") else ()
            yield Breach("unsigned", f"`{variable.path}` has the type `{variable.type}`", variable.node, helps=helps)
        if variable.type == "string" and [dataset.label(axis) for axis in variable.dimensions] == [variable.name]:
            text = f"`{variable.path}` holds texts and has the name of its dimension"
            yield Breach("label", text, variable.node)
    for owner in dataset.owners:
        for attribute in owner.attributes.values():
            yield from _check_attribute_value(attribute, owner)


def _check_attribute_value(attribute: Attribute, owner: AttributeOwner) -> Iterator[Breach]:
    constant = attribute.value
    is_text = owner.kind(attribute.name) == "text"
    if constant.type == "string" and constant.count > 1 and is_text and attribute.name != "flag_values":
        text = f"attribute `{attribute.name}` of `{owner.path}` is an array of {constant.count} strings"
        yield Breach("scalar", text, attribute)
    value = owner.value(attribute.name)
    if isinstance(value, str) and not value.isascii() and unicodedata.normalize("NFC", value) != value:
        text = f"attribute `{attribute.name}` of `{owner.path}` is not in Normalization Form C"
        yield Breach("utf8", text, attribute)
    elif isinstance(value, str) and "\ufffd" in value:
        yield Breach("utf8", f"attribute `{attribute.name}` of `{owner.path}` is not encoded in UTF-8", attribute)


# ---- 2.3 Naming conventions -------------------------------------------------------------------------------------
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

SYSTEM = frozenset(("_FillValue", "_Unsigned", "_Encoding", "_Storage", "_ChunkSizes", "_Coordinate", "_DeflateLevel"))
"""Attributes of netCDF itself, whose names begin with an underscore."""


def check_naming(dataset: CFDataset) -> Iterator[Breach]:
    """Find names with other characters, and names that differ only in case."""
    for kind, name, path, node in _names(dataset):
        if not _NAME.fullmatch(name) and not (kind == "attribute" and name.startswith(tuple(SYSTEM))):
            where = f" of `{path}`" if kind == "attribute" else ""
            text = f"{kind} `{name}`{where} has a name with other characters than letters, digits and underscores"
            if name[:1].isdigit() or name.startswith("_"):
                text = f"the name of {kind} `{name}`{where} does not begin with a letter"
            yield Breach("characters", text, node)
    lowered: dict[tuple[str, str], str] = {}
    for variable in dataset.variables.values():
        other = lowered.setdefault((variable.group, variable.name.lower()), variable.name)
        if other != variable.name:
            text = f"the names of variables `{other}` and `{variable.name}` differ only in case"
            yield Breach("case", text, variable.node)


def _names(dataset: CFDataset) -> Iterator[tuple[str, str, str, Node]]:
    """Yield kind, name, path of the owner and node of everything with a name."""
    for path, dimension in dataset.dimensions.items():
        yield "dimension", dimension.name, path, dimension
    for variable in dataset.variables.values():
        yield "variable", variable.name, variable.path, variable.node
    for owner in dataset.owners:
        for name, attribute in owner.attributes.items():
            yield "attribute", name, owner.path, attribute


# ---- 2.4 Dimensions: different names, and their order -----------------------------------------------------------
def check_dimensions(dataset: CFDataset) -> Iterator[Breach]:
    """Find repeated dimensions, and dimensions in another order."""
    for variable in dataset.variables.values():
        named = [dimension for dimension in variable.dimensions if isinstance(dimension, str)]
        repeated = next((dimension for dimension in named if named.count(dimension) > 1), None)
        if repeated is not None:
            text = f"`{variable.path}` has the dimension `{dataset.label(repeated)}` twice"
            yield Breach("distinct", text, variable.node)
    for variable in dataset.variables.values():
        axes = []
        for dimension in variable.dimensions:
            coordinate = dataset.coordinate_of(dimension, variable.group)
            axes.append("" if coordinate is None else axis_of(coordinate))
        spatial = [axis for axis in axes if axis]
        if spatial != sorted(spatial, key="TZYX".index):
            names_of = ", ".join(map(dataset.label, variable.dimensions))
            text = f"the dimensions of `{variable.path}` ({names_of}) are in the order {' '.join(spatial)}"
            yield Breach("order", text, variable.node)


# ---- 2.5.1 Missing data, valid and actual range of data ---------------------------------------------------------
def check_missing_data(dataset: CFDataset) -> Iterator[Breach]:
    """Find contradictions among the attributes of missing and valid values."""
    for variable in dataset.variables.values():
        attributes, path = variable.attributes, variable.path
        limits = [name for name in ("valid_min", "valid_max") if name in attributes]
        if "valid_range" in attributes and limits:
            text = f"`{path}` has `valid_range` and `{limits[0]}`"
            yield Breach("range", text, attributes[limits[0]])
        for name in MISSING_MARKS:
            if name in attributes and not variable.has_type(name, variable.type):
                text = f"`{name}` of `{path}` has the type `{attributes[name].value.type}`, not `{variable.type}`"
                yield Breach("fill-type", text, attributes[name])
        yield from _check_fill_value(variable)
        if "actual_range" in attributes:
            yield from _check_actual_range(dataset, variable)


def _valid_range(variable: CFVariable) -> tuple[float, float]:
    """Return the smallest and the largest valid value as stored."""
    both = variable.numbers("valid_range")
    if len(both) == 2:
        return both[0], both[1]
    lowest, highest = variable.numbers("valid_min"), variable.numbers("valid_max")
    return (lowest[0] if lowest else -np.inf), (highest[0] if highest else np.inf)


def _check_fill_value(variable: CFVariable) -> Iterator[Breach]:
    fills, marks = variable.numbers("_FillValue"), variable.numbers("missing_value")
    low, high = _valid_range(variable)
    if fills and (low, high) != (-np.inf, np.inf) and low <= fills[0] <= high:
        text = f"`_FillValue` of `{variable.path}`, {fills[0]:g}, is a valid value"
        yield Breach("fill-valid", text, variable.attributes["_FillValue"])
    if fills and marks and fills[0] not in marks and not (fills[0] != fills[0] and marks[0] != marks[0]):
        text = f"`missing_value` of `{variable.path}` is {marks[0]:g}, and `_FillValue` {fills[0]:g}"
        yield Breach("fill-equal", text, variable.attributes["missing_value"])


def _check_actual_range(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node, actual, path = variable.attributes["actual_range"], variable.numbers("actual_range"), variable.path
    packing = variable.kind("scale_factor") or variable.kind("add_offset")
    expected = packing or variable.type
    if not variable.has_type("actual_range", expected):
        text = f"`actual_range` of `{path}` has the type `{node.value.type}`, not `{expected}`"
        yield Breach("actual-type", text, node)
    if len(actual) != 2:
        yield Breach("actual-range", f"`actual_range` of `{path}` has {node.value.count} values, not 2", node)
        return
    low, high = _valid_range(variable)
    scale, offset = ([*variable.numbers(name), other][0] for name, other in (("scale_factor", 1), ("add_offset", 0)))
    ends = sorted((low * scale + offset, high * scale + offset))
    if not (ends[0] <= actual[0] and actual[1] <= ends[1]):
        text = f"`actual_range` of `{path}`, {actual[0]:g} to {actual[1]:g}, is outside of the valid range"
        yield Breach("actual-valid", text, node)
    if variable.is_numeric and has_values(dataset, variable):
        lowest, highest = np.inf, -np.inf
        for values, missing in read_pieces(dataset, variable):
            if not missing.all():
                lowest, highest = min(lowest, values[~missing].min()), max(highest, values[~missing].max())
        if lowest > highest:
            text = f"`{path}` has `actual_range`, and all its values are missing"
            yield Breach("actual-missing", text, node)
        elif not _are_equal((lowest, highest), actual, exact=not packing):
            text = f"`actual_range` of `{path}` is {actual[0]:g} to {actual[1]:g}, not {lowest:g} to {highest:g}"
            yield Breach("actual-range", text, node)


def _are_equal(values: tuple[float, float], actual: list[float], *, exact: bool) -> bool:
    """Return whether two ranges are equal; unpacked values are rounded."""
    return values == tuple(actual) if exact else bool(np.allclose(values, actual, rtol=1e-5))


# ---- 2.7 Groups -------------------------------------------------------------------------------------------------
_PATH = re.compile(r"(?:\.\.?/|/)?(?:(?:\.\.|\w+)/)*\w+", re.ASCII)


def check_groups(dataset: CFDataset) -> Iterator[Breach]:
    """Find attributes and references that are wrong in groups."""
    for path, group in dataset.checked.groups.items():
        for attribute in group.attributes:
            if path != "/" and attribute.name in ("Conventions", "external_variables"):
                yield Breach("root-only", f"group `{path}` has the attribute `{attribute.name}`", attribute)
    for variable in dataset.variables.values():
        for attribute_name in references.EVERY:
            if attribute_name in variable.attributes:
                for name in references.list_names(attribute_name, variable.text(attribute_name)):
                    yield from _check_reference(dataset, variable, attribute_name, name)


def _check_reference(dataset: CFDataset, variable: CFVariable, attribute: str, name: str) -> Iterator[Breach]:
    node, other = variable.attributes[attribute], dataset.resolve(name, variable.group)
    if "/" in name and not _PATH.fullmatch(name):
        yield Breach("path", f"`{attribute}` of `{variable.path}` has the invalid path `{name}`", node, name)
    if other is None or other.group == variable.group:
        return
    if "/" not in name and other.group not in list_scopes(variable.group):
        text = f"`{attribute}` of `{variable.path}` names `{name}`, which is `{other.path}`, in another group"
        yield Breach("lateral", text, node, name)
    ours = {names.last(axis): axis for axis in variable.dimensions if isinstance(axis, str)}
    for axis in other.dimensions:
        if isinstance(axis, str) and ours.get(names.last(axis), axis) != axis:
            text = f"the dimension `{names.last(axis)}` of `{other.path}` is not that of `{variable.path}`"
            yield Breach("dimension", text, node, name)
