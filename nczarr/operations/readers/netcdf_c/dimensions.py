"""Faults of netCDF-C with dimensions and dimension references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.operations.readers.documents import StoreNode, step
from nczarr.operations.readers.netcdf_c.view import BOTH, NOW, NetcdfView, OpenedGroup, hidden, integers
from nczarr.operations.readers.rule import FindingPlace, Rules

RULES = Rules(NOW)


def dimensions(group: OpenedGroup) -> dict[str, Any]:
    """Return the dimensions of a group as stored."""
    entries_of_group = group.home.get("dimensions", group.home.get("dims"))
    return entries_of_group if isinstance(entries_of_group, dict) else {}


def _pointer(group: OpenedGroup) -> str:
    return f"{group.home_pointer}/{_member(group)}"


def _member(group: OpenedGroup) -> str:
    """Return the member name of a group's dimensions, which differs before 4.9.3."""
    return "dims" if "dims" in group.home and "dimensions" not in group.home else "dimensions"


def length(entry: Any) -> int | None:
    """Return the length of an entry, or None."""
    size = entry.get("size") if isinstance(entry, dict) else entry
    return size if type(size) is int and size >= 0 else None


@RULES.add("bad-dimension", "refuses the whole dataset", 'write `"x": 3` or `"x": {"size": 3, "unlimited": 1}`')
def entries(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find dimensions without a length, and groups without dimensions."""
    if not view.nczarr:
        return
    for group in view.groups:
        written = group.home.get("dimensions", group.home.get("dims"))
        if group.home and not isinstance(written, dict):
            does = "crashes" if written is None else "refuses the whole dataset (-137)"
            where = _pointer(group) if written is not None else group.home_pointer
            yield FindingPlace(group.home_key, where, f"group `{group.path}` has no object `dimensions`", does=does)
        for name, entry in dimensions(group).items():
            if length(entry) is None:
                yield FindingPlace(
                    group.home_key, f"{_pointer(group)}/{step(name)}", f"dimension `{name}` has no length"
                )


@RULES.add("boolean-unlimited", "treats it as a fixed dimension", 'write `"unlimited": 1`')
def boolean_unlimited(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find `"unlimited": true`."""
    for group in view.groups:
        for name, entry in dimensions(group).items():
            if isinstance(entry, dict) and entry.get("unlimited") is True:
                where = f"{_pointer(group)}/{step(name)}/unlimited"
                yield FindingPlace(group.home_key, where, f"`unlimited` of dimension `{name}` is `true`")


def _references(view: NetcdfView) -> Iterator[tuple[OpenedGroup, StoreNode, list[Any] | None, str, str]]:
    """Yield every described array: its group, its references, and their position."""
    if not view.nczarr:
        return
    for group, array in view.arrays:
        described, key, pointer = hidden(array, "array")
        if isinstance(described, dict):
            name = (
                "dimrefs"
                if "dimrefs" in described and "dimension_references" not in described
                else "dimension_references"
            )
            references = described.get(name)
            yield group, array, references if isinstance(references, list) else None, key, f"{pointer}/{name}"


def _scalar(view: NetcdfView, array: StoreNode) -> bool:
    described, _, _ = hidden(array, "array")
    return "scalar" in described or (view.older and described.get("storage") == "scalar")


def _rank(array: StoreNode) -> int | None:
    shape = integers(array.meta.get("shape"))
    return None if shape is None else len(shape)


@RULES.add("unmarked-scalar", "crashes", 'write `"scalar": 1` next to the references')
def unmarked_scalars(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find one-element arrays without references."""
    for _, array, references, key, pointer in _references(view):
        if references == [] and array.meta.get("shape") == [1] and not _scalar(view, array):
            yield FindingPlace(key, pointer, f"scalar `{array.path}` has the shape `[1]` and no `scalar` member")


@RULES.add("missing-references", "crashes", "write the name of a dimension for each axis", seen=BOTH)
def missing_references(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find arrays with fewer references than axes."""
    for _, array, references, key, pointer in _references(view):
        rank = _rank(array)
        if rank is None or rank == 0 or _scalar(view, array) or (references == [] and array.meta.get("shape") == [1]):
            continue
        if references is None:
            yield FindingPlace(key, pointer.rpartition("/")[0], f"`{array.path}` has no `dimension_references`")
        elif len(references) < rank or not all(isinstance(reference, str) for reference in references):
            yield FindingPlace(key, pointer, f"`{array.path}` has {rank} axes, and {_count(references)}")


def _count(references: list[Any]) -> str:
    texts = sum(isinstance(reference, str) for reference in references)
    return "1 reference to a dimension" if texts == 1 else f"{texts} references to dimensions"


@RULES.add(
    "surplus-references", "refuses the whole dataset (-63)", "write the name of a dimension for each axis", seen=BOTH
)
def surplus_references(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find arrays with more references than axes."""
    for _, array, references, key, pointer in _references(view):
        rank = _rank(array)
        if (
            references is not None
            and rank is not None
            and len(references) > rank
            and all(isinstance(reference, str) for reference in references)
        ):
            yield FindingPlace(key, pointer, f"`{array.path}` has {_axes(rank)}, and {_count(references)}")


def _axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


def _resolved(view: NetcdfView) -> Iterator[tuple[OpenedGroup, StoreNode, int, str, OpenedGroup | None, str, str, str]]:
    """Yield every reference: group, array, axis, reference, declaring group, simple name, position."""
    groups = {group.path: group for group in view.groups}
    for group, array, references, key, pointer in _references(view):
        for axis, reference in enumerate(references or ()):
            if isinstance(reference, str):
                home, _, name = reference.rpartition("/")
                place = groups.get("/" + home.strip("/"))
                yield group, array, axis, reference, place, name, key, f"{pointer}/{axis}"


@RULES.add("unknown-reference", "crashes", "write the path of a dimension: group and name, nothing escaped", seen=BOTH)
def unknown_references(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find references to missing dimensions."""
    for _, array, _, reference, place, name, key, pointer in _resolved(view):
        if place is None:
            text = f"`{array.path}` refers to `{reference}`, a group that does not exist"
            yield FindingPlace(key, pointer, text, does="refuses the whole dataset (-125)")
        elif name not in dimensions(place) and isinstance(place.home.get(_member(place)), dict):
            yield FindingPlace(key, pointer, f"`{array.path}` refers to `{reference}`, a dimension that does not exist")


@RULES.add(
    "sideways-reference",
    "crashes, or refuses the whole dataset (-125)",
    "write a dimension of an enclosing group",
    seen=BOTH,
)
def sideways_references(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find references to dimensions of groups that are no ancestors."""
    order = [group.path for group in view.groups]
    for group, array, _, reference, place, name, key, pointer in _resolved(view):
        if (
            place is None
            or name not in dimensions(place)
            or (group.path.rstrip("/") + "/").startswith(place.path.rstrip("/") + "/")
        ):
            continue
        if place.path.startswith(group.path.rstrip("/") + "/"):
            does = "refuses the whole dataset (-125)"
        elif order.index(place.path) > order.index(group.path):
            does = "crashes"
        else:
            does = "reads it, but netCDF4-python refuses the whole dataset"
        yield FindingPlace(
            key, pointer, f"`{array.path}` refers to `{reference}`, which no enclosing group declares", does=does
        )


@RULES.add("unequal-lengths", "refuses the whole dataset (-63)", "write the same length of a dimension in every shape")
def unequal_lengths(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find shapes that differ from their dimensions; in pure stores, two lengths of one name in a group."""
    for _, array, axis, reference, place, name, _, _ in _resolved(view):
        shape = integers(array.meta.get("shape"))
        size = None if place is None else length(dimensions(place).get(name))
        if shape is not None and axis < len(shape) and size is not None and size != shape[axis] >= 0:
            text = f"axis {axis} of `{array.path}` has the length {shape[axis]}, but its dimension `{reference}` {size}"
            yield FindingPlace(array.key, f"/shape/{axis}", text)
    yield from _unequal_names(view)


def _named(view: NetcdfView) -> Iterator[tuple[OpenedGroup, StoreNode, list[Any], list[int]]]:
    """Yield arrays of a pure store with dimension names: group, array, names, shape."""
    if view.nczarr:
        return
    for group, array in view.arrays:
        axis_names, shape = array.attrs.get("_ARRAY_DIMENSIONS"), integers(array.meta.get("shape"))
        if isinstance(axis_names, list) and shape:
            yield group, array, axis_names, shape


def _unequal_names(view: NetcdfView) -> Iterator[FindingPlace]:
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for group, array, axis_names, shape in _named(view):
        for axis, (name, size) in enumerate(zip(axis_names, shape, strict=False)):
            if not isinstance(name, str):
                continue
            before, other = sizes.setdefault((group.path, name), (size, array.path))
            if before != size:
                text = f"dimension `{name}` has the length {size} in `{array.path}` and {before} in `{other}`"
                yield FindingPlace(array.attrs_key, f"/_ARRAY_DIMENSIONS/{axis}", text)


@RULES.add(
    "unnamed-dimension",
    "creates one dimension for all axes of the same length: `_Anonymous_Dim_3`",
    "write `_ARRAY_DIMENSIONS`",
)
def unnamed(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find axes without names."""
    if view.nczarr:
        return
    for _, array in view.arrays:
        axis_names, shape = array.attrs.get("_ARRAY_DIMENSIONS"), integers(array.meta.get("shape"))
        if shape and (not isinstance(axis_names, list) or not axis_names):
            yield FindingPlace(array.attrs_key, "", f"`{array.path}` does not name its dimensions")


@RULES.add("missing-names", "crashes", "write one name for each axis in `_ARRAY_DIMENSIONS`", seen=BOTH)
def missing_names(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find arrays with fewer names than axes."""
    for _, array, axis_names, shape in _named(view):
        fit = all(isinstance(axis_name, str | int | float) for axis_name in axis_names)
        if axis_names and (len(axis_names) < len(shape) or not fit):
            named = sum(isinstance(axis_name, str) for axis_name in axis_names)
            verb = "has a name" if named == 1 else "have names"
            text = f"`{array.path}` has {_axes(len(shape))}, and {named} of them {verb}"
            yield FindingPlace(array.attrs_key, "/_ARRAY_DIMENSIONS", text)


@RULES.add("surplus-names", "creates unused dimensions", "write one name for each axis in `_ARRAY_DIMENSIONS`")
def surplus_names(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find arrays with more names than axes."""
    for _, array, axis_names, shape in _named(view):
        if len(axis_names) > len(shape):
            text = f"`{array.path}` has {_axes(len(shape))}, but names {len(axis_names)}"
            yield FindingPlace(array.attrs_key, "/_ARRAY_DIMENSIONS", text)


@RULES.add("illegal-name", "refuses the whole dataset (-125, -36)", "write a simple name")
def illegal_names(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find dimension names that the library reads as paths."""
    for _, array, axis_names, _ in _named(view):
        for axis, name in enumerate(axis_names):
            if isinstance(name, str) and (not name or "/" in name):
                does = "refuses the whole dataset (-125)" if name else "refuses the whole dataset (-36)"
                yield FindingPlace(
                    array.attrs_key, f"/_ARRAY_DIMENSIONS/{axis}", f"`{name}` is not a dimension name", does=does
                )
