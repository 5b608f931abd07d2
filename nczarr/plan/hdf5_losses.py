"""Losses of netCDF-4 files: what the netCDF library cannot express in HDF5, or takes for something else."""

from collections.abc import Iterator

from nczarr import names
from nczarr.arrays.values.parts import Types, struct
from nczarr.ast import CompoundType, EnumType, Group, OpaqueType, Variable, VlenType
from nczarr.ast.dataset import DimensionRef
from nczarr.ast.types import list_parts
from nczarr.plan.c_strings import cut_strings, without_nil
from nczarr.plan.plans import Loss
from nczarr.semantics.checked import Checked


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
            yield Loss("empty-dimension", "annotation", path, text, dimension.span)
    for path, declared in checked.types.items():
        if isinstance(declared, CompoundType) and not _is_aligned(path, declared, checked.types):
            yield Loss("storage", "annotation", path, f"type `{path}`, the offsets of its members", declared.span)
    yield from _list_confused_types(checked)
    yield from cut_strings(checked, checked.parts)
    owners = [(path, group.attributes) for path, group in checked.groups.items()]
    owners += [(path, variable.attributes) for path, variable in checked.variables.items()]
    for path, attributes in owners:
        for attribute in attributes:
            if without_nil(attribute.value, checked.types) is not attribute.value:
                where = f"attribute `{attribute.name}` of `{path}`"
                text = f"{where} has NIL in a list of strings, which would become an empty string"
                yield Loss("lost-nil", "value", path, text, attribute.span)


def _list_confused_types(checked: Checked) -> Iterator[Loss]:
    """Yield the types that the library takes for an earlier one of the same structure where they are used (4.10.1).

    They are used by variables and attributes, and by other types, which need not be used themselves.
    """
    holders: list[Group | Variable] = [*checked.groups.values(), *checked.variables.values()]
    named = {attribute.value.type for holder in holders for attribute in holder.attributes}
    named |= {variable.type for variable in checked.variables.values()}
    used = named.union(*(list_parts(declared) for declared in checked.types.values()))
    structures: dict[object, str] = {}
    for path, declared in checked.types.items():
        first = structures.setdefault(_structure_of(path, checked.types), path)
        if first != path and path in used:
            text = f"type `{path}` is like `{first}`: the netCDF library tells types apart by their structure"
            yield Loss("type-name", "annotation", path, text, declared.span)


def _structure_of(type_name: str, types: Types) -> object:
    """Return what a type is without its name, as a value that can be hashed."""
    match types.get(type_name):
        case None:
            return type_name
        case EnumType() as declared:
            return "enum", declared.base, declared.constants
        case OpaqueType() as declared:
            return "opaque", declared.size
        case VlenType() as declared:
            return "vlen", _structure_of(declared.base, types)
        case CompoundType() as declared:
            return tuple((field.name, field.shape, _structure_of(field.type, types)) for field in declared.fields)


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
