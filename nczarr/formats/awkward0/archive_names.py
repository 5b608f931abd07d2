"""What the members of an archive are called, which stands for a dataset: one array a variable, and the model."""

from __future__ import annotations

from nczarr import names
from nczarr.arrays.parts import escape

MODEL = "nczarr.ast"
"""The member that has the model: the AST as JSON. Readers of `.awkd` look at members that end in `.json` alone."""

DELIMITER, SUFFIX, SCHEMA_SUFFIX = "-", ".raw", ".json"
"""As awkward0's own archives have them (awkward0-persistence §8)."""


def array_name(path: str) -> str:
    """The name of a variable's array, by its FQN: `g1/temp`; what no member can be called is escaped (`%2E.`)."""
    return "/".join(map(escape, names.split(path)))
