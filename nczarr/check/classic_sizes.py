"""Size limits of classic netCDF files.

Expects: a checked dataset that otherwise fits the classic model (see
`kinds.py`). Reports: format-conflict, at variables that are too large or begin
too far from the file's start, and at dimensions too long for any header.
Source: the netCDF file format specifications, and the library's behavior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Kind
from nczarr.ast.kinds import KIND_NAMES
from nczarr.check.anonymous_dimensions import name_dimensions
from nczarr.check.checked import Checked
from nczarr.check.classic_layout import CLASSIC_KINDS, ClassicLayout, lay_out
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Span

_LARGEST: dict[Kind, int] = {"nc3": 2**31 - 4, "nc6": 2**32 - 4, "nc5": 2**63 - 4}
"""Maximum bytes of a variable, or of one record of it, unless it is last: the kind's largest multiple of four."""

_FARTHEST: dict[Kind, int] = {"nc3": 2**31 - 1, "nc6": 2**63 - 1, "nc5": 2**63 - 1}
"""Maximum start of a variable."""

_LONGEST = 2**63 - 4
"""Maximum dimension of CDF-5; `kinds.py` checks the other kinds."""

_RECORDS: dict[Kind, int] = {"nc3": 2**31 - 1, "nc6": 2**31 - 1, "nc5": 2**63 - 1}
"""Maximum record count in a header (NON_NEG of the specification)."""


class Problem(NamedTuple):
    """Violation of one limit."""

    message: str
    """Message for the diagnostic."""
    span: Span
    """Position of the declaration."""


def check_sizes(checked: Checked, kind: Kind, report: Report) -> None:
    """Report content too large for a file of this kind; nothing for other than classic kinds."""
    if kind not in CLASSIC_KINDS:
        return
    named = name_dimensions(checked)
    faults = list(problems(named, kind))
    if not faults:
        return
    wider = [other for other in CLASSIC_KINDS[CLASSIC_KINDS.index(kind) + 1 :] if not any(problems(named, other))]
    helps = [f"use --kind {' or '.join((*wider, 'nc4'))}"]
    for problem in faults:
        text = f"{problem.message}; the output format is {KIND_NAMES[kind]}"
        report.error("format-conflict", text, problem.span, helps=helps)


def problems(checked: Checked, kind: Kind) -> Iterator[Problem]:
    """Yield violations in definition order."""
    layout = lay_out(checked, kind)
    for dimension in checked.dimensions.values():
        longest = _RECORDS[kind] if dimension.unlimited else _LONGEST
        if not dimension.unlimited and not dimension.size:
            text = f"dimension `{dimension.name}` has length 0 and is not unlimited, which classic files cannot express"
            yield Problem(text, dimension.span)
        elif dimension.size > longest:
            text = f"dimension `{dimension.name}` has length {dimension.size}; the limit is {longest}"
            yield Problem(text, dimension.span)
    free = _free(layout)
    too_large = [path for path, place in layout.places.items() if place.size > _LARGEST[kind] and path != free]
    for path in too_large:
        place = layout.places[path]
        what = f"{'one record of ' if place.record else ''}`{names.last(path)}`"
        text = f"{what} takes {place.size} bytes and is not the last one; the limit is then {_LARGEST[kind]}"
        yield Problem(text, checked.variables[path].span)
    if not too_large:
        yield from _too_far(checked, layout, kind)


def _too_far(checked: Checked, layout: ClassicLayout, kind: Kind) -> Iterator[Problem]:
    """Yield the first variable beyond the kind's offsets, or else the end of the file."""
    far = [path for path, place in layout.places.items() if place.begin > _FARTHEST[kind]]
    if far:
        path = min(far, key=lambda path: layout.places[path].begin)
        begin, others = layout.places[path].begin, f", and {len(far) - 1} after it" if len(far) > 1 else ""
        text = f"`{names.last(path)}` would begin at byte {begin} of the file{others}; the limit is {_FARTHEST[kind]}"
        yield Problem(text, checked.variables[path].span)
    elif layout.end > _FARTHEST["nc5"]:
        yield Problem(f"the file would have {layout.end} bytes; the limit is {_FARTHEST['nc5']}", checked.dataset.span)


def _free(layout: ClassicLayout) -> str | None:
    """Return the variable of unlimited size, because no header value depends on it.

    It is the last record variable, or without one the last fixed one.
    """
    growing = [path for path, place in layout.places.items() if place.record]
    return next(reversed(growing or list(layout.places)), None)
