"""`Node`: what every node of the tree has in common.

Invariant: a node is a value. It is frozen, validated strictly at birth, never points upward, and its span
is left out of equality, hash, repr, JSON and schema, so that `read(write(x)) == x` is the plain `==`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from nczarr.source import NOWHERE, Span

if TYPE_CHECKING:
    Place = Span
else:  # to pydantic a span is opaque: never validated, compared by its own `==`, left out of dump and schema
    Place = SkipJsonSchema[Annotated[Any, Field(exclude=True, repr=False)]]


class Node(BaseModel):
    """Base of all nodes: frozen, strict, no unknown members, with a span that is never part of the value."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    span: Place = NOWHERE


Name = Annotated[str, StringConstraints(min_length=1)]
"""A simple name as it is meant: no escapes, NFC; `names.problem` says which are legal in netCDF."""

TypeName = Annotated[str, StringConstraints(min_length=1)]
"""A use of a type: the name of an atomic type, or the FQN (`/g/t`) of a user-defined one.

Front ends may leave a bare name here where the language scopes names lexically; `resolve` makes it a FQN.
"""
