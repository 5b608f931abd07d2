"""What a netCDF-4 file loses of a dataset, storage aside: texts with NUL bytes, lengths that nothing has.

Strings end at their first NUL for the netCDF library, dimensions of length 0 grow, an unlimited dimension is as long
as the variables along it.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.ast import Attribute, CompoundType, Constant, VlenType
from nczarr.ast.walk import groups
from nczarr.data.parts import Types
from nczarr.passes.checked import Checked
from nczarr.passes.planned import Loss
from nczarr.passes.strings import survey


def hdf5_losses(checked: Checked) -> Iterator[Loss]:
    """Everything that is lost, in the order of the tree."""
    used = {ref for variable in checked.variables.values() for ref in variable.dimensions}
    for path, dimension in checked.dimensions.items():
        if dimension.unlimited and dimension.size and path not in used:
            text = f"unlimited dimension `{path}` has length {dimension.size}, but no variable: it would have length 0"
            yield Loss("lost-length", "value", path, text, dimension.span)
        elif not dimension.unlimited and dimension.size == 0:
            text = f"dimension `{path}` of length 0, which becomes unlimited"
            yield Loss("unlimited", "annotation", path, text, dimension.span)
    with_texts = {path for path in checked.types if _has_texts(path, checked.types)} | {"string"}
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes)
    for path, variable in checked.variables.items():
        yield from _attributes(path, variable.attributes)
        if variable.type not in with_texts:
            continue
        for source in checked.parts.get(path, {}).values():
            if source.layout.dtype == "|O" and survey(source).nul:
                text = f"variable `{path}` has a string with a NUL byte, where it would end"
                yield Loss("cut-string", "value", path, text, variable.span)
                break


def _attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[Loss]:
    for attribute in attributes:
        if _has_nul(attribute.value):
            text = f"attribute `{attribute.name}` of `{path}` has a string with a NUL byte, where it would end"
            yield Loss("cut-string", "value", path, text, attribute.span)


def _has_nul(constant: Constant) -> bool:
    data = constant.data
    if isinstance(data, bytes):
        return False
    return any(_has_nul(item) if isinstance(item, Constant) else item is not None and b"\0" in item for item in data)


def _has_texts(type_name: str, types: Types) -> bool:
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        return _has_texts(declared.base, types)
    if isinstance(declared, CompoundType):
        return any(_has_texts(field.type, types) for field in declared.fields)
    return type_name == "string"
