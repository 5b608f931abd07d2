"""Requested variables, and the constraint expressions that select them: `/v[0:9];/g/w[1][0:2:8]`."""

from __future__ import annotations

import re
from typing import NamedTuple

from nczarr import names
from nczarr.check.checked import Checked

MOST_CLAUSES = 1000
"""Maximum variables in one expression."""

_SLICES = re.compile(r"((?:\[[^\[\]]{0,80}\])*)\s*")
_SLICE = re.compile(r"\[\s*(?:([0-9]{1,18})\s*(?::\s*([0-9]{1,18})\s*)?(?::\s*([0-9]{1,18})?\s*)?)?\]")


class ConstraintError(ValueError):
    """An invalid constraint expression; the text says why."""


class Wanted(NamedTuple):
    """A requested variable."""

    fqn: str
    """FQN of the variable."""
    ranges: tuple[range, ...]
    """Requested indices of each dimension."""


def select(checked: Checked, expression: str) -> tuple[Wanted, ...]:
    """Return the requested variables in definition order; all for an empty expression. Raises ConstraintError.

    `expression`: decoded value of `dap4.ce`.
    """
    clauses = [each.strip() for each in expression.split(";") if each.strip()]
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} variables")
    if not clauses:
        return tuple(Wanted(fqn, tuple(map(range, checked.shapes[fqn]))) for fqn in in_order(checked))
    found: dict[str, Wanted] = {}
    for clause in clauses:
        made = _wanted(checked, clause)
        if found.setdefault(made.fqn, made) != made:
            raise ConstraintError(f"`{made.fqn}` is requested twice in different ways")
    return tuple(found[fqn] for fqn in in_order(checked) if fqn in found)


def in_order(checked: Checked) -> list[str]:
    """Return all variables in the order of the document: those of a group before its groups."""
    paths = (names.join(path, each.name) for path, group in checked.groups.items() for each in group.variables)
    return list(paths)


def _wanted(checked: Checked, clause: str) -> Wanted:
    name, bracket, rest = clause.partition("[")
    name = name.strip()
    fqn = "/" + name.removeprefix("/")
    if fqn not in checked.variables:
        fqn = names.fqn(_UNESCAPED.sub(r"\1", each) for each in fqn[1:].split("/"))
    if fqn not in checked.variables:
        meant = names.closest(fqn[:80], checked.variables)
        raise ConstraintError(f"there is no variable `{name[:80]}`" + (f"; did you mean `{meant}`?" if meant else ""))
    text = bracket + rest
    if not _SLICES.fullmatch(text):
        raise ConstraintError(f"`{clause[:80]}` is not a variable with slices: structures are sent whole")
    return Wanted(fqn, _ranges(text, checked.shapes[fqn], clause))


_UNESCAPED = re.compile(r"\\(.)")


def _ranges(text: str, shape: tuple[int, ...], clause: str) -> tuple[range, ...]:
    """Return the ranges of slices. Raises ConstraintError."""
    slices = re.findall(r"\[[^\[\]]*\]", text)
    if not slices:
        return tuple(map(range, shape))
    if len(slices) != len(shape):
        raise ConstraintError(f"`{clause[:80]}` has {len(slices)} slices for {len(shape)} dimensions")
    made = []
    for each, length in zip(slices, shape, strict=True):
        found = _SLICE.fullmatch(each)
        if found is None:
            raise ConstraintError(f"`{clause[:80]}`: slices are `[start:stride:stop]`, `[start:stop]`, `[index]`, `[]`")
        made.append(_range(found, each, length, clause))
    return tuple(made)


def _range(found: re.Match[str], written: str, length: int, clause: str) -> range:
    first, second, third = found.groups()
    if first is None:
        return range(length)
    colons = written.count(":")
    start = int(first)
    stride = int(second) if colons == 2 and second is not None else 1
    last = start if not colons else int(second) if colons == 1 and second is not None else length - 1
    last = int(third) if third is not None else last
    if stride < 1 or last < start or last >= length:
        raise ConstraintError(f"`{clause[:80]}`: `{written}` is no section of a dimension of length {length}")
    return range(start, last + 1, stride)
