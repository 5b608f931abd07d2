"""Types that a reader declares for what its format leaves unnamed."""

from __future__ import annotations

from collections.abc import Iterable

from nczarr import names
from nczarr.ast.node import TypeName
from nczarr.ast.types import UserType


class DeclaredTypes:
    """Types that are declared in one group, in order, under names that nothing else has there.

    `taken`: names of other items of the group; `longest`: maximum bytes of a
    normalized name without its unique suffix; None: names stay as they are.
    """

    longest: int | None = None

    def __init__(self, path: str, taken: Iterable[str] = ()) -> None:
        self.path = path
        self.taken = set(taken)
        self.types: dict[str, UserType] = {}

    def free(self, preferred: str) -> str:
        """Return an unused type name."""
        name = preferred
        if self.longest is not None:
            name = names.normal(preferred).encode()[: self.longest].decode(errors="ignore")
        while name in self.taken or name in self.types:
            name += "_"
        return name

    def declare(self, user_type: UserType) -> TypeName:
        """Declare a type; return its FQN."""
        self.types[user_type.name] = user_type
        return names.join(self.path, user_type.name)

    def share(self, user_type: UserType) -> TypeName:
        """Return the FQN of a type; its name is only used if the group has no equal type."""
        for name, declared in self.types.items():
            if declared.model_copy(update={"name": user_type.name}) == user_type:
                return names.join(self.path, name)
        return self.declare(user_type.model_copy(update={"name": self.free(user_type.name)}))
