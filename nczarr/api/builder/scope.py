"""Name lookup for builder calls, as far as values need it to become constants.

Unknown names are left unchanged, and the check `resolve` reports them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nczarr import names
from nczarr.api.builder.group import GroupBuilder
from nczarr.api.builder.pieces import look_up
from nczarr.ast import ATOMIC, CompoundType, Dimension, UserType, VlenType
from nczarr.ast.types import MAX_DEPTH


@dataclass(slots=True)
class BuilderScope:
    """Declarations of a builder by FQN."""

    types: dict[str, UserType] = field(default_factory=dict)
    """Finite types: without cycles and undefined members."""
    dimensions: dict[str, Dimension] = field(default_factory=dict)
    """Dimensions."""

    def type(self, written: str, group: str) -> str | None:
        """Return the atomic name or FQN of a type reference in a group, or None."""
        return written if written in ATOMIC else look_up(written, group, self.types)

    def dimension(self, written: str, group: str) -> str | None:
        """Return the FQN of a dimension reference in a group, or None."""
        return look_up(written, group, self.dimensions)


def groups(root: GroupBuilder) -> Iterator[GroupBuilder]:
    """Yield every group, parents first."""
    pending = [root]
    while pending:
        group = pending.pop()
        yield group
        pending.extend(reversed(group.groups))


def survey(root: GroupBuilder) -> BuilderScope:
    """Return the declarations of a tree under construction; of duplicates, the first."""
    scope = BuilderScope()
    declared: dict[str, tuple[str, UserType]] = {}
    for group in groups(root):
        for user_type in group.types:
            declared.setdefault(names.join(group.path, user_type.name), (group.path, user_type))
        for dimension in group.dimensions:
            scope.dimensions.setdefault(names.join(group.path, dimension.name), dimension)
    # Round after round, take the types whose members are known: circles never get in, and depth is bounded.
    for _ in range(MAX_DEPTH):
        closed = {
            path: closed_type
            for path, (home, declaration) in declared.items()
            if (closed_type := _close_type(declaration, home, scope, declared))
        }
        if len(closed) == len(scope.types):
            break
        scope.types = closed
    return scope


def _close_type(
    declared: UserType, home: str, scope: BuilderScope, everything: Mapping[str, tuple[str, UserType]]
) -> UserType | None:
    """Return a type with the FQNs of its members, None while one is unknown."""

    def known(written: str) -> str | None:
        path = written if written in ATOMIC else look_up(written, home, everything)
        return path if path in ATOMIC or path in scope.types else None

    if isinstance(declared, VlenType):
        base = known(declared.base)
        return None if base is None else VlenType(name=declared.name, base=base)
    if isinstance(declared, CompoundType):
        members = [(member, known(member.type)) for member in declared.fields]
        if not members or any(path is None for _, path in members):
            return None
        fields = tuple(
            type(member)(name=member.name, type=path, shape=member.shape) for member, path in members if path
        )
        return CompoundType(name=declared.name, fields=fields)
    return declared
