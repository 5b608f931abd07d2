"""`check --combine`: what keeps sources from being joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nczarr.options import TARGET, Option
from nczarr.pipeline.check_request import SourceComparison

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.pipeline.phases import Input


def compare(
    inputs: Sequence[Input], options: Mapping[str, Any], report: Report, step: Callable[[int], None] | None
) -> str | None:
    """Report what keeps the sources from being joined; return how they fit otherwise. Raises OSError."""
    from nczarr.plugins.combine.join.check_sources import check_sources

    joined = check_sources(inputs, options["along"], report, step)
    if joined is None:
        return None
    along = ", ".join(f"`{path}`" for path in joined.along)
    count = len(joined.names)
    fit = "source fits" if count == 1 else "sources fit together"
    return f"{count} {fit} along {along}: {joined.length:,} values"


COMPARISON = SourceComparison(
    (
        Option(
            "combine",
            section=TARGET,
            flags="--combine",
            help="compare the sources with each other before they are joined: types, packing, fill values, filters, "
            "chunks, units, lengths, and order, overlap and gaps of the coordinate",
            common=True,
        ),
        Option(
            "along",
            section=TARGET,
            flags="--along",
            takes="texts",
            metavar="NAME",
            help="with --combine, dimension along which the sources are joined (default: the unlimited one, or the one "
            "whose coordinate differs); repeatable",
        ),
    ),
    compare,
)
