"""Rechunking: a conversion to other chunk lengths in bounded memory, in one pass or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from nczarr.diagnostics.report import Report
from nczarr.options import Options, TargetOptions
from nczarr.pipeline.phases import Input, ReadyConversion, prepare
from nczarr.pipeline.select.selection import Subset
from nczarr.registry import Format, find_format

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Watcher
    from nczarr.link.stages import PartPasses
    from nczarr.plan.plans import Conversion, Plan


class RechunkPlan(NamedTuple):
    """Cost of a rechunking: of each array, and in sum."""

    parts: tuple[PartPasses, ...]
    """Passes over each array with values."""

    @property
    def changed(self) -> tuple[PartPasses, ...]:
        """Arrays whose chunks change."""
        return tuple(part for part in self.parts if part.chunks != part.source_chunks)

    @property
    def read(self) -> int:
        """Bytes of values that are read, from the source and from scratch."""
        return sum(part.passes.read for part in self.parts)

    @property
    def written(self) -> int:
        """Bytes of values that are written, to scratch and to the target."""
        return sum(part.passes.written for part in self.parts)

    @property
    def amplification(self) -> float:
        """Decoded bytes of the source for each byte of values."""
        size = sum(part.passes.size for part in self.parts)
        return sum(part.passes.decodings * part.passes.size for part in self.parts) / size if size else 1.0

    @property
    def memory(self) -> int:
        """Bytes of values in memory at once, at most."""
        return max((part.passes.memory for part in self.parts), default=0)

    @property
    def scratch(self) -> int:
        """Bytes in the scratch folder at once, at most: those of one array."""
        return max((part.passes.scratch_size for part in self.parts), default=0)


class ReadyRechunk(NamedTuple):
    """A rechunking whose source was read."""

    conversion: ReadyConversion

    def plan(self, report: Report) -> RechunkPlan | None:
        """Return the plan; None after an error. Nothing is written."""
        parts = self.conversion.passes(report)
        return None if parts is None else RechunkPlan(tuple(parts))

    def write(
        self, report: Report, watch: Watcher | None = None, announce: Callable[[RechunkPlan], None] | None = None
    ) -> Conversion | None:
        """Write the target, whole or not at all; None after an error. Raises OSError.

        `announce` is called with the plan before the work.
        """

        def show(plan: Plan) -> None:
            from nczarr.link.stages import list_passes

            if announce is not None:
                announce(RechunkPlan(tuple(list_passes(plan, Report()))))

        return self.conversion.write(report, watch, show)


def prepare_rechunk(
    source: Input, subset: Subset, target: str, name: str | None, report: Report, options: Options
) -> ReadyRechunk | None:
    """Read the source of a rechunking, and select the requested part; None after an error. Raises OSError.

    `name`: format of the target; None: that of its place. Reports unmatched-chunks for
    formats without chunks.
    """
    ready = prepare(source, subset, target, name, report, options.change(scratch=options.run.scratch or ""))
    if ready is None or not _takes_chunks(ready.form, options.target, report):
        return None
    return ReadyRechunk(ready)


def _takes_chunks(form: Format, target: TargetOptions, report: Report) -> bool:
    """Return whether targets of a format have chunks of their own. Reports unmatched-chunks."""
    inner = None if target.kind is None else form.target.kinds.get(target.kind)
    settled = form if inner is None else find_format(inner)
    assert settled is not None
    if settled.emit or settled.target.build or settled.store.commits or (settled.target.kinds and settled is form):
        return True
    text = f"format `{settled.name}` has no chunks of its own"
    report.error("unmatched-chunks", text, helps=["write netCDF-4 (`--kind nc4`) or a Zarr store"])
    return False
