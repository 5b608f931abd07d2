"""Result of `pipeline.write` and `nczarr.convert`."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.counts import Counts
from nczarr.diagnostics.report import Diagnostic
from nczarr.plan.plans import Loss, Plan


class Conversion(NamedTuple):
    """A finished conversion: the target, its format, and its number of variables.

    `losses`: everything that the target does not hold, accepted value losses included. The `…_chunks` fields
    count chunks by route: referenced, copied encoded, gathered from uncompressed ranges, transcoded in the
    same grid, rechunked, or encoded from unchunked values; `bytes` is their encoded size. `skipped_keys`:
    keys of chunks or shards that an earlier run put and this one did not remake. `diagnostics`: the warnings.
    """

    target: str
    format: str
    variables: int
    losses: tuple[Loss, ...] = ()
    referenced_chunks: int = 0
    copied_chunks: int = 0
    gathered_chunks: int = 0
    transcoded_chunks: int = 0
    rechunked_chunks: int = 0
    encoded_chunks: int = 0
    skipped_keys: int = 0
    bytes: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    verified_with: tuple[str, ...] = ()
    """With `verify`, the readers that found the target equal to its source: `nczarr`, and `libnetcdf` or
    `zarr-python` with its version where it is installed and the target is on this machine.
    """


def conversion_of(path: str, plan: Plan, counts: Counts) -> Conversion:
    """Return the counted result of a run."""
    return Conversion(
        path,
        plan.form.name,
        len(plan.checked.variables),
        plan.losses,
        referenced_chunks=counts["reference"].chunks,
        copied_chunks=counts["copy"].chunks,
        gathered_chunks=counts["gather"].chunks,
        transcoded_chunks=counts["transcode"].chunks,
        rechunked_chunks=counts["rechunk"].chunks,
        encoded_chunks=counts["encode"].chunks + counts["fill"].chunks,
        skipped_keys=counts.skipped,
        bytes=counts.total.size,
    )
