"""Requests for pyramids, and results."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.execution.counts import Step
from nczarr.options import Options
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.selection import Subset
from nczarr.plan.plans import Conversion
from nczarr.plugins.pyramid.spec import PyramidSpec
from nczarr.stores.url import is_remote, real, trim


class PyramidRequest(NamedTuple):
    """Request for a pyramid."""

    source: Input
    """The dataset; that of the target, if it is the same store."""
    target: str
    """Path or URL."""
    spec: PyramidSpec
    form: str | None = None
    """Name of the target's format; None: by its suffix."""
    subset: Subset = Subset()
    """Requested part of the source."""
    options: Options = Options()
    update: bool = False
    """Bring the levels of the target up to date."""

    @property
    def in_place(self) -> bool:
        """True if the source is the target."""
        one, other = trim(self.source.name), trim(self.target)
        return one == other or (not is_remote(one) and not is_remote(other) and real(one) == real(other))


class PyramidResult(NamedTuple):
    """Result of a run: the conversion, or the planned work of a rehearsal."""

    conversion: Conversion | None = None
    """None for a rehearsal."""
    steps: tuple[Step, ...] = ()
    """Planned work of a rehearsal."""
    rewritten: int = 0
    """Keys of an existing store that were replaced."""
