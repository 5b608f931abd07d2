"""Plan → the four hidden attributes as JSON: netCDF-C's members, and our extension.

Formats differ in what their plain keys express.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nczarr import names
from nczarr.arrays.sources.source import Descr, fill_of, is_number
from nczarr.arrays.values.elements import element_of, model_bytes, plain_type
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Group, Storage, Variable
from nczarr.ast.plain_json import HIDDEN, JsonConstant, plain
from nczarr.formats.zarr.core.writer import Writer
from nczarr.formats.zarr.extension.model import (
    VERSION,
    ArrayExtension,
    AttributeExtension,
    Json,
    omit_missing,
    type_to_json,
)
from nczarr.plan.plans import Runs, StorePlan
from nczarr.plan.requested_storage import metadata_storage, omits_fill
from nczarr.semantics.check_types import default_fill

MODEL = "2.0.0"
"""Default version of the data model."""


class HiddenAttributes(Writer):
    """Writer of hidden attributes."""

    superblock: Mapping[str, Any]
    """netCDF-C's members of the superblock."""
    reserved = HIDDEN
    """Names of attributes that the store reserves."""

    def __init__(self, plan: StorePlan) -> None:
        super().__init__(plan)
        self._plain_names: dict[str, str] = {}

    # ---- what a format writes --------------------------------------------------------------------------------------
    def is_listed(self, path: str, member: Variable | Group) -> bool:
        """Return whether a group lists a member; the library cannot see others."""
        return isinstance(member, Group) or "" in self.plan.targets[path]

    def find_said_type(self, dtype: Descr) -> str:
        """Return the atomic type that the dtype alone implies to a reader."""
        return "" if element_of(dtype) is not None else plain_type(dtype) or ""

    def attribute_form(self, attribute: Attribute) -> JsonConstant:
        """Return an attribute in JSON."""
        text = self.find_json(attribute)
        return plain(attribute.value) if text is None else JsonConstant(text, True)

    # ---- the hidden attributes -------------------------------------------------------------------------------------
    def group_attributes(self, path: str, group: Group) -> tuple[Json, Json]:
        """Return the attributes, and `group`, `superblock` (root) and `attr`."""
        shown, types = attributes(group.attributes, self.attribute_form, self.reserved)
        hidden = {"group": self._describe_group(path, group)}
        if isinstance(group, Dataset):
            model = None if group.version == MODEL else group.version
            extension = {"version": VERSION, "kind": group.kind, "name": group.name or None, "model": model}
            hidden["superblock"] = {**self.superblock, "nczarr": omit_missing(extension)}
        return shown, {**hidden, "attr": types}

    def variable_attributes(self, path: str, variable: Variable) -> tuple[Json, Json]:
        """Return the attributes, `array` or `group`, and `attr`."""
        form = self._without_fill if omits_fill(self.plan, path, variable) else self.attribute_form
        shown, types = attributes(variable.attributes, form, self.reserved)
        if "" in self.plan.targets[path]:
            return shown | self.axes_attributes(path), {"array": self._describe_array(path, variable), "attr": types}
        nil = {part: target.nil for part, target in self.plan.targets[path].items() if target.nil}
        storage = self.plan.storage[path]
        extension = _extension(storage, Storage(), variable.type, self._list_dimensions(variable), nil)
        lists: Json = {"dimensions": {}, "arrays": [], "groups": []}
        return shown, {"group": {**lists, "nczarr": {"variable": extension.to_json()}}, "attr": types}

    def _without_fill(self, attribute: Attribute) -> JsonConstant:
        """Return an attribute in plain JSON; `_FillValue` has none, so that the extension holds it."""
        return JsonConstant(None, False) if attribute.name == "_FillValue" else self.attribute_form(attribute)

    def _plain_name(self, fqn: str) -> str:
        """Return an unescaped FQN, as netCDF-C writes it; cached, because variables share dimensions."""
        if fqn not in self._plain_names:
            self._plain_names[fqn] = "/" + "/".join(names.split(fqn))
        return self._plain_names[fqn]

    def _list_dimensions(self, variable: Variable) -> tuple[str | int, ...]:
        """Return a variable's dimensions: unescaped names, and sizes of anonymous ones."""
        return tuple(self._plain_name(ref) if isinstance(ref, str) else ref for ref in variable.dimensions)

    def _describe_group(self, path: str, group: Group) -> Json:
        """Return dimensions, stand-ins for sizes, listed members."""
        arrays, children = (
            [member.name for member in members if self.is_listed(names.join(path, member.name), member)]
            for members in (group.variables, group.groups)
        )
        dimensions: Json = {
            dimension.name: {"size": dimension.size, "unlimited": 1} if dimension.unlimited else dimension.size
            for dimension in group.dimensions
        }
        anonymous = {
            name: reference
            for variable in group.variables
            for name, reference in zip(
                self.plan.axes[names.join(path, variable.name)], variable.dimensions, strict=True
            )
            if isinstance(reference, int) and name not in dimensions
        }
        everything = [member.name for members in (group.variables, group.groups) for member in members]
        types = [type_to_json(declared) for declared in group.types] or None
        members = everything if len(arrays) + len(children) < len(everything) else None
        extension = omit_missing({"types": types, "members": members, "anonymous": list(anonymous) or None})
        lists = {"dimensions": dimensions | anonymous, "arrays": arrays, "groups": children}
        return {**lists, "nczarr": extension} if extension else lists

    def _describe_array(self, path: str, variable: Variable) -> Json:
        """Return dimensions and extension. Anonymous dimensions have their axis names, in the variable's group."""
        home = names.split(path)[:-1]
        references = [
            self._plain_name(ref) if isinstance(ref, str) else "/" + "/".join((*home, name))
            for ref, name in zip(variable.dimensions, self.plan.axes[path], strict=True)
        ]
        document: Json = {"dimension_references": references}
        if not references:
            document["scalar"] = 1  # netCDF-C 4.10.1 crashes without it
        document["storage"] = "chunked"  # netCDF-C writes this alone
        target = self.plan.targets[path][""]
        extension = _extension(
            self.plan.storage[path],
            metadata_storage(target.layout),
            variable.type if variable.type != self.find_said_type(target.layout.dtype) else None,
            self._list_dimensions(variable) if any(isinstance(ref, int) for ref in variable.dimensions) else None,
            {"": target.nil},
        )
        fill = _find_undeclared_fill(self.plan, path, variable)
        inner = extension._replace(axes=variable.axes or None, fill=fill).to_json()
        return {**document, "nczarr": inner} if inner else document


def _find_undeclared_fill(plan: StorePlan, path: str, variable: Variable) -> str | None:
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
    declared: Iterable[Attribute], form: Callable[[Attribute], JsonConstant], hidden: frozenset[str]
) -> tuple[Json, Json]:
    """Return attributes in plain `form`, and `_nczarr_attr`: types, and inexact or `hidden` attributes."""
    shown: Json = {}
    types: dict[str, str] = {}
    others: Json = {}
    for place, attribute in enumerate(declared):
        name, constant = attribute.name, attribute.value
        shown_value = form(attribute)
        visible = shown_value.value is not None and name not in hidden
        if visible:
            shown[name] = shown_value.value
            if constant.type in ATOMIC:
                types[name] = dtype(constant)
        if not (visible and shown_value.exact):
            others[name] = AttributeExtension(constant, None if visible else place).to_json()
    return shown, {"types": types, "nczarr": others} if others else {"types": types}


def dtype(constant: Constant) -> str:
    """Return the entry of the `types` map: `>S1` for char, `|Sn` for strings up to n bytes, else the dtype."""
    if constant.type == "char":
        return ">S1"  # netCDF-C's char
    if constant.type == "string":
        longest = max((len(item) for item in constant.data if isinstance(item, bytes)), default=0)
        return f"|S{max(1, longest)}"  # netCDF-C takes any number
    atomic = ATOMIC[constant.type]
    kind = "f" if atomic.is_float else "i" if atomic.low else "u"
    return f"{'|' if atomic.size == 1 else '<'}{kind}{atomic.size}"  # netCDF-C swaps `|i4`
