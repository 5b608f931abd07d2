"""Request, target and result of an extension."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.execution.counts import Step
from nczarr.check.checked import Checked
from nczarr.plan.plans import Conversion
from nczarr.registry import Format
from nczarr.stores.base import Store


class ExtendRequest(NamedTuple):
    """Request for an extension."""

    along: tuple[str, ...]
    """Names of dimensions, simple or from the root."""
    region: bool = False
    """Replace the records whose coordinates the target has already."""
    command: str | None = None
    """Fingerprint of the sources, for resuming; None without one."""
    rehearsal: bool = False
    """Write nothing."""
    discard: bool = False
    """Discard the unfinished work of another command, which must not run any more."""


class Appended(NamedTuple):
    """Result of an extension."""

    conversion: Conversion
    """Chunks and bytes by route."""
    lengths: dict[str, tuple[int, int]]
    """Lengths before and after by FQN of the dimension."""
    steps: tuple[Step, ...] = ()
    """Planned work, of a rehearsal alone."""
    rewritten: int = 0
    """Number of keys of the target that were replaced."""
    completed: bool = False
    """True if an earlier run of the command had committed, and this one put its work in place."""


class ExtendableTarget(NamedTuple):
    """An existing target that can be extended."""

    path: str
    """Path or URL."""
    outer: Format
    """Its format."""
    form: Format
    """Format of its documents: of a repository, that inside."""
    store: Store | None
    """The store; None for a file."""
    checked: Checked
    """The dataset."""
    identity: str | None = None
    """Text that changes with a local file; None for others."""
