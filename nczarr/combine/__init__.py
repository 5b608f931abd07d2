"""Several datasets as one: joined along a dimension that they have, or stacked along a new one.

    sources ─ agreement (models) ─ equality (values) ─> Combination ─ finish ─> Checked

Sources come one by one, and each is compared with the first; what is kept of it are the descriptions of its arrays. No
chunk is moved: the result is a dataset like any other, whose arrays are those of the sources one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.check.checked import Checked
from nczarr.combine.combination import Combination
from nczarr.combine.spec import Wanted, settled
from nczarr.diagnostics.report import Report

__all__ = ["Wanted", "combine"]


def combine(sources: Iterable[tuple[str, Checked]], wanted: Wanted, report: Report) -> Checked | None:
    """One dataset of several, each with the name that messages call it by; None if an error stands in the report.

    Expects checked datasets. Ensures: a checked dataset, its model that of the first source. Along a dimension of the
    sources, variables that use it are joined in the order given, and all others are equal everywhere; along a new one,
    variables whose values differ somewhere, and those named, get it as their first dimension.

    Reports unmatched-dimension, unequal-sources, unaligned-chunks, differing-attributes, unordered-coordinate. Raises
    OSError where values are compared and cannot be read.
    """
    before = report.errors
    made: Combination | None = None
    for name, checked in sources:
        if made is not None:
            made.add(name, checked)
            continue
        way = settled(name, checked, wanted, report)
        if way is None:
            return None
        made = Combination(name, checked, way)
    if made is None or report.errors > before:
        return None
    return made.finish(wanted.addressable, report)
