"""`Node`: common base of all tree nodes.

Invariant: a node is a value. It is frozen, strictly validated at construction,
and has no parent reference. Its span is excluded from equality, hash, repr,
JSON and schema, so that `read(write(x)) == x` is the plain `==`.
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
    """Base of all nodes: frozen, strict, no unknown members, with a span outside its value."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    span: Place = NOWHERE
    """Position in the source; not part of the value."""


Name = Annotated[str, StringConstraints(min_length=1)]
"""A simple name without escapes, in NFC; `names.problem` checks netCDF's rules."""

TypeName = Annotated[str, StringConstraints(min_length=1)]
"""A use of a type: an atomic name, or the FQN (`/g/t`) of a user-defined type.

Front ends may leave a bare name if the language has lexical scopes; `resolve`
converts it to a FQN.
"""
