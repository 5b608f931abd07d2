"""Storage in plain documents of arrays, its form in the model, and lost requests.

Also how documents store a `_FillValue`: `plain_fill`, because plain documents
store enums as integers, and `fill_alone`, because references leave it out.
"""

from __future__ import annotations

from nczarr import names
from nczarr.arrays.codecs.chain import from_configs, to_configs
from nczarr.arrays.sources.source import Layout, is_number, itemsize
from nczarr.arrays.values.elements import element_of, is_element, stored_bytes, text_element
from nczarr.arrays.values.parts import Types
from nczarr.ast import Attribute, Constant, EnumType, Storage, Variable
from nczarr.ast.plain import plain
from nczarr.ast.rectilinear import within
from nczarr.ast.walk import groups
from nczarr.plan.plans import StorePlan


def own_type(type_name: str, types: Types) -> str:
    """Return a variable's type, enums as their integers."""
    declared = types.get(type_name)
    return declared.base if isinstance(declared, EnumType) else type_name


def plain_fill(attribute: Attribute, owner: str, types: Types) -> Attribute:
    """Return the attribute; if it is a `_FillValue` of the owner's enum type, as an integer."""
    plainly = own_type(owner, types)
    if attribute.name != "_FillValue" or attribute.value.type != owner or plainly == owner:
        return attribute
    value = Constant(type=plainly, count=attribute.value.count, data=attribute.value.data)
    return Attribute(name=attribute.name, value=value)


def fill_alone(plan: StorePlan, path: str, variable: Variable) -> bool:
    """Return whether the fill value of an array stands for the variable's `_FillValue`, which has no attribute.

    That is so for texts of fixed length with a NUL, which plain attributes cut, and for some numbers.
    """
    return _text_alone(plan, path, variable) or _number_alone(plan, path, variable)


def _text_alone(plan: StorePlan, path: str, variable: Variable) -> bool:
    arrays, whole, value = plan.form.capabilities.arrays, plan.targets[path].get(""), _own_fill(variable)
    if arrays is None or not arrays.numpy_types or whole is None or value is None or whole.layout.fill is None:
        return False
    dtype = whole.layout.dtype
    is_text = isinstance(dtype, str) and dtype[1] == "S" and variable.type == "string"
    return is_text and value.data == (whole.layout.fill.rstrip(b"\0"),) and not plain(value).exact


def _number_alone(plan: StorePlan, path: str, variable: Variable) -> bool:
    """Return whether a number stands alone: in references of Zarr v2, as kerchunk writes them.

    There xarray takes every fill value for `_FillValue`, and VirtualiZarr
    refuses the attribute.
    """
    arrays, whole, value = plan.form.capabilities.arrays, plan.targets[path].get(""), _own_fill(variable)
    if arrays is None or not arrays.by_reference or arrays.fill_needed or whole is None or value is None:
        return False
    dtype, fill = whole.layout.dtype, whole.layout.fill
    if not isinstance(dtype, str) or dtype[1] not in "iuf" or fill is None or not isinstance(value.data, bytes):
        return False
    return is_element(value.data, dtype) and stored_bytes(value.data, dtype) == fill


def _own_fill(variable: Variable) -> Constant | None:
    """Return a `_FillValue` of one value of the variable's type."""
    value = next((attribute.value for attribute in variable.attributes if attribute.name == "_FillValue"), None)
    return None if value is None or value.type != variable.type or value.count != 1 else value


def fills_alone(plan: StorePlan) -> dict[str, int]:
    """Return the place of each number of `_FillValue` that stands as a fill value alone, by the prefix of its array.

    The place is that among the attributes that the documents hold. Empty for
    formats that have an extension for this.
    """
    if plan.form.capabilities.typed_attributes:
        return {}
    places: dict[str, int] = {}
    for path, group in groups(plan.checked.dataset):
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if _number_alone(plan, fqn, variable):
                shown = [
                    attribute.name for attribute in variable.attributes if plain(attribute.value).value is not None
                ]
                places[plan.prefix(fqn)] = shown.index("_FillValue") if "_FillValue" in shown else 0
    return places


def metadata_storage(layout: Layout, *, texts: bool = False) -> Storage:
    """Return the storage that a reader derives from a layout's documents alone. `texts`: as one of pure Zarr."""
    dtype = layout.dtype if isinstance(layout.dtype, str) else "|V"
    number = is_number(dtype)
    return Storage(
        chunks=layout.chunks or None,
        codecs=from_configs(to_configs(layout.codecs, itemsize(layout.dtype))) or (),
        endian="big" if number and dtype[0] == ">" else None,
        no_fill=number and layout.fill is None and not texts,  # pure Zarr has no fill mode
        element=element_of(layout.dtype) or (text_element(layout.dtype) if texts else None),
    )


def normalized(storage: Storage, shape: tuple[int, ...], type_name: str, unlimited: tuple[bool, ...] = ()) -> Storage:
    """Return the model's form: chunks within fixed dimensions, no filters of a scalar."""
    chunks = storage.chunks
    if chunks is not None:
        grows = unlimited or (False,) * len(shape)
        chunks = tuple(
            chunk if free else within(chunk, length) for chunk, length, free in zip(chunks, shape, grows, strict=True)
        )
    codecs = storage.codecs if shape else ()
    endian = None if type_name in ("char", "string") else storage.endian
    if (chunks, codecs, endian) == (storage.chunks, storage.codecs, storage.endian):
        return storage
    return storage.model_copy(update={"chunks": chunks, "codecs": codecs, "endian": endian})


def unkept(requested: Storage, plain: Storage, *, codecs_too: bool = True) -> list[str]:
    """Return descriptions of wanted properties that the plain storage lacks."""
    checks = {
        f"{requested.layout} layout": requested.layout in ("contiguous", "compact"),
        "the lengths of chunks": requested.chunks is not None and requested.chunks != plain.chunks,
        "the order of filters": codecs_too and requested.codecs != plain.codecs,
        "byte order": requested.endian is not None and requested.endian != plain.endian,
        "the fill mode": requested.no_fill != plain.no_fill,
        "quantization": requested.quantize is not None,
        f"the element kind {requested.element}": requested.element != plain.element,
    }
    return [what for what, lost in checks.items() if lost]
