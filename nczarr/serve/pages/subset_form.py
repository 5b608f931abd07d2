"""Form of a dataset at its OPeNDAP URL: a variable and ranges of its coordinates become addresses.

It works without scripts: the page of a query shows the form as it was filled,
and the addresses of the section.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.time_units import CALENDARS, date
from nczarr.formats.opendap.dap2.declarations import DdsNode
from nczarr.formats.opendap.dap2.declarations import Mapping as Dap2Mapping
from nczarr.select.section_syntax import written
from nczarr.serve.dataset_cache import CachedDataset
from nczarr.serve.pages.markup import DOWNLOAD, OPENDAP, page
from nczarr.serve.pages.plane import ShownAxis, axis_at
from nczarr.serve.refusals import RefusedRequestError
from nczarr.serve.request import url

MOST_VARIABLES = 1000
"""Maximum variables to choose from."""

MOST_VALUES = 1_000_000
"""Length of a dimension above which ranges are those of indices."""

ROUNDING = 1e-6
"""Share of a step by which a value may be outside of a range, because texts of coordinates are rounded."""

DOWNLOADS = {"nc": "netCDF", "csv": "CSV"}
"""Formats of files by suffix."""


class Side(NamedTuple):
    """One dimension of a variable in the form."""

    title: str
    """Name with units."""
    ends: tuple[str, str]
    """First and last coordinate."""
    bounds: tuple[str, str]
    """Coordinates of the first and last chosen index."""
    length: int
    """Length of the dimension."""
    chosen: range
    """Chosen indices."""


def subset_form(opened: CachedDataset, known: Dap2Mapping, query: Mapping[str, str], place: str) -> bytes:
    """Return the form. `known`: the dataset in DAP2; `place`: scheme and host. Raises RefusedRequestError, OSError."""
    name = query.get("var") or next(iter(known.nodes), "")
    name = name if name in known.nodes else known.spellings.get(unquote(name), name)
    if name not in known.nodes and query.get("var"):
        raise RefusedRequestError(400, f"there is no variable `{names.readable(name)}`")
    segments, values = opened.place.segments, dict[str, Any](sides=[], constraint="", downloads=[])
    if name in known.nodes:
        node = known.nodes[name]
        sides = [_side(opened, node.fqn, number, query) for number in range(len(opened.checked.shapes[node.fqn]))]
        values = {"sides": sides, **_addresses(opened, node, sides)}
    return page(
        "subset.html",
        f"OPeNDAP: {segments[-1]}",
        scripts=("pages.js",),
        segments=segments,
        place=place,
        here=url(OPENDAP[0], *segments),
        variables=[(each, each) for each in list(known.nodes)[:MOST_VARIABLES]],
        name=name,
        **values,
    )


def _side(opened: CachedDataset, path: str, number: int, query: Mapping[str, str]) -> Side:
    """Return a dimension of a variable with the indices that a query chooses. Raises RefusedRequestError, OSError."""
    checked = opened.checked
    length = checked.shapes[path][number]
    taken = range(length) if length <= MOST_VALUES else range(0, length, length - 1)
    axis = axis_at(checked, checked.variables[path].dimensions[number], taken, number)
    low, high = (_value(axis, query.get(f"{word}{number}", "")) for word in ("from", "to"))
    step = query.get(f"step{number}", "").strip() or "1"
    if not step.isascii() or not step.isdigit() or not 0 < len(step) < 19 or not int(step):
        raise RefusedRequestError(400, f"the step along `{axis.title}` must be a number from 1 on")
    if length > MOST_VALUES:  # coordinates would take too long: indices
        first, last = (
            (0 if low is None else int(max(0, low))),
            (length - 1 if high is None else int(min(length - 1, high))),
        )
        if first > last:
            raise RefusedRequestError(400, f"no index along axis {number} is in this range")
        chosen = range(first, last + 1, int(step))
        return Side(f"axis {number}, index", ("0", str(length - 1)), (str(first), str(last)), length, chosen)
    steps = np.abs(np.diff(axis.values))
    slack = ROUNDING * float(steps.min()) if len(steps) else 0.0
    low, high = (low, high) if low is None or high is None or low <= high else (high, low)
    inside = np.flatnonzero(
        (axis.values >= (-np.inf if low is None else low - slack))
        & (axis.values <= (np.inf if high is None else high + slack))
    )
    if not len(inside):
        raise RefusedRequestError(400, f"no value of `{axis.title}` is in this range")
    first, last = int(inside[0]), int(inside[-1])
    ends = axis.text(0), axis.text(length - 1)
    return Side(axis.title, ends, (axis.text(first), axis.text(last)), length, range(first, last + 1, int(step)))


def _value(axis: ShownAxis, words: str) -> float | None:
    """Return a coordinate that a client wrote: a number, or a date of times. Raises RefusedRequestError."""
    words, times = words.strip(), axis.physical.times
    if not words:
        return None
    try:
        if times is not None and not _is_number(words):
            seconds = date(words, CALENDARS[(times.calendar or "").lower()])
            return float((seconds - times.start) / times.unit)
        return float(words)
    except ValueError:
        wanted = "a date or number" if times is not None else "a number"
        raise RefusedRequestError(400, f"`{names.readable(words[:40])}` is not {wanted} along `{axis.title}`") from None


def _is_number(words: str) -> bool:
    try:
        return float(words) == float(words)
    except ValueError:
        return False


def _addresses(opened: CachedDataset, node: DdsNode, sides: list[Side]) -> dict[str, Any]:
    """Return the constraint and the downloads of the chosen section."""
    chosen = [side.chosen for side in sides]
    axes = node.members[0].axes if node.kind == "grid" else node.axes
    slabs = "".join(f"[{each[0]}:{each.step}:{each[-1]}]" for each in chosen[: len(axes)])
    section = names.to_bytes(written(names.split(node.fqn), tuple(chosen)))
    there = url(DOWNLOAD, *opened.place.segments)
    downloads = [
        (title, f"{there}?{urlencode({'var': section, 'format': suffix})}") for suffix, title in DOWNLOADS.items()
    ]
    return {"constraint": quote(node.name, safe="") + quote(slabs, safe=":"), "downloads": downloads}
