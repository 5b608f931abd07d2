"""A pure Zarr hierarchy → the tree: members by listing, dimensions by their simple names.

A dimension belongs to the group of its array; its length is that of its
coordinate variable, else of the first array that uses it. Other lengths and
unnamed axes become anonymous, with a warning. Dtypes unknown to the model
(records, raw bytes) get an invented type. A fill value that plain attributes
cannot hold becomes a `_FillValue`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from nczarr import names
from nczarr.arrays.sources.source import Descr, Parts
from nczarr.arrays.values.elements import element_of, is_record, model_bytes
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.node import members_of
from nczarr.ast.plain import encoded
from nczarr.ast.walk import MAX_DEPTH, building
from nczarr.check.checked import Unchecked
from nczarr.check.fill_values import default_fill
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, own_fill
from nczarr.formats.zarr.core.attributes import NodeAttributes, numbers
from nczarr.formats.zarr.core.reader import NodeReader
from nczarr.formats.zarr.core.stored_types import Inventor
from nczarr.names import name_problem, stem
from nczarr.plan.storage_roundtrip import normalized
from nczarr.syntax.json.positions import pointer


def read(reader: NodeReader) -> Unchecked:
    """Return the dataset of a store, without unreadable parts (reported). Raises OSError."""
    with building():
        return _read(reader)


def _read(reader: NodeReader) -> Unchecked:
    hierarchy = _ZarrHierarchy(reader)
    name = stem(reader.documents.store.title)
    if reader.is_array(""):
        described = reader.array("")
        arrays = {} if described is None else {names.normal(name) or "data": described}
        root = hierarchy.group("", "/", name or "root", {}, arrays, [])
    else:
        root = hierarchy.walk("", "/", name or "root", 0)
    title = name if reader.named_by_file else ""
    return unchecked(root, hierarchy.parts, reader, name=title)


def unchecked(root: Group, parts: dict[str, Parts], reader: NodeReader, **fields: Any) -> Unchecked:
    """Return a front end's result for a root group; `fields` are fields of `Dataset` alone."""
    members = members_of(root)
    del members["name"]
    return Unchecked(Dataset(**fields, **members), forward=True, parts=parts, namesakes=reader.documents.namesakes)


class _ZarrHierarchy:
    """State of one run; `parts` are the arrays of the variables read so far."""

    def __init__(self, reader: NodeReader) -> None:
        self.reader = reader
        self.documents = reader.documents
        self.parts: dict[str, Parts] = {}
        self.attributes = NodeAttributes(self.documents, {})

    def walk(self, prefix: str, path: str, name: str, depth: int) -> Group:
        """Return the group at a prefix with its descendants."""
        arrays: dict[str, ArrayMetadata] = {}
        groups: list[tuple[str, str]] = []
        nodes: list[tuple[str, str, str]] = []
        below = self.documents.children(prefix)
        self.documents.expect((f"{prefix}{child}/" for child in below), self.reader.names)
        for written in below:
            inside = f"{prefix}{written}/"
            is_array = self.reader.is_array(inside)
            if not is_array and not self.reader.is_group(inside):
                continue
            spelled, key = self.reader.name(inside), self.reader.key(inside)
            if self.documents.name(spelled, key, "", "an array or group") is None:
                continue
            if not is_array and depth >= MAX_DEPTH:
                text = f"groups are nested more than {MAX_DEPTH} deep; this one is left out"
                self.documents.lost("unreadable-array", text, key)
            else:
                nodes.append(("variable" if is_array else "group", spelled, inside))
        items = [(kind, spelled) for kind, spelled, _ in nodes]
        shown = self.documents.apart(items, [self.reader.key(inside) for _, _, inside in nodes], path)
        for called, (kind, _, inside) in zip(shown, nodes, strict=True):
            if kind == "group":
                groups.append((called, inside))
                continue
            both_kinds(self.reader, inside)
            described = self.reader.array(inside)
            if described is not None:
                arrays[called] = described
        children = [self.walk(inside, names.join(path, child), child, depth + 1) for child, inside in groups]
        return self.group(prefix, path, name, self.reader.attributes(prefix), arrays, children)

    def group(
        self, prefix: str, path: str, name: str, attributes: dict[str, object], arrays: dict[str, ArrayMetadata],
        children: list[Group],
    ) -> Group:  # fmt: skip
        """Return a group of described arrays."""
        key = self.reader.key(prefix)
        taken = {child.name for child in children}
        called = self._axes(arrays, path)
        lengths = self._lengths(arrays, taken, called)
        inventor = Inventor(path, taken | set(arrays) | set(lengths))
        variables = []
        for array_name, described in arrays.items():
            read = self._variable(path, array_name, described, lengths, called, inventor)
            if read is not None:
                variables.append(read)
        self.documents.namesakes += inventor.namesakes
        used = {ref for variable in variables for ref in variable.dimensions if isinstance(ref, str)}
        return Group(
            name=name,
            types=tuple(inventor.made.values()),
            dimensions=tuple(
                Dimension(name=label, size=size, span=self.documents.span(key))
                for label, size in lengths.items()
                if names.join(path, label) in used
            ),
            variables=tuple(variables),
            attributes=self.attributes.read(attributes, key),
            groups=tuple(children),
            span=self.documents.span(key),
        )

    def _axes(self, arrays: dict[str, ArrayMetadata], path: str) -> dict[str, str]:
        """Map written dimension names to names; those equal in NFC stay separate."""
        spelled: dict[str, str] = {}
        for described in arrays.values():
            for axis in described.axes or ():
                if axis is not None:
                    spelled.setdefault(axis, described.key)
        shown = self.documents.apart([("dimension", axis) for axis in spelled], list(spelled.values()), path)
        return dict(zip(spelled, shown, strict=True))

    def _lengths(self, arrays: dict[str, ArrayMetadata], taken: set[str], called: dict[str, str]) -> dict[str, int]:
        """Return the lengths of a group's dimensions, in order of first use."""
        lengths: dict[str, int] = {}
        for described in arrays.values():
            for axis, length in zip(described.axes or (), described.shape, strict=False):
                if axis is None or len(described.axes or ()) != len(described.shape):
                    continue
                name = called[axis]
                coordinate = arrays.get(name)
                if coordinate is not None and coordinate.axes == (axis,) and len(coordinate.shape) == 1:
                    length = coordinate.shape[0]
                if name_problem(name) is None and name not in taken:
                    lengths.setdefault(name, length)
        return lengths

    def _variable(
        self,
        path: str,
        name: str,
        described: ArrayMetadata,
        lengths: dict[str, int],
        called: dict[str, str],
        inventor: Inventor,
    ) -> Variable | None:
        fqn = names.join(path, name)
        type_name = described.plain_type
        types: Types = {}
        if type_name is None:
            try:
                type_name = inventor.type_of(described.encoding.dtype, name)
            except ValueError as fault:
                self.documents.lost("unreadable-array", str(fault), described.key)
                return None
            types = {names.join(path, label): declared for label, declared in inventor.made.items()}
        key = self.reader.key(described.prefix)
        attributes = self.attributes.read(described.attributes, key, self.reader.declared_types(described.prefix))
        variable = Variable(
            name=name,
            type=type_name,
            dimensions=self._references(path, described, lengths, called),
            attributes=with_fill(attributes, type_name, types, described, self.reader),
            storage=normalized(
                described.storage(texts=True, fill_mode=self.reader.fill_mode), described.shape, type_name
            ),
            span=self.documents.span(described.key),
        )
        fill = own_fill(type_name, variable.attributes)
        source = described.source(self.documents, descr(type_name, types), described.shape, replacement=fill)
        self.parts[fqn] = {"": source}
        return variable

    def _references(
        self, path: str, described: ArrayMetadata, lengths: dict[str, int], called: dict[str, str]
    ) -> tuple[str | int, ...]:
        shape, axes = described.shape, described.axes
        key = self.reader.key(described.prefix)
        if axes is None or len(axes) != len(shape):
            if shape and self.reader.axes_member:
                text = (
                    "the dimensions have no names" if axes is None else f"{len(axes)} names for {len(shape)} dimensions"
                )
                self.documents.warn("unnamed-dimension", f"{text}: they are anonymous", key)
            return shape
        references: list[str | int] = []
        for axis, length in zip(axes, shape, strict=True):
            name = None if axis is None else called[axis]
            if name is not None and lengths.get(name) == length:
                references.append(names.join(path, name))
                continue
            references.append(length)
            what = "a dimension has no name" if name is None else f"`{name}` is not a dimension of length {length} here"
            self.documents.warn("unnamed-dimension", f"{what}: it is anonymous", key, pointer(self.reader.axes_member))
        return tuple(references)


def both_kinds(reader: NodeReader, prefix: str) -> None:
    """Report an array that is also a group: its children are omitted."""
    if reader.is_group(prefix):
        text = f"`/{prefix[:-1]}` is both an array and a group; the nodes below it are left out"
        reader.documents.lost("ambiguous-node", text, reader.key(prefix))


def with_fill(
    attributes: tuple[Attribute, ...], type_name: str, types: Types, described: ArrayMetadata, reader: NodeReader
) -> tuple[Attribute, ...]:
    """Return attributes with a `_FillValue` of the variable's type, perhaps from the array's fill value.

    An invalid `_FillValue` is omitted with a warning.
    """
    place = next((number for number, attribute in enumerate(attributes) if attribute.name == "_FillValue"), None)
    if place is None:
        noted = reader.fill_place(described.prefix)
        fill = None if noted is None else _noted(type_name, noted, described)
        if noted is not None and fill is None:
            text = "the document notes a `_FillValue` that the array's fill value does not state; it is left out"
            reader.documents.warn("stale-extension", text, described.key)
        elif noted is None and reader.fill_stands_for_attribute:
            of, masking = (described.fill, described.encoding.dtype), reader.masking_fill
            fill, noted = (
                _restored(type_name, types, *of, masking=masking) if types else _plain(type_name, *of, masking),
                0,
            )
        if fill is None:
            return attributes
        restored = Attribute(name="_FillValue", value=fill, span=reader.documents.span(described.key))
        return (*attributes[:noted], restored, *attributes[noted:])
    attribute = attributes[place]
    value = described.attributes.get("_FillValue")
    fitting = attribute.value if attribute.value.type == type_name and attribute.value.count == 1 else None
    fitting = fitting or reader.own_fill(type_name, value) or fill_of(type_name, value)
    if fitting is None:
        text = f"`_FillValue` is not a value of type {type_name} and is left out"
        reader.documents.warn("stale-extension", text, reader.key(described.prefix), pointer("_FillValue"))
        return attributes[:place] + attributes[place + 1 :]
    return (*attributes[:place], attribute.model_copy(update={"value": fitting}), *attributes[place + 1 :])


def fill_of(type_name: str, value: object) -> Constant | None:
    """Return one value of a type from the JSON of an attribute; None if it is invalid."""
    if isinstance(value, list):
        if len(value) != 1:
            return None
        value = value[0]
    atomic = ATOMIC.get(type_name)
    if atomic is None:
        return None
    if atomic.is_integer or atomic.is_float:
        return numbers(type_name, [value])
    if not isinstance(value, str):
        return None
    text = encoded(value)
    if type_name == "string":
        return Constant.strings([text])
    return Constant.text(text or b"\0") if len(text) <= 1 else None


def _noted(type_name: str, place: object, described: ArrayMetadata) -> Constant | None:
    """Return the fill value of an array of numbers as a `_FillValue`; None if it has none, or the place is invalid."""
    atomic = ATOMIC.get(type_name)
    number = atomic is not None and (atomic.is_integer or atomic.is_float)
    if not number or type(place) is not int or place < 0 or described.fill is None:
        return None
    return Constant(type=type_name, count=1, data=model_bytes(described.fill, described.encoding.dtype))


@functools.lru_cache(maxsize=1024)
def _plain(type_name: str, fill: bytes | None, dtype: Descr, masking: bool) -> Constant | None:
    """Return `_restored` of an atomic type, cached: the arrays of a store share few fill values."""
    return _restored(type_name, {}, fill, dtype, masking=masking)


def _restored(type_name: str, types: Types, fill: bytes | None, dtype: Descr, *, masking: bool) -> Constant | None:
    """Return the `_FillValue` that plain attributes cannot hold: NaN, infinities, non-numbers; omit record defaults.

    `masking`: return that of any number too, unless it is netCDF's default.
    """
    if masking and fill is not None and is_fixed(type_name, types) and not is_record(element_of(dtype)):
        fill_value = Constant(type=type_name, count=1, data=model_bytes(fill, dtype))
        return fill_value if fill_value != default_fill(type_name, types) else None
    if fill is None or not fill.strip(b"\0"):
        return None
    if type_name == "string":
        return Constant.strings([fill if dtype == "|O" else fill.rstrip(b"\0")])
    element = element_of(dtype)
    if element not in (None, "float16") and not is_record(element):
        return None  # as of integers
    fill = model_bytes(fill, dtype)
    atomic = ATOMIC.get(type_name)
    if atomic is not None and atomic.is_integer:
        return None
    fill_value = Constant(type=type_name, count=1, data=fill)
    if atomic is not None and atomic.is_float and math.isfinite(fill_value.as_numbers()[0]):
        return None
    return fill_value if fill_value != default_fill(type_name, types) else None
