"""Storage in plain documents of arrays, its form in the model, and lost requests.

Also `plain_fill`, because plain documents store enums as integers.
"""

from __future__ import annotations

from nczarr.arrays.codecs import from_configs, to_configs
from nczarr.arrays.elements import element_of, text_element
from nczarr.arrays.parts import Types
from nczarr.arrays.source import Layout, is_number, itemsize
from nczarr.ast import Attribute, Constant, EnumType, Storage


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


def metadata_storage(layout: Layout, *, texts: bool = False) -> Storage:
    """Return the storage that a reader derives from a layout's documents alone. `texts`: as one of pure Zarr."""
    dtype = layout.dtype if isinstance(layout.dtype, str) else "|V"
    number = is_number(dtype)
    return Storage(
        chunks=layout.chunks or None,
        codecs=from_configs(to_configs(layout.codecs, itemsize(layout.dtype))) or (),
        endian="big" if number and dtype[0] == ">" else None,
        no_fill=number and layout.fill is None,
        element=element_of(layout.dtype) or (text_element(layout.dtype) if texts else None),
    )


def normalized(storage: Storage, shape: tuple[int, ...], type_name: str, unlimited: tuple[bool, ...] = ()) -> Storage:
    """Return the model's form: chunks within fixed dimensions, no filters of a scalar."""
    chunks = storage.chunks
    if chunks is not None:
        grows = unlimited or (False,) * len(shape)
        chunks = tuple(
            chunk if free else min(chunk, max(1, length))
            for chunk, length, free in zip(chunks, shape, grows, strict=True)
        )
    codecs = storage.codecs if shape else ()
    endian = None if type_name in ("char", "string") else storage.endian
    if (chunks, codecs, endian) == (storage.chunks, storage.codecs, storage.endian):
        return storage
    return storage.model_copy(update={"chunks": chunks, "codecs": codecs, "endian": endian})


def unkept(wanted: Storage, plain: Storage, *, codecs_too: bool = True) -> list[str]:
    """Return descriptions of wanted properties that the plain storage lacks."""
    checks = {
        f"{wanted.layout} layout": wanted.layout in ("contiguous", "compact"),
        "the lengths of chunks": wanted.chunks is not None and wanted.chunks != plain.chunks,
        "the order of filters": codecs_too and wanted.codecs != plain.codecs,
        "byte order": wanted.endian is not None and wanted.endian != plain.endian,
        "the fill mode": wanted.no_fill != plain.no_fill,
        "quantization": wanted.quantize is not None,
        f"the element kind {wanted.element}": wanted.element != plain.element,
    }
    return [what for what, lost in checks.items() if lost]
