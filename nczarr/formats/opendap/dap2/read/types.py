"""Types of declarations: compounds of structures and grids, lists of compounds of sequences."""

from __future__ import annotations

from nczarr import names
from nczarr.ast import CompoundType, Field, VlenType
from nczarr.formats.opendap.common.columns import check_size
from nczarr.formats.opendap.common.declarations import DmrScope, declare
from nczarr.formats.opendap.common.type_words import ATOMIC_OF_DAP2
from nczarr.formats.opendap.dap2.read.parse import Declaration
from nczarr.formats.opendap.dap2.read.tokens import TextFaultError


def fault(declared: Declaration, text: str) -> TextFaultError:
    """Return the fault of a declaration."""
    return TextFaultError(text, declared.span.start, declared.span.end)


def type_of(declared: Declaration, scope: DmrScope) -> str:
    """Return the type of a variable or member, declaring compounds and lists. Raises TextFaultError."""
    if declared.kind == "plain":
        found = ATOMIC_OF_DAP2.get(declared.type.lower())
        if found is None:
            raise fault(declared, f"`{declared.type[:40]}` is not a type of DAP2")
        return found
    if not declared.members:
        raise fault(declared, f"{declared.kind} `{declared.name}` has no members")
    fields: list[Field] = []
    for member in declared.members:
        shape = tuple(each.size for each in member.dims)
        if 0 in shape:
            raise fault(member, f"member `{member.name}` has a dimension of length 0")
        if any(each.name == member.name for each in fields):
            raise fault(member, f"two members of `{declared.name}` have the name `{member.name}`")
        if names.problem(member.name) is not None:
            raise fault(member, f"netCDF does not allow the name `{member.name[:40]}` of a member")
        fields.append(Field(name=member.name, type=type_of(member, scope), shape=shape))
    made = _named(declared, CompoundType(name="_", fields=tuple(fields)), scope, "t")
    try:
        check_size(made, {names.join("/", each.name): each for each in scope.types})
    except ValueError as found_fault:
        raise fault(declared, f"`{declared.name}` is too large: {found_fault}") from None
    if declared.kind != "sequence":
        return made
    if declared.dims:
        raise fault(declared, f"sequence `{declared.name}` has dimensions")
    return _named(declared, VlenType(name="_", base=made), scope, "rows_t")


def _named(declared: Declaration, made: CompoundType | VlenType, scope: DmrScope, ending: str) -> str:
    """Declare a type under the name of its variable or member; equal types are one."""
    if names.problem(f"{declared.name}_{ending}") is not None:
        raise fault(declared, f"netCDF does not allow the name `{declared.name[:40]}`")
    return declare(made, f"{declared.name}_{ending}", scope)
