"""Rules of evolution: which changes programs survive.

A program of the old schema that reads data of the new one is the case `backward`; a program of the new schema that
reads data of the old one is the case `forward`. Programs find variables, dimensions, types, fields and attributes by
name, read numbers of their own type or a wider one (libraries convert them, and refuse one that does not fit), and take
units, packing and missing values as the schema states them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Compatibility: TypeAlias = Literal["backward", "forward", "full"]

MODES: tuple[Compatibility, ...] = ("backward", "forward", "full")


class Kept(NamedTuple):
    """Programs that survive a change."""

    backward: bool
    """True if programs of the old schema read data of the new one."""
    forward: bool
    """True if programs of the new schema read data of the old one."""


_ALL, _OLD, _NEW, _NONE = Kept(True, True), Kept(True, False), Kept(False, True), Kept(False, False)

RULES: Mapping[str, Kept] = {
    "added-group": _OLD,
    "added-type": _OLD,
    "added-dimension": _OLD,
    "added-variable": _OLD,
    "added-attribute": _OLD,
    "added-member": _ALL,
    "added-flag": _ALL,
    "removed-group": _NEW,
    "removed-type": _NEW,
    "removed-dimension": _NEW,
    "removed-variable": _NEW,
    "removed-attribute": _NEW,
    "removed-member": _NEW,
    "renamed-group": _NONE,
    "renamed-type": _NONE,
    "renamed-dimension": _NONE,
    "renamed-variable": _NONE,
    "renamed-attribute": _NONE,
    "widened-type": _OLD,
    "narrowed-type": _NEW,
    "other-type": _NONE,
    "other-definition": _NONE,
    "other-dimensions": _NONE,
    "reordered-dimensions": _NONE,
    "other-length": _NONE,
    "other-records": _ALL,
    "opened-dimension": _OLD,
    "closed-dimension": _NEW,
    "other-units": _NONE,
    "other-fill": _NONE,
    "other-meaning": _NONE,
    "other-text": _ALL,
    "other-attribute-type": _ALL,
}
"""Programs that survive each kind of change."""


class SchemaChange(NamedTuple):
    """One change of a schema."""

    rule: str
    """Kind of change, such as `narrowed-type`; `nczarr explain RULE` describes it."""
    path: str
    """FQN of what changed; of an attribute that of its variable or group."""
    message: str
    """Message of one line, with both sides."""

    @property
    def backward(self) -> bool:
        """True if programs of the old schema read data of the new one."""
        return RULES[self.rule].backward

    @property
    def forward(self) -> bool:
        """True if programs of the new schema read data of the old one."""
        return RULES[self.rule].forward

    def breaks(self, mode: Compatibility) -> bool:
        """Return whether the change breaks this compatibility."""
        return not ((self.backward or mode == "forward") and (self.forward or mode == "backward"))
