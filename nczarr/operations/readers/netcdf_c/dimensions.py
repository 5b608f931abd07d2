"""Faults of netCDF-C with dimensions and dimension references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.operations.readers.documents import StoreNode, step
from nczarr.operations.readers.netcdf_c.view import BOTH, NOW, NetcdfView, OpenedGroup
from nczarr.operations.readers.rule import Finding, faults

FAULTS = faults(
    NOW,
    ("bad-dimension", "refuses the whole dataset", 'write `"x": 3` or `"x": {"size": 3, "unlimited": 1}`'),
    ("boolean-unlimited", "treats it as a fixed dimension", 'write `"unlimited": 1`'),
    ("unmarked-scalar", "crashes", 'write `"scalar": 1` next to the references'),
    ("missing-references", "crashes", "write the name of a dimension for each axis", BOTH),
    ("surplus-references", "refuses the whole dataset (-63)", "write the name of a dimension for each axis", BOTH),
    ("unknown-reference", "crashes", "write the path of a dimension: group and name, nothing escaped", BOTH),
    ("sideways-reference", "crashes, or refuses the whole dataset (-125)", "write a dimension of an enclosing group",
     BOTH),
    ("unequal-lengths", "refuses the whole dataset (-63)", "write the same length of a dimension in every shape"),
    ("unnamed-dimension", "creates one dimension for all axes of the same length: `_Anonymous_Dim_3`",
     "write `_ARRAY_DIMENSIONS`"),
    ("missing-names", "crashes", "write one name for each axis in `_ARRAY_DIMENSIONS`", BOTH),
    ("surplus-names", "creates unused dimensions", "write one name for each axis in `_ARRAY_DIMENSIONS`"),
    ("illegal-name:dimension", "refuses the whole dataset (-125, -36)", "write a simple name"),
)  # fmt: skip


def _member(group: OpenedGroup) -> str:
    """Return the member name of a group's dimensions, which differs before 4.9.3."""
    return "dims" if "dims" in group.home and "dimensions" not in group.home else "dimensions"


def dimensions(group: OpenedGroup) -> dict[str, Any]:
    """Return the dimensions of a group as stored."""
    stored = group.home.get(_member(group))
    return stored if isinstance(stored, dict) else {}


def length(entry: Any) -> int | None:
    """Return the length of an entry, or None."""
    size = entry.get("size") if isinstance(entry, dict) else entry
    return size if type(size) is int and size >= 0 else None


def find_dimensions(view: NetcdfView) -> Iterator[Finding]:
    """Find dimensions without a length, with a wrong mark, and groups without dimensions."""
    for group in view.groups:
        member = _member(group)
        written = group.home.get(member)
        if group.home and not isinstance(written, dict):
            does = "crashes" if written is None else "refuses the whole dataset (-137)"
            where = "" if written is None else f"/{member}"
            yield group.at("bad-dimension", where, f"group `{group.path}` has no object `dimensions`", does=does)
        for name, entry in dimensions(group).items():
            where = f"/{member}/{step(name)}"
            if length(entry) is None:
                yield group.at("bad-dimension", where, f"dimension `{name}` has no length")
            if isinstance(entry, dict) and entry.get("unlimited") is True:
                text = f"`unlimited` of dimension `{name}` is `true`"
                yield group.at("boolean-unlimited", f"{where}/unlimited", text)


def _axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


class _Described(NamedTuple):
    """An array with its hidden attribute."""

    group: OpenedGroup
    """Its group."""
    array: StoreNode
    """The array."""
    references: list[Any] | None
    """Its references to dimensions, if they are a list."""
    is_scalar: bool
    """True if it is marked as a scalar."""
    key: str
    """Key of the document with the references."""
    pointer: str
    """JSON pointer to the references."""

    @property
    def counted(self) -> str:
        """Number of references in words."""
        texts = sum(isinstance(reference, str) for reference in self.references or ())
        return "1 reference to a dimension" if texts == 1 else f"{texts} references to dimensions"

    def at(self, fault: str, what: str, *, axis: int | None = None, does: str = "") -> Finding:
        """Return a finding at the references, or at that of an axis."""
        return Finding(fault, self.key, self.pointer + ("" if axis is None else f"/{axis}"), what, does)


def _described(view: NetcdfView) -> Iterator[_Described]:
    """Yield every described array of a store that is NCZarr."""
    for group, array in view.placed if view.nczarr else ():
        members, key, pointer = array.hidden("array")
        if isinstance(members, dict):
            is_old = "dimrefs" in members and "dimension_references" not in members
            name = "dimrefs" if is_old else "dimension_references"
            references = members.get(name)
            references = references if isinstance(references, list) else None
            is_scalar = "scalar" in members or (view.older and members.get("storage") == "scalar")
            yield _Described(group, array, references, is_scalar, key, f"{pointer}/{name}")


def find_references(view: NetcdfView) -> Iterator[Finding]:
    """Find arrays with more or fewer references than axes."""
    for one in _described(view):
        array, references = one.array, one.references
        path, rank = array.path, None if array.shape is None else len(array.shape)
        are_texts = references is not None and all(isinstance(reference, str) for reference in references)
        if references == [] and array.meta.get("shape") == [1]:
            if not one.is_scalar:
                text = f"scalar `{path}` has the shape `[1]` and no `scalar` member"
                yield one.at("unmarked-scalar", text)
        elif rank and not one.is_scalar:
            if references is None:
                text = f"`{path}` has no `dimension_references`"
                yield Finding("missing-references", one.key, one.pointer.rpartition("/")[0], text)
            elif len(references) < rank or not are_texts:
                yield one.at("missing-references", f"`{path}` has {rank} axes, and {one.counted}")
        if references is not None and rank is not None and len(references) > rank and are_texts:
            yield one.at("surplus-references", f"`{path}` has {_axes(rank)}, and {one.counted}")


def find_targets(view: NetcdfView) -> Iterator[Finding]:
    """Find references to dimensions that are missing, not visible, or of another length."""
    groups = {group.path: group for group in view.groups}
    order = list(groups)
    for one in _described(view):
        path, shape = one.array.path, one.array.shape
        for axis, reference in enumerate(one.references or ()):
            if not isinstance(reference, str):
                continue
            home, _, name = reference.rpartition("/")
            place = groups.get("/" + home.strip("/"))
            if place is None:
                text = f"`{path}` refers to `{reference}`, a group that does not exist"
                yield one.at("unknown-reference", text, axis=axis, does="refuses the whole dataset (-125)")
                continue
            if name not in dimensions(place):
                if isinstance(place.home.get(_member(place)), dict):
                    text = f"`{path}` refers to `{reference}`, a dimension that does not exist"
                    yield one.at("unknown-reference", text, axis=axis)
                continue
            inside, around = one.group.path.rstrip("/") + "/", place.path.rstrip("/") + "/"
            if not inside.startswith(around):
                does = "reads it, but netCDF4-python refuses the whole dataset"
                if place.path.startswith(inside):
                    does = "refuses the whole dataset (-125)"
                elif order.index(place.path) > order.index(one.group.path):
                    does = "crashes"
                text = f"`{path}` refers to `{reference}`, which no enclosing group declares"
                yield one.at("sideways-reference", text, axis=axis, does=does)
            size = length(dimensions(place)[name])
            if shape is not None and axis < len(shape) and size is not None and size != shape[axis] >= 0:
                text = f"axis {axis} of `{path}` has the length {shape[axis]}, but its dimension `{reference}` {size}"
                yield one.array.at("unequal-lengths", f"/shape/{axis}", text)


def find_names(view: NetcdfView) -> Iterator[Finding]:
    """Find faulty names of dimensions in a store that is not NCZarr."""
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for group, array in () if view.nczarr else view.placed:
        axis_names, shape, path = array.attrs.get("_ARRAY_DIMENSIONS"), array.shape, array.path
        if not shape:
            continue
        if not isinstance(axis_names, list) or not axis_names:
            text = f"`{path}` does not name its dimensions"
            yield Finding("unnamed-dimension", array.attrs_key, "", text)
            continue
        fit = all(isinstance(axis_name, str | int | float) for axis_name in axis_names)
        if len(axis_names) < len(shape) or not fit:
            texts = sum(isinstance(axis_name, str) for axis_name in axis_names)
            verb = "has a name" if texts == 1 else "have names"
            text = f"`{path}` has {_axes(len(shape))}, and {texts} of them {verb}"
            yield array.at_attribute("missing-names", "_ARRAY_DIMENSIONS", text)
        if len(axis_names) > len(shape):
            text = f"`{path}` has {_axes(len(shape))}, but names {len(axis_names)}"
            yield array.at_attribute("surplus-names", "_ARRAY_DIMENSIONS", text)
        for axis, name in enumerate(axis_names):
            if isinstance(name, str) and (not name or "/" in name):
                does = f"refuses the whole dataset ({-125 if name else -36})"
                where, text = f"_ARRAY_DIMENSIONS/{axis}", f"`{name}` is not a dimension name"
                yield array.at_attribute("illegal-name:dimension", where, text, does=does)
        for axis, (name, size) in enumerate(zip(axis_names, shape, strict=False)):
            before, other = sizes.setdefault((group.path, name), (size, path)) if isinstance(name, str) else (size, "")
            if before != size:
                text = f"dimension `{name}` has the length {size} in `{path}` and {before} in `{other}`"
                yield array.at_attribute("unequal-lengths", f"_ARRAY_DIMENSIONS/{axis}", text)


FIND = (find_dimensions, find_references, find_targets, find_names)
