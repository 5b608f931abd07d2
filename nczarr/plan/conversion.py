"""What a conversion did: the value that `pipeline.write` and `nczarr.convert` return."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.counts import Counts
from nczarr.diagnostics.report import Diagnostic
from nczarr.plan.plans import Loss, Plan


class Conversion(NamedTuple):
    """A finished target: where it is, the format that was chosen, and how many variables it has.

    `losses`: what the target does not hold, all of them, value losses that were accepted among them. The chunks, and
    their encoded `bytes`, by the way that they took: referred to where they lie, moved as they were, gathered out of
    uncompressed ranges, decoded and encoded in the same grid, made anew in another, or made of values that lay in no
    chunks. `skipped_keys`: keys of data, chunks or shards, that an earlier run had put, and that were not made again.
    `diagnostics`: warnings of the way here.
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
    """With `verify`, the readers that found the target equal to its source: `nczarr`, and `libnetcdf` or `zarr-python`
    with its version where it is installed and the target lies on this machine."""


def conversion_of(path: str, plan: Plan, counts: Counts) -> Conversion:
    """Return what a run did, in numbers."""
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
