"""`analyse`: what a tree means, for passes and generators of users.

The passes resolve and check the tree; `Analysed` has their results by FQN: declarations, shapes, fill values, and
where each declaration is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Constant, Dataset, Dimension, Group, UserType, Variable
from nczarr.ast.dataset import groups
from nczarr.ast.traversal import child_path
from nczarr.ast.types import list_parts
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from nczarr.semantics.resolve import find_in_scope, list_scopes


class Analysed(NamedTuple):
    """A valid tree, and what follows from it, by FQN.

    Examples
    --------
    >>> import nczarr
    >>> found = nczarr.analyse(nczarr.parse("netcdf d { dimensions: x = 2 ; variables: float v(x) ; }"))
    >>> found.shapes["/v"], found.uses["/x"], found.resolve("x", "/")
    ((2,), ('/v',), '/x')
    """

    tree: Dataset
    """The tree with resolved names: every type is atomic or the FQN of a declaration, every dimension declared."""
    groups: Mapping[str, Group]
    """Groups; the root is `/`."""
    types: Mapping[str, UserType]
    """User-defined types."""
    dimensions: Mapping[str, Dimension]
    variables: Mapping[str, Variable]
    """Variables in definition order."""
    shapes: Mapping[str, tuple[int, ...]]
    """Current shape of each variable; an unlimited dimension has its current length."""
    fills: Mapping[str, Constant | None]
    """Value of cells that were never written: `_FillValue`, else netCDF's default; None for an enum with neither."""
    uses: Mapping[str, tuple[str, ...]]
    """Paths of the nodes that use a type or dimension, in the order of the tree; an attribute is `/v@units`."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings of the passes."""

    def resolve(self, name: str, scope: str = "/") -> str | None:
        """Return the FQN of the type, dimension or variable that a name means in a group.

        Parameters
        ----------
        name : str
            A simple name, which is looked up in the group and its ancestors, or a FQN.
        scope : str
            FQN of the group.

        Returns
        -------
        str or None
            The FQN; None if nothing has that name. A dimension counts before a variable, and this before a type.
        """
        for declared in (self.dimensions, self.variables, self.types):
            found = find_in_scope(name, list_scopes(scope), declared)
            if found is not None:
                return found
        return None


def analyse(tree: Dataset) -> Analysed:
    """Resolve and check a tree.

    Parameters
    ----------
    tree : Dataset
        A tree of `nczarr.parse`, of a handle, of a pass, or built by hand. Names of
        types and dimensions may be simple ones, which are looked up in their group and
        its ancestors, or FQNs.

    Returns
    -------
    Analysed
        The resolved tree, and its properties.

    Raises
    ------
    CompileError
        If the tree is invalid; `.diagnostics` has every fault, with the span of its node.
    """
    report = Report()
    checked = check(Unchecked(tree), report)
    if checked is None:
        raise CompileError(report.list_sorted())
    uses: dict[str, list[str]] = {path: [] for path in (*checked.types, *checked.dimensions)}
    for used, by in _list_uses(checked.dataset):
        if by not in uses[used]:
            uses[used].append(by)
    return Analysed(
        tree=checked.dataset,
        groups=checked.groups,
        types=checked.types,
        dimensions=checked.dimensions,
        variables=checked.variables,
        shapes=checked.shapes,
        fills=checked.fills,
        uses=MappingProxyType({path: tuple(found) for path, found in uses.items()}),
        diagnostics=tuple(report.list_sorted()),
    )


def _list_uses(tree: Dataset) -> Iterator[tuple[str, str]]:
    """Yield each use of a declaration: its FQN, and the path of the node that uses it."""
    for path, group in groups(tree):
        for declared in group.types:
            own = names.join(path, declared.name)
            for used in list_parts(declared):
                if used not in ATOMIC:
                    yield used, own
        for attribute in group.attributes:
            if attribute.value.type not in ATOMIC:
                yield attribute.value.type, child_path(path, attribute)
        for variable in group.variables:
            own = names.join(path, variable.name)
            if variable.type not in ATOMIC:
                yield variable.type, own
            for reference in variable.dimensions:
                if isinstance(reference, str):
                    yield reference, own
            for attribute in variable.attributes:
                if attribute.value.type not in ATOMIC:
                    yield attribute.value.type, child_path(own, attribute)
