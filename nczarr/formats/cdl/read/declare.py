"""Declarations of dimensions and variables, as plain and simple statements both make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nczarr import names
from nczarr.ast import Dimension
from nczarr.formats.cdl.read.scope import Scope, VariableDraft
from nczarr.source import Span

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.assembler import Assembler

MAX_RANK = 1024
"""The netCDF library's limit on the rank of a variable (NC_MAX_VAR_DIMS)."""


def add_dimension(
    assembler: Assembler, scope: Scope, name: str, length: int | None, place: Span, size_place: Span
) -> None:
    """Add a dimension to a scope; `length` is None after a fault, and 0 asks for an unlimited one, with a warning."""
    if length is not None and length >= 2**63:
        message = f"a dimension has at most 2^63 - 1 elements, not {length}"
        assembler.report.error("bad-dimension-size", message, size_place)
        length = None
    if length == 0:
        message = f'size 0 means "unlimited" to the netCDF library: `{name}` becomes an unlimited dimension'
        help_ = "write UNLIMITED, or a positive size"
        assembler.report.warning("zero-dimension", message, size_place, helps=[help_])
    assembler.uses[names.join(scope.path, name) + "="] = (size_place,)
    scope.dimensions.append(Dimension(name=name, size=length or 0, unlimited=length == 0, span=place))


def declare(
    assembler: Assembler, scope: Scope, type_name: str, name: str, dimensions: list[str], place: Span, uses: list[Span]
) -> None:
    """Add a variable to a scope; `uses` are the places of its type and of each dimension."""
    if len(dimensions) > MAX_RANK:
        message = f"`{name}` has {len(dimensions)} dimensions; the limit is {MAX_RANK}"
        assembler.report.error("rank-limit", message, place)
        dimensions = dimensions[:1]
    if assembler.broken and any(_is_broken(assembler, scope, used) for used in (type_name, *dimensions)):
        assembler.report.hush(place)  # nobody knows what values it has
    path = scope.variable_path(name)
    assembler.uses.setdefault(path, tuple(uses))
    scope.declare(VariableDraft(name, type_name, tuple(dimensions), place))


def _is_broken(assembler: Assembler, scope: Scope, name: str) -> bool:
    """Whether a type or dimension is declared by a statement with a fault, or nowhere but perhaps in one."""
    holder: Scope | None = scope
    while holder is not None:
        for declared in (*holder.types, *holder.dimensions):
            if declared.name == name:
                return assembler.report.hushed(declared.span)
        holder = holder.parent
    return name in assembler.broken
