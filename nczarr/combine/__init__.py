"""Combination of datasets: joined along an existing dimension, or stacked along a new one.

    sources ─ agreement (models, values) ─> Combination ─ finish ─> Checked

Sources are processed one by one and compared with the first; only descriptions
of their arrays are stored. No chunk is copied: the result is an ordinary
dataset with concatenated arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.check.checked import Checked
from nczarr.combine.combination import Combination
from nczarr.combine.recode import is_valid, recoded
from nczarr.combine.spec import Recoding, Wanted, settled
from nczarr.diagnostics.report import Report

__all__ = ["Recoding", "Wanted", "combine"]


def combine(sources: Iterable[tuple[str, Checked]], wanted: Wanted, report: Report) -> Checked | None:
    """Combine datasets, each with a name for messages; return None after a reported error.

    Expects checked datasets. Ensures: a checked dataset with the first source's
    model. Along an existing dimension, variables that use it are joined in the
    given order, and all others must be equal. A new dimension becomes the first
    of variables whose values differ somewhere, and of those named. With
    `wanted.recoding`, times get the same units first.

    Reports inexact-times, unmatched-dimension, unequal-sources, unaligned-chunks,
    differing-attributes, unordered-coordinate. Raises OSError if compared
    values cannot be read.
    """
    before = report.errors
    made: Combination | None = None
    if wanted.recoding is not None and not is_valid(wanted.recoding, report):
        return None
    for name, given in sources:
        checked = given
        if wanted.recoding is not None:
            first = None if made is None else made.checked
            checked = recoded(name, given, first, wanted.recoding, report)
            if report.errors > before:
                return None
        if made is not None:
            made.add(name, checked)
            continue
        way = settled(name, checked, wanted, report)
        if way is None:
            return None
        made = Combination(name, checked, way, ordered=wanted.ordered)
    if made is None or report.errors > before:
        return None
    return made.finish(wanted.addressable, report)
