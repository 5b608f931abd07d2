"""Request, target and result of an extension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nczarr.arrays.execution.counts import Step
from nczarr.check.checked import Checked
from nczarr.operations.combine import Combined, Recoding
from nczarr.operations.pipeline import Input
from nczarr.options import Options
from nczarr.plan.plans import Conversion
from nczarr.registry import Format
from nczarr.select.selection import Subset
from nczarr.stores.base import Store


class AppendRequest(NamedTuple):
    """Request for an extension."""

    inputs: Sequence[Input]
    """The sources in order."""
    target: str
    """Path or URL of the target."""
    along: tuple[str, ...] = ()
    """Names of dimensions, simple or from the root; a reference document finds its own without them."""
    subset: Subset = Subset()
    """Requested part of the sources."""
    options: Options = Options()
    """Options of the run."""
    region: bool = False
    """Replace the records whose coordinates the target has already."""
    recoding: Recoding | None = None
    """Units of all times, for reference documents; None: they must be equal."""
    rehearsal: bool = False
    """Write nothing."""
    discard: bool = False
    """Discard the unfinished work of another command, which must not run any more."""
    document: bool = False
    """True if the target must be a reference document, whatever its name."""
    command: str | None = None
    """Fingerprint of the sources and options, for resuming; None without one."""


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
    combined: Combined | None = None
    """The sources of a rehearsal, of a reference document alone."""


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
