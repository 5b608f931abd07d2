"""What a target loses of a dataset, found before the first byte is written (DESIGN §4).

One function a subject; each yields `Loss`es in the order of the tree. The kinds of value losses are diagnostic codes;
those of annotation losses are keys of `ANNOTATIONS`, which the one summarising warning counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, CompoundType, EnumType, Variable, VlenType
from nczarr.ast.plain import HIDDEN, is_finite, plain
from nczarr.ast.walk import groups
from nczarr.capabilities import Format
from nczarr.data.parts import Types, is_fixed
from nczarr.passes.checked import Checked
from nczarr.passes.planned import Loss

ANNOTATIONS = {
    "attribute-type": "types of attributes",
    "attribute-bytes": "trailing NULs of attributes",
    "nan-bits": "the bits of unusual NaNs",
    "type-name": "names of types",
    "char-or-string": "char rather than string",
    "unlimited": "unlimited dimensions",
    "unused-dimension": "unused dimensions",
    "anonymous-dimension": "anonymous dimensions, which get names",
    "empty-dimension": "dimensions of length 0, which become unlimited",
    "dimension-home": "the groups of dimensions",
    "storage": "storage hints",
    "filter": "filters without a name there, whose chunks are stored as they are",
    "definition-order": "the order of definition",
    "compound-layout": "the layout of compounds",
    "kind": "the kind of netCDF file",
    "dataset-name": "the dataset's name",
    "version": "the version of the data model",
}
"""What the summary says of each kind of annotation loss."""


def losses(checked: Checked, form: Format) -> Iterator[Loss]:
    """Everything the format's capabilities cannot hold, except what depends on layouts."""
    held = form.capabilities
    if held.user_types and held.typed_attributes and held.kind and held.names and held.anonymous_dimensions:
        return  # such a format holds the whole model: no need to walk the tree
    yield from _dataset(checked, form)
    plain_attributes = not held.attribute_user_types or not held.typed_attributes
    for path, group in groups(checked.dataset):
        if plain_attributes:
            yield from _attributes(path, group.attributes)
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if plain_attributes:
                others = tuple(each for each in variable.attributes if not _is_own_fill(each, variable, checked, form))
                yield from _attributes(fqn, others)
            yield from _variable(fqn, variable, checked, form)
        if not held.definition_order and _sorted_differently(
            [variable.name for variable in group.variables]
        ) | _sorted_differently([child.name for child in group.groups]):
            yield Loss("definition-order", "annotation", path, f"group `{path}`: order of definition", group.span)


def _sorted_differently(given: list[str]) -> bool:
    return given != sorted(given)


def _dataset(checked: Checked, form: Format) -> Iterator[Loss]:
    held, dataset = form.capabilities, checked.dataset
    if not held.kind and dataset.kind is not None:
        yield Loss("kind", "annotation", "/", f"the kind of file, {dataset.kind}", dataset.span)
    if not held.names and dataset.name:
        yield Loss("dataset-name", "annotation", "/", f"the dataset's name, `{dataset.name}`", dataset.span)
    if not held.user_types:
        for fqn, declared in checked.types.items():
            yield Loss("type-name", "annotation", fqn, f"type `{fqn}`", declared.span)
    uses: dict[str, set[str]] = {}
    for fqn, variable in checked.variables.items():
        for reference in variable.dimensions:
            if isinstance(reference, str):
                uses.setdefault(reference, set()).add(names.parent(fqn))
    for fqn, dimension in checked.dimensions.items():
        homes = uses.get(fqn)
        if not homes and not held.unused_dimensions:
            yield Loss("unused-dimension", "annotation", fqn, f"dimension `{fqn}`, unused", dimension.span)
            continue
        if dimension.unlimited and held.unlimited != "any":
            yield Loss("unlimited", "annotation", fqn, f"dimension `{fqn}`, unlimited", dimension.span)
        if not held.names and homes != {names.parent(fqn)}:
            yield Loss("dimension-home", "annotation", fqn, f"dimension `{fqn}`, used in other groups", dimension.span)


def _is_own_fill(attribute: Attribute, variable: Variable, checked: Checked, form: Format) -> bool:
    """Whether an attribute is the `_FillValue` that the variable's array declares, or shows as it is."""
    value, arrays = attribute.value, form.capabilities.arrays
    if attribute.name != "_FillValue" or value.type != variable.type:
        return False
    atomic, declared = ATOMIC.get(value.type), checked.types.get(value.type)
    number = isinstance(declared, EnumType) or (atomic is not None and (atomic.is_integer or atomic.is_float))
    if number or plain(value).exact:
        return True
    if arrays is None or not arrays.fill_needed:
        return False
    return is_fixed(value.type, checked.types) or (value.type == "string" and value.data != (None,))


def _attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[Loss]:
    """Losses of untyped plain JSON; an attribute has at most one."""
    for attribute in attributes:
        name, value = attribute.name, attribute.value
        where = f"attribute `{name}` of `{path}`"
        shown = plain(value)
        if name in HIDDEN:
            text = f"{where} has a name that Zarr stores use for themselves: it would be left out"
            yield Loss("lost-attribute", "value", path, text, attribute.span)
        elif shown.value is None:
            what = "no value" if value.count == 0 else f"a value of type `{value.type}`"
            yield Loss("lost-attribute", "value", path, f"{where} has {what}: it would be left out", attribute.span)
        elif isinstance(value.data, tuple) and None in value.data:
            yield Loss(
                "lost-nil", "value", path, f"{where} holds NIL, which would become an empty text", attribute.span
            )
        elif not is_finite(value):
            text = f"{where} is NaN or infinite: plain JSON would hold a text"
            yield Loss("altered-attribute", "value", path, text, attribute.span)
        elif not shown.exact and isinstance(value.data, bytes) and _only_trailing_nuls(value.data, shown.value):
            yield Loss("attribute-bytes", "annotation", path, f"{where}: trailing NULs", attribute.span)
        elif not shown.exact and value.count:
            text = f"{where} has bytes that plain JSON cannot hold: they would be left out"
            yield Loss("altered-attribute", "value", path, text, attribute.span)
        elif value.type != "char":
            yield Loss("attribute-type", "annotation", path, f"{where}: type {value.type}", attribute.span)


def _only_trailing_nuls(data: bytes, text: object) -> bool:
    return isinstance(text, str) and data.rstrip(b"\0") == text.encode()


def _variable(fqn: str, variable: Variable, checked: Checked, form: Format) -> Iterator[Loss]:
    held = form.capabilities
    sizes = [str(each) for each in variable.dimensions if isinstance(each, int)]
    if sizes and not held.anonymous_dimensions:
        text = f"variable `{fqn}`, anonymous dimension{'s' * (len(sizes) > 1)} of length {', '.join(sizes)}"
        yield Loss("anonymous-dimension", "annotation", fqn, text, variable.span)
    if not held.user_types:
        problem = _structure(variable.type, checked.types)
        if problem:
            text = f"variable `{fqn}` is of type `{variable.type}`: {form.name} {problem}"
            yield Loss("lost-type", "value", fqn, text, variable.span)
    if not held.typed_attributes and variable.type == "char":
        yield Loss("char-or-string", "annotation", fqn, f"variable `{fqn}`, char", variable.span)
    if not held.storage:
        storage = variable.storage
        hints = (storage.layout not in (None, "chunked"), storage.endian, storage.no_fill, storage.quantize)
        if any(hints):
            yield Loss("storage", "annotation", fqn, f"variable `{fqn}`, storage hints", variable.span)


def _structure(type_name: str, types: Types) -> str | None:
    """How a pure store shows a type that it cannot name, if that changes what a reader computes."""
    if not is_fixed(type_name, types) and type_name != "string":
        return "shows counts and content as arrays of their own"
    if _has_enum(type_name, types):
        return "keeps the integers, not their names"
    return None


def _has_enum(type_name: str, types: Types) -> bool:
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return any(_has_enum(field.type, types) for field in declared.fields)
    if isinstance(declared, VlenType):
        return _has_enum(declared.base, types)
    return isinstance(declared, EnumType)
