"""Losses of netCDF-4 files other than storage: texts with NUL bytes, NIL in attributes, some lengths.

The netCDF library ends strings at the first NUL, makes dimensions of length 0
unlimited, and takes the length of an unlimited dimension from its variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nczarr import names
from nczarr.arrays.values.parts import Types, inner_types, struct
from nczarr.ast import Attribute, CompoundType, Constant, VlenType
from nczarr.ast.dataset import DimensionRef, groups
from nczarr.check.checked import Checked
from nczarr.plan.chunk_lengths import survey
from nczarr.plan.plans import Loss


def hdf5_losses(checked: Checked) -> Iterator[Loss]:
    """Yield all losses in tree order."""
    used = {
        ref
        for path, variable in checked.variables.items()
        if 0 not in checked.shapes[path]  # nothing can be written there, whatever the other dimensions
        for ref in variable.dimensions
        if measures(path, ref)
    }
    for path, dimension in checked.dimensions.items():
        if dimension.unlimited and dimension.size and path not in used:
            text = f"unlimited dimension `{path}` has length {dimension.size}, which no variable records"
            yield Loss("lost-length", "value", path, text, dimension.span)
        elif not dimension.unlimited and dimension.size == 0:
            text = f"dimension `{path}` of length 0, which becomes unlimited"
            yield Loss("unlimited", "annotation", path, text, dimension.span)
    for path, declared in checked.types.items():
        if isinstance(declared, CompoundType) and not _is_aligned(path, declared, checked.types):
            yield Loss("storage", "annotation", path, f"type `{path}`, the offsets of its members", declared.span)
    yield from cut_strings(checked, checked.parts)
    owners = [(path, group.attributes) for path, group in checked.groups.items()]
    owners += [(path, variable.attributes) for path, variable in checked.variables.items()]
    for path, attributes in owners:
        for attribute in attributes:
            if without_nil(attribute.value, checked.types) is not attribute.value:
                where = f"attribute `{attribute.name}` of `{path}`"
                text = f"{where} has NIL in a list of strings, which would become an empty string"
                yield Loss("lost-nil", "value", path, text, attribute.span)


def _is_aligned(path: str, declared: CompoundType, types: Types) -> bool:
    """Return whether a record has the layout of a C compiler."""
    aligned = struct(path, types)
    offsets = [field.offset for field in declared.fields]
    same = all(mine is None or mine == theirs for mine, theirs in zip(offsets, aligned.offsets, strict=True))
    return same and declared.size in (None, aligned.size)


def measures(variable: str, dimension: DimensionRef) -> bool:
    """Return whether the library takes an unlimited dimension's length from a variable.

    It uses variables in the dimension's group and below (libnetcdf 4.10.1,
    tested).
    """
    return isinstance(dimension, str) and variable.startswith(names.join(names.parent(dimension), ""))


def cut_strings(checked: Checked, shown: Collection[str]) -> Iterator[Loss]:
    """Yield strings with a NUL byte, where C readers end them; `shown`: variables to inspect."""
    with_texts = {path for path in checked.types if "string" in inner_types(path, checked.types)} | {"string"}
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes)
    for path, variable in checked.variables.items():
        yield from _attributes(path, variable.attributes)
        if variable.type not in with_texts or path not in shown:
            continue
        for source in checked.parts.get(path, {}).values():
            if source.layout.dtype == "|O" and survey(source, source.layout.fill or b"").nul:
                text = f"variable `{path}` has a string with a NUL byte, where it would end"
                yield Loss("cut-string", "value", path, text, variable.span)
                break


def _attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[Loss]:
    for attribute in attributes:
        if _has_nul(attribute.value):
            text = f"attribute `{attribute.name}` of `{path}` has a string with a NUL byte, where it would end"
            yield Loss("cut-string", "value", path, text, attribute.span)


def without_nil(constant: Constant, types: Types, *, listed: bool = False) -> Constant:
    """Replace NIL in lists of strings by empty texts; return the same object without any NIL.

    libnetcdf 4.10.1 crashes on NIL there, because it copies every text.
    """
    data = constant.data
    if isinstance(data, bytes):
        return constant
    if constant.type == "string":
        return Constant.strings(item or b"" for item in data) if listed and None in data else constant  # type: ignore[misc]
    inside = isinstance(types.get(constant.type), VlenType)
    items = tuple(without_nil(item, types, listed=inside) for item in data if isinstance(item, Constant))
    if all(new is old for new, old in zip(items, data, strict=True)):
        return constant
    return Constant(type=constant.type, count=constant.count, data=items)


def _has_nul(constant: Constant) -> bool:
    data = constant.data
    if isinstance(data, bytes):
        return False
    return any(_has_nul(item) if isinstance(item, Constant) else item is not None and b"\0" in item for item in data)
