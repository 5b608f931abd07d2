"""Requested variables, and the constraint expressions that select them: `/v[0:9];/g/w[1][0:2:8];/time=[0:2:8]`.

A slice of a dimension holds for all variables along it that have no slice of
their own there; they go on to share the dimension.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nczarr import names
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.constraints import MOST_CLAUSES, ConstraintError, missing
from nczarr.formats.opendap.common.dmr_writer import Projection, SelectedVariable

_SLICES = re.compile(r"((?:\[[^\[\]]{0,80}\])*)\s*")
_UNESCAPED = re.compile(r"\\(.)")
_DIMENSION = re.compile(r"([^\[=]+)=\s*(\[[^\[\]]{0,80}\])")
_SLICES_ARE = "`{}`: slices are `[start:stride:stop]`, `[start:stop]`, `[index]`, `[]`"
_SLICE = re.compile(r"\[\s*(?:([0-9]{1,18})\s*(?::\s*([0-9]{1,18})\s*)?(?::\s*([0-9]{1,18})?\s*)?)?\]")


def select(checked: Checked, expression: str) -> Projection:
    """Return what an expression selects: all variables if it names none. Raises ConstraintError.

    `expression`: decoded value of `dap4.ce`.
    """
    clauses = [clause.strip() for clause in expression.split(";") if clause.strip()]
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} variables and dimensions")
    slices: dict[str, range] = {}
    others = []
    for clause in clauses:
        match = _DIMENSION.fullmatch(clause)
        if match is None:
            others.append(clause)
            continue
        fqn, indices = _dimension(checked, match[1], match[2], clause)
        if slices.setdefault(fqn, indices) != indices:
            raise ConstraintError(f"the dimension `{fqn}` has two slices")
    dimensions = {fqn: range(dimension.size) for fqn, dimension in checked.dimensions.items()} | slices
    selected: dict[str, SelectedVariable] = {}
    for clause in others:
        variable = _selected(checked, dimensions, clause)
        if selected.setdefault(variable.fqn, variable) != variable:
            raise ConstraintError(f"`{variable.fqn}` is requested twice in different ways")
    if not others:
        selected = {fqn: SelectedVariable(fqn, _whole(checked, fqn, dimensions)) for fqn in checked.variables}
    return Projection(tuple(selected[fqn] for fqn in checked.variables if fqn in selected), dimensions)


def _whole(checked: Checked, fqn: str, dimensions: Mapping[str, range]) -> tuple[range, ...]:
    """Return the ranges of a variable without slices of its own."""
    references = checked.variables[fqn].dimensions
    return tuple(
        dimensions[reference] if isinstance(reference, str) else range(length)
        for reference, length in zip(references, checked.shapes[fqn], strict=True)
    )


def _dimension(checked: Checked, name: str, text: str, clause: str) -> tuple[str, range]:
    """Return the FQN and the slice of a dimension. Raises ConstraintError."""
    fqn = _fqn_of(name.strip(), checked.dimensions, "dimension")
    match = _SLICE.fullmatch(text)
    if match is None:
        raise ConstraintError(_SLICES_ARE.format(clause[:80]))
    return fqn, _range(match, text, range(checked.dimensions[fqn].size), clause)


def _fqn_of(name: str, named: Mapping[str, object], kind: str) -> str:
    """Return the FQN that is written as `name`, perhaps with escapes. Raises ConstraintError."""
    fqn = "/" + name.removeprefix("/")
    if fqn not in named:
        fqn = names.fqn(_UNESCAPED.sub(r"\1", segment) for segment in fqn[1:].split("/"))
    if fqn not in named:
        raise missing(kind, name, fqn, named)
    return fqn


def _selected(checked: Checked, dimensions: Mapping[str, range], clause: str) -> SelectedVariable:
    name, bracket, rest = clause.partition("[")
    fqn = _fqn_of(name.strip(), checked.variables, "variable")
    text = bracket + rest
    if not _SLICES.fullmatch(text):
        raise ConstraintError(f"`{clause[:80]}` is not a variable with slices: structures are sent whole")
    whole = _whole(checked, fqn, dimensions)
    slices = re.findall(r"\[[^\[\]]*\]", text)
    if not slices:
        return SelectedVariable(fqn, whole)
    if len(slices) != len(whole):
        raise ConstraintError(f"`{clause[:80]}` has {len(slices)} slices for {len(whole)} dimensions")
    ranges = []
    for written, indices, length in zip(slices, whole, checked.shapes[fqn], strict=True):
        match = _SLICE.fullmatch(written)
        if match is None:
            raise ConstraintError(_SLICES_ARE.format(clause[:80]))
        ranges.append(indices if match[1] is None else _range(match, written, range(length), clause))
    return SelectedVariable(fqn, tuple(ranges))


def _range(match: re.Match[str], written: str, whole: range, clause: str) -> range:
    """Return the indices of a slice; `whole`: those of the dimension. Raises ConstraintError."""
    first, second, third = match.groups()
    if first is None:
        return whole
    length = len(whole)
    colons = written.count(":")
    start = int(first)
    stride = int(second) if colons == 2 and second is not None else 1
    last = start if not colons else int(second) if colons == 1 and second is not None else length - 1
    last = int(third) if third is not None else last
    if stride < 1 or last < start or last >= length:
        raise ConstraintError(f"`{clause[:80]}`: `{written}` is no section of a dimension of length {length}")
    return range(start, last + 1, stride)
