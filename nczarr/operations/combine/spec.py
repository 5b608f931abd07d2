"""Specification of a combination: its dimensions, and the variables concerned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nczarr import names
from nczarr.ast.types import is_number
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.select.selection import at_path, hint, of_name


class Recoding(NamedTuple):
    """Request for times in the same units."""

    units: str | None = None
    """The units; None: those of the first source."""


class CombineSpec(NamedTuple):
    """Request for a combination."""

    along: tuple[str, ...] = ()
    """Names of dimensions, simple or from the root; with `new_dim`, names of variables to stack."""
    new_dim: str | None = None
    """Name of a new dimension."""
    addressable: int | None = None
    """Maximum bytes of a variable that may be rechunked, where chunks must be those of sources; None: no limit."""
    recoding: Recoding | None = None
    """Units of all times; None: they must be equal."""
    rectilinear: bool = False
    """Chunks of the result may differ in length along a joined dimension."""
    inline: int = -1
    """Maximum bytes of local chunks that become part of the target; their bytes are read with the source."""
    extends: bool = False
    """True if the first source is the target, whose references stay as they are."""
    ordered: bool = True
    """Warn of a coordinate that does not increase."""


class Way(NamedTuple):
    """Resolved combination."""

    axes: Mapping[str, int] = MappingProxyType({})
    """Axis of each joined variable by FQN."""
    dimensions: frozenset[str] = frozenset()
    """Dimensions that grow."""
    new_dim: str | None = None
    """Simple name of a new root dimension; the fields above are empty then."""
    rectilinear: bool = False
    """Chunks of the result may differ in length along a joined dimension."""
    always: frozenset[str] = frozenset()
    """Variables that are stacked even if all sources have equal values."""

    @property
    def shown(self) -> str:
        """Displayable dimensions."""
        return f"`/{self.new_dim}`" if self.new_dim else ", ".join(f"`{path}`" for path in sorted(self.dimensions))


def settled(name: str, checked: Checked, spec: CombineSpec, report: Report) -> Way | None:
    """Return the way, based on the first source; None if unmatched-dimension is reported."""
    before = report.errors
    if spec.new_dim is not None:
        way = _stacked(name, checked, spec.new_dim, spec.along, report)
    else:
        way = _along(name, checked, spec.along, report)
    return way._replace(rectilinear=spec.rectilinear) if report.errors == before else None


def _stacked(name: str, checked: Checked, new_dim: str, along: tuple[str, ...], report: Report) -> Way:
    simple = names.normal(new_dim.removeprefix("/"))
    problem = names.problem(simple)
    taken = [path for path in checked.dimensions if names.last(path) == simple]
    if problem is not None:
        report.error("unmatched-dimension", f"`{new_dim}` is not a dimension name: {problem}")
    if taken:
        helps = [f"to join the sources along it, give `--along {simple}` without `--new-dim`"]
        report.error("unmatched-dimension", f"`{name}` already has a dimension `{taken[0]}`", helps=helps)
    if f"/{simple}" in checked.groups:
        report.error("unmatched-dimension", f"`{name}` has a group `/{simple}` but no dimension of that name")
    always: set[str] = set()
    for word in along:
        fqns = named(word, checked.variables)
        always.update(fqns)
        if not fqns:
            text = f"`{name}` has no variable `{word}` to stack along `{simple}`"
            report.error("unmatched-dimension", text, helps=hint(word, checked.variables))
    return Way(new_dim=simple, always=frozenset(always))


def _along(name: str, checked: Checked, along: tuple[str, ...], report: Report) -> Way:
    if not along:
        helps = ["name a dimension of the sources with `--along`, or a new one with `--new-dim`"]
        report.error("unmatched-dimension", "no dimension is given to combine along", helps=helps)
    dimensions: set[str] = set()
    for word in along:
        fqns = named(word, checked.dimensions)
        dimensions.update(fqns)
        if not fqns:
            helps = hint(word, checked.dimensions)
            if named(word, checked.variables):
                helps = [f"it is a variable; to stack it along a new dimension, give `--along {word} --new-dim NAME`"]
            report.error("unmatched-dimension", f"`{name}` has no dimension `{word}`", helps=helps)
    axes: dict[str, int] = {}
    for path, variable in checked.variables.items():
        found_axes = [axis for axis, reference in enumerate(variable.dimensions) if reference in dimensions]
        if len(found_axes) > 1:
            text = f"`{path}` has several of the dimensions {_listed(variable.dimensions[axis] for axis in found_axes)}"
            helps = ["join along one dimension of each variable; select the combined parts with `--var` and `--group`"]
            report.error("unmatched-dimension", f"{text} but can be joined along only one", helps=helps)
        elif found_axes:
            axes[path] = found_axes[0]
    if dimensions and not axes and report.errors == 0:
        report.error("unmatched-dimension", f"no variable of `{name}` has {_listed(sorted(dimensions))}")
    return Way(axes, frozenset(dimensions))


def named(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQNs that a word matches: one path, or all of a simple name."""
    return at_path(word, nodes) if "/" in word else of_name(word, nodes)


def _listed(paths: Iterable[object]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def is_coordinate(path: str, checked: Checked, *, stacked: bool) -> bool:
    """Return whether a variable is the numeric coordinate of its only dimension, or, if stacked, a numeric scalar."""
    variable = checked.variables[path]
    return is_number(variable.type) and variable.dimensions == (() if stacked else (path,))
