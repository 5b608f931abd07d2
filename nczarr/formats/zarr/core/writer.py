"""Base class of the writers of all Zarr versions.

`Writer` yields children before parents and the root last: an interrupted store
has no root. A version defines the documents of groups and arrays, a format
their attributes: by default plain JSON, whose losses the plan reports.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.values.elements import find_booleans, without_times
from nczarr.arrays.values.parts import own_type
from nczarr.ast import Attribute, Constant, Group, Variable
from nczarr.ast.plain_json import HIDDEN, JsonConstant, JsonText, is_strict, plain, show_untyped, write_json
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.plan.keys import part_axes
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.plan.requested_storage import omits_fill, plain_fill

Entry = tuple[str, bytes]
"""Key and content of a document."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False)  # netCDF-C does not decode `\u`


def encode(document: Any) -> bytes:
    """Encode JSON in one line of raw UTF-8; bytes of names that were invalid UTF-8 stay unchanged.

    NaN and infinities of attributes are words, as zarr-python and xarray write them.
    """
    try:
        text = _ENCODER.encode(document)
    except TypeError:  # a `JsonText`; the encoder is ten times faster, and few documents have one
        text = write_json(document)
    return text.encode("utf-8", "surrogateescape")


class Writer:
    """One emission. Subclasses define `group` and `array`, and perhaps other methods."""

    def __init__(self, plan: StorePlan) -> None:
        self.plan = plan

    def entries(self) -> Iterator[Entry]:
        """Yield every metadata key with its document; consolidated metadata if the plan has them."""
        documents = self._write_group("/", self.plan.checked.dataset)
        return self.consolidate(documents) if self.plan.consolidates else documents

    # ---- how a version lays down documents ---------------------------------------------------------------------------
    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        """Yield the documents of a group."""
        raise NotImplementedError

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """Yield the documents of a variable that is one array."""
        raise NotImplementedError

    def part(self, prefix: str, target: PartTarget, axes: Sequence[str]) -> Iterator[Entry]:
        """Yield the documents of an array that is a part of a variable."""
        return self.array(prefix, target, axes, {})

    def consolidate(self, documents: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the documents, and consolidated metadata if the version has it."""
        return documents

    # ---- what a format writes among the attributes -------------------------------------------------------------------
    def group_attributes(self, path: str, group: Group) -> tuple[Json, Json]:
        """Return the attributes of a group, and the hidden ones."""
        return self._list_plain(group.attributes, ""), {}

    def variable_attributes(self, path: str, variable: Variable) -> tuple[Json, Json]:
        """Return the attributes of a variable, an array or a group of parts, and the hidden ones."""
        types = self.plan.checked.types
        alone = omits_fill(self.plan, path, variable)
        attributes = (attribute for attribute in variable.attributes if not (alone and attribute.name == "_FillValue"))
        shown = self._list_plain(
            (plain_fill(attribute, variable.type, types) for attribute in attributes), own_type(variable.type, types)
        )
        return shown | (self.axes_attributes(path) if "" in self.plan.targets[path] else {}), {}

    def finish(self, path: str, shown: Json, hidden: Json) -> Json:
        """Return the attributes of a node as its document has them."""
        return shown

    def axes_attributes(self, path: str) -> Json:
        """Return the attributes that name an array's dimensions, if the version has any."""
        return {}

    @property
    def _is_strict(self) -> bool:
        return self.plan.form.capabilities.json_attributes == "strict"

    def find_json(self, attribute: Attribute) -> JsonText | None:
        """Return the JSON of an attribute if it has any that the store can hold."""
        if attribute.json is None or (self._is_strict and not is_strict(attribute)):
            return None
        return JsonText(attribute.json)

    def show_number(self, constant: Constant) -> Any:
        """Return the form of an attribute without its type: NaN and infinities are words if the store has them."""
        return plain(constant).value if self._is_strict else show_untyped(constant)

    def fill_form(self, constant: Constant) -> JsonConstant:
        """Return the plain form of a variable's `_FillValue` attribute."""
        return plain(constant)

    def _list_plain(self, attributes: Iterable[Attribute], owner: str) -> Json:
        """Return attributes as plain JSON, without types and hidden ones; `owner`: the type of their variable."""
        shown = {}
        for attribute in attributes:
            own_fill = attribute.name == "_FillValue" and attribute.value.type == owner
            value = self.fill_form(attribute.value).value if own_fill else self.show_number(attribute.value)
            if not (own_fill and isinstance(value, str)):
                value = self.find_json(attribute) or value
            if value is None:
                value = find_booleans(attribute.value, self.plan.checked.types)
            if value is not None and attribute.name not in HIDDEN:
                shown[attribute.name] = value
        return shown

    # ---- the walk ----------------------------------------------------------------------------------------------------
    def _write_group(self, path: str, group: Group) -> Iterator[Entry]:
        for child in group.groups:
            yield from self._write_group(names.join(path, child.name), child)
        for variable in group.variables:
            yield from self._write_variable(names.join(path, variable.name), variable)
        yield from self.group(self.plan.prefix(path), self.finish(path, *self.group_attributes(path, group)))

    def _write_variable(self, path: str, variable: Variable) -> Iterator[Entry]:
        """Yield the keys of a variable: an array, or for lists and records a group of arrays."""
        prefix = self.plan.prefix(path)
        shown, hidden = self.variable_attributes(path, variable)
        targets = self.plan.targets[path]
        whole = targets.get("")
        if whole is not None:
            dtype = whole.layout.dtype
            if isinstance(dtype, str) and dtype[1] in "Mm":
                shown = without_times(shown, dtype, whole.layout.fill)
            yield from self.array(prefix, whole, self.plan.axes[path], self.finish(path, shown, hidden))
            return
        yield from self._write_parts(path, targets)
        arrays = self.plan.form.capabilities.arrays
        if arrays is not None and arrays.sidecars:
            from nczarr.formats.common.awkward import sidecar  # few datasets have lists

            yield from sidecar.entries(self.plan, path)
        yield from self.group(prefix, self.finish(path, shown, hidden))

    def _write_parts(self, path: str, targets: Mapping[str, PartTarget]) -> Iterator[Entry]:
        """Yield the documents of a variable's parts, and of the groups between."""
        inner: dict[str, None] = {}
        for part, target in targets.items():
            axes = part_axes(self.plan.axes[path], part, target.layout.shape, targets)
            yield from self.part(self.plan.prefix(path, part), target, axes)
            above = part.rpartition("/")[0]
            while above:
                inner.setdefault(above)
                above = above.rpartition("/")[0]
        for name in sorted(inner, key=lambda name: (-name.count("/"), name)):
            yield from self.group(self.plan.prefix(path, name), {})
