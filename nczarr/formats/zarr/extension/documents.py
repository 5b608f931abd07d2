"""Plan → the four hidden attributes as JSON: netCDF-C's members, and our extension.

Formats differ in what their plain keys express.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nczarr import names
from nczarr.arrays.sources.source import fill_of, is_number
from nczarr.arrays.values.elements import model_bytes
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Group, Storage, Variable
from nczarr.ast.plain import HIDDEN, JsonConstant, plain
from nczarr.check.check_types import default_fill
from nczarr.formats.zarr.extension.model import (
    VERSION,
    ArrayExtension,
    AttributeExtension,
    Json,
    stated,
    type_to_json,
)
from nczarr.plan.plans import Runs, StorePlan
from nczarr.plan.requested_storage import metadata_storage

MODEL = "2.0.0"
"""Default version of the data model."""


class PlainNames(dict[str, str]):
    """Cache of unescaped FQNs, as netCDF-C writes them: `names[fqn]`."""

    def __missing__(self, fqn: str) -> str:
        """Compute and cache a name."""
        spelled = self[fqn] = "/" + "/".join(names.split(fqn))
        return spelled

    def references(self, variable: Variable) -> tuple[str | int, ...]:
        """Return a variable's dimensions: unescaped names, and sizes of anonymous ones."""
        return tuple(self[ref] if isinstance(ref, str) else ref for ref in variable.dimensions)


def superblock(dataset: Dataset, members: Mapping[str, Any]) -> Json:
    """Return `_nczarr_superblock` of the root; `members` are netCDF-C's."""
    model = None if dataset.version == MODEL else dataset.version
    extension = {"version": VERSION, "kind": dataset.kind, "name": dataset.name or None, "model": model}
    return {**members, "nczarr": stated(extension)}


def group(described: Group, axes: Callable[[str], tuple[str, ...]], arrays: list[str], children: list[str]) -> Json:
    """Return `_nczarr_group`: dimensions, stand-ins for sizes, listed members.

    `axes` returns a variable's dimension names.
    """
    dimensions: Json = {
        dimension.name: {"size": dimension.size, "unlimited": 1} if dimension.unlimited else dimension.size
        for dimension in described.dimensions
    }
    anonymous = {
        name: reference
        for variable in described.variables
        for name, reference in zip(axes(variable.name), variable.dimensions, strict=True)
        if isinstance(reference, int) and name not in dimensions
    }
    hidden = len(arrays) < len(described.variables) or len(children) < len(described.groups)
    everything = (
        *(variable.name for variable in described.variables),
        *(child.name for child in described.groups),
    )
    extension = stated(
        {
            "types": [type_to_json(declared) for declared in described.types] or None,
            "members": everything if hidden else None,
            "anonymous": tuple(anonymous) or None,
        }
    )
    lists = {"dimensions": dimensions | anonymous, "arrays": arrays, "groups": children}
    return {**lists, "nczarr": extension} if extension else lists


def group_of_parts(plan: StorePlan, path: str, variable: Variable, plain_names: PlainNames) -> Json:
    """Return `_nczarr_group` of a group that is a variable: the extension has all data."""
    nil = {part: target.nil for part, target in plan.targets[path].items() if target.nil}
    extension = _extension(plan.storage[path], Storage(), variable.type, plain_names.references(variable), nil)
    return {"dimensions": {}, "arrays": [], "groups": [], "nczarr": {"variable": extension.to_json()}}


def array(plan: StorePlan, path: str, variable: Variable, plain_names: PlainNames, said_type: str) -> Json:
    """Return `_nczarr_array`. Anonymous dimensions have their axis names, in the variable's group."""
    home = names.split(path)[:-1]
    references = [
        plain_names[ref] if isinstance(ref, str) else "/" + "/".join((*home, name))
        for ref, name in zip(variable.dimensions, plan.axes[path], strict=True)
    ]
    document: Json = {"dimension_references": references}
    if not references:
        document["scalar"] = 1
    document["storage"] = "chunked"
    extension = array_extension(plan, path, variable, plain_names, said_type).to_json()
    return {**document, "nczarr": extension} if extension else document


def array_extension(
    plan: StorePlan, path: str, variable: Variable, plain_names: PlainNames, said_type: str
) -> ArrayExtension:
    """Return what a one-array variable's plain documents lack. `said_type`: its dtype's type."""
    target = plan.targets[path][""]
    anonymous = any(isinstance(ref, int) for ref in variable.dimensions)
    extension = _extension(
        plan.storage[path],
        metadata_storage(target.layout),
        variable.type if variable.type != said_type else None,
        plain_names.references(variable) if anonymous else None,
        {"": target.nil},
    )
    return extension._replace(fill=_undeclared_fill(plan, path, variable))


def _undeclared_fill(plan: StorePlan, path: str, variable: Variable) -> str | None:
    """Return the fill value of a source that its references do not declare; None for that which a reader infers."""
    arrays, source = plan.form.capabilities.arrays, plan.parts[path].get("")
    declared = plan.targets[path][""].layout
    if arrays is None or not arrays.by_reference or source is None or source.undefined or not is_number(declared.dtype):
        return None
    stored, default = fill_of(source), default_fill(variable.type, plan.checked.types)
    inferred = None if default is None else default.data
    if declared.fill is not None:
        inferred = model_bytes(declared.fill, declared.dtype)
    return None if stored is None or stored == inferred else base64.b64encode(stored).decode()


def _extension(
    storage: Storage,
    plain_storage: Storage,
    type_name: str | None,
    dimensions: tuple[str | int, ...] | None,
    nil: Mapping[str, Runs],
) -> ArrayExtension:
    """Return the extension of a variable whose plain keys declare the storage `plain_storage`."""
    filters = tuple((codec.id, *codec.parameters) for codec in storage.codecs)
    return ArrayExtension(
        type=type_name,
        dimensions=dimensions,
        layout=storage.layout,
        chunks=(storage.chunks or ()) if storage.chunks != plain_storage.chunks else None,
        filters=filters if storage.codecs != plain_storage.codecs else None,
        endian=(storage.endian or "native") if storage.endian != plain_storage.endian else None,
        fill_mode=("nofill" if storage.no_fill else "fill") if storage.no_fill != plain_storage.no_fill else None,
        quantize=storage.quantize,
        nil=nil,
        element=storage.element if storage.element != plain_storage.element else None,
    )


def attributes(
    declared: Iterable[Attribute],
    form: Callable[[Attribute], JsonConstant] | None = None,
    hidden: frozenset[str] = HIDDEN,
) -> tuple[Json, Json]:
    """Return attributes in plain `form`, and `_nczarr_attr`: types, and inexact or `hidden` attributes."""
    shown: Json = {}
    types: dict[str, str] = {}
    others: Json = {}
    for place, attribute in enumerate(declared):
        name, constant = attribute.name, attribute.value
        shown_value = plain(constant) if form is None else form(attribute)
        visible = shown_value.value is not None and name not in hidden and names.problem(name) is None
        if visible:
            shown[name] = shown_value.value
            types[name] = dtype(constant)
        if not (visible and shown_value.exact):
            others[name] = AttributeExtension(constant, None if visible else place).to_json()
    return shown, {"types": types, "nczarr": others} if others else {"types": types}


def dtype(constant: Constant) -> str:
    """Return the entry of the `types` map: `>S1` for char, `|Sn` for strings up to n bytes, else the dtype."""
    if constant.type == "char":
        return ">S1"
    if constant.type == "string":
        longest = max((len(item) for item in constant.data if isinstance(item, bytes)), default=0)
        return f"|S{max(1, longest)}"
    atomic = ATOMIC[constant.type]
    kind = "f" if atomic.is_float else "i" if atomic.low else "u"
    return f"{'|' if atomic.size == 1 else '<'}{kind}{atomic.size}"
