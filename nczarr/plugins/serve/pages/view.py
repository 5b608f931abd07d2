"""The quick look at a variable: its page, its values as JSON, and its picture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.pipeline.select.physical import Physical, is_numeric, physical
from nczarr.plugins.common.section_text import write_section
from nczarr.plugins.serve.answers import HTML, JSON, HttpAnswer, RefusedRequestError, conditional
from nczarr.plugins.serve.context import Answer, ServerContext, of_dataset
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.pages import chart
from nczarr.plugins.serve.pages.download import list_offered
from nczarr.plugins.serve.pages.markup import DOWNLOAD, VIEW, number_text, page, plain_text, show
from nczarr.plugins.serve.pages.picture import PALETTES, indices, png
from nczarr.plugins.serve.pages.plane import PlaneView, ShownAxis, axis_at, axis_of, read, view_of
from nczarr.plugins.serve.request import Request, url
from nczarr.semantics.checked import Checked

MOST_VARIABLES = 1000
"""Maximum variables to choose from."""


class ViewedValues(NamedTuple):
    """A view with its values."""

    view: PlaneView
    physical: Physical
    """Conversion of the values."""
    values: NDArray[np.float64]
    """Physical values of shape (y, x), (x) or (); NaN where missing."""
    statistics: dict[str, str]
    """Statistics in words by name."""
    x: ShownAxis | None
    """Horizontal axis."""
    y: ShownAxis | None
    """Vertical axis."""


@of_dataset
def answer(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    """Answer `/view/PATH?var=…` by a picture of a variable: as a page, `json` or `png`."""
    view = view_of(opened.checked, asked.query, context.limits)
    form = "json" if asked.wants_json else asked.query.get("format", "html")
    if form not in ("html", "json", "png"):
        raise RefusedRequestError(400, "`format` must be one of html, json, png")

    def work() -> HttpAnswer:
        kind, body = _form(opened, view, form)
        return conditional(HttpAnswer(body, kind), asked.headers, None)

    return context.now_or_later(opened, work, view.need(opened.checked))


def _form(opened: CachedDataset, view: PlaneView, form: str) -> tuple[str, bytes]:
    """Return content type and bytes of a form of a view. Raises RefusedRequestError, CompileError, OSError."""
    checked = opened.checked
    if not is_numeric(checked, view.path):
        if form != "html":
            raise RefusedRequestError(400, f"the values of `{names.readable(view.path)}` are not numbers")
        return HTML, _render_page(opened, view, "texts.html", _texts(checked, view))
    seen = _read_view(checked, view)
    if form == "json":
        return JSON, json.dumps(_describe_members(seen), allow_nan=False).encode("ascii") + b"\n"
    if form == "png":
        return "image/png", _picture(seen)
    return HTML, _render_page(opened, view, "picture.html", _describe_picture(opened, seen))


def _read_view(checked: Checked, view: PlaneView) -> ViewedValues:
    """Read the values of a plane, decoded, NaN where missing, with statistics and coordinates."""
    drawn = view.drawn
    decoding = physical(checked, drawn.path)
    stored = read(checked, drawn)
    values, absent = decoding.mask(stored)
    statistics = dict(_statistics(values[~absent], int(absent.sum()), values.size))
    floats = values.astype("f8")
    floats[absent] = np.nan
    axes = [None if each is None else axis_of(checked, drawn, each) for each in (view.x, view.y)]
    return ViewedValues(view, decoding, floats, statistics, *axes)


def _statistics(present: NDArray[Any], missing: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield the statistics of values; infinite ones count in minimum and maximum alone."""
    yield "Values", f"{count:,}"
    yield "Missing", f"{missing:,}" + (f" ({missing / count:.1%})" if missing else "")
    if not present.size:
        return
    low, high = present.min(), present.max()
    yield "Minimum", str(int(low)) if present.dtype.kind in "iu" else number_text(float(low))
    yield "Maximum", str(int(high)) if present.dtype.kind in "iu" else number_text(float(high))
    finite = present.astype("f8")
    finite = finite[np.isfinite(finite)]
    if finite.size:
        with np.errstate(over="ignore"):
            yield "Mean", number_text(float(finite.mean()))
            yield "Standard deviation", number_text(float(finite.std()))


def _describe_members(seen: ViewedValues) -> dict[str, Any]:
    """Return the JSON form of a view."""
    view = seen.view
    members: dict[str, Any] = {
        "variable": show(view.path),
        "title": show(seen.physical.axis),
        "decimated": view.decimated,
        **({} if view.level is None else {"level": show(view.level[0])}),
        "indices": [[each.start, each[-1]] if each else [] for each in view.ranges],
        "shape": list(seen.values.shape),
        "values": _json(seen.values),
        "statistics": seen.statistics,
    }
    for name, axis in (("x", seen.x), ("y", seen.y)):
        if axis is not None:
            members[name] = {"title": show(axis.title), "values": _json(axis.values), "down": axis.down}
            members[name] |= {"steps": chart.DEGREES} if chart.is_degrees(axis) else {}
            if axis.physical.times is not None:
                members[name]["labels"] = [axis.text(place) for place in range(len(axis.values))]
    if seen.x is not None and seen.y is not None:
        columns, rows = chart.directions(seen.x, seen.y)
        members |= {"x_backward": columns.step == -1, "y_backward": rows.step == -1}
    return members


def _json(values: NDArray[np.float64]) -> Any:
    """Return values as lists, None for those that JSON lacks."""
    if np.isfinite(values).all():
        return values.tolist()
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return found.tolist()


def _picture(seen: ViewedValues) -> bytes:
    """Return the PNG file of a plane. Raises RefusedRequestError for lines."""
    if seen.x is None or seen.y is None:
        raise RefusedRequestError(400, "a picture needs two axes")
    columns, rows = chart.directions(seen.x, seen.y)
    scale = seen.view.scale
    return png(indices(seen.values[rows, columns], *scale.range_of(seen.values)), scale.palette)


def _render_page(opened: CachedDataset, view: PlaneView, template: str, values: dict[str, Any]) -> bytes:
    name, segments = names.readable(view.path.removeprefix("/")), opened.place.segments
    return page(
        template,
        f"{name} – {show(segments[-1])}",
        heading=name,
        scripts=("uplot.js", "pages.js", "view.js"),
        styles=("uplot.css",),
        segments=segments,
        controls=_controls(opened.checked, view),
        **values,
    )


def _controls(checked: Checked, view: PlaneView) -> dict[str, Any]:
    """Return the fields of the form that chooses a variable, its axes and the place along others."""
    variable, shape = checked.variables[view.path], checked.shapes[view.path]
    axis_names = [_axis_name(each, number) for number, each in enumerate(variable.dimensions)]
    chosen = list(checked.variables)[:MOST_VARIABLES]
    axes = []
    if view.x is not None and len(shape) > 1:
        options = [
            (str(number), f"{name} ({length:,})")
            for number, (name, length) in enumerate(zip(axis_names, shape, strict=True))
        ]
        numeric = is_numeric(checked, view.path)
        axes.append(("x", "X axis" if numeric else "Axis", options, str(view.x)))
        if numeric:
            y = "none" if view.y is None else str(view.y)
            axes.append(("y", "Y axis", [("none", "none: a line"), *options], y))
    windows = [
        {"axis": axis, "name": axis_names[axis], "most": shape[axis] - 1, "first": window[0], "last": window[-1]}
        for axis in view.shown
        if (window := view.windows[axis])
    ]
    return {
        "path": view.path,
        "choices": [
            (path, path.removeprefix("/")) for path in (chosen if view.path in chosen else [view.path, *chosen])
        ],
        "axes": axes,
        "places": [
            {
                "axis": number,
                "name": axis_names[number],
                "most": length - 1,
                "index": view.ranges[number][0],
                "words": _place(checked, view, number),
            }
            for number, length in enumerate(shape)
            if number not in view.shown and length > 1
        ],
        "scale": None if view.y is None else view.scale,
        "is_scaled": view.scale != type(view.scale)(),
        "palettes": [(name, name) for name in PALETTES],
        "windows": windows if len(windows) == len(view.shown) else [],
        "is_part": any(len(view.windows[axis]) < shape[axis] for axis in view.shown),
    }


def _axis_name(reference: str | int, number: int) -> str:
    return f"axis {number}" if isinstance(reference, int) else names.last(reference)


def _place(checked: Checked, view: PlaneView, number: int) -> str:
    """Return the coordinate at the index along an axis that is not shown; empty without one."""
    reference, index = checked.variables[view.path].dimensions[number], view.ranges[number][0]
    axis = axis_at(checked, reference, range(index, index + 1), number)
    return "" if axis.title.endswith(", index") else _with_units(axis.physical, float(axis.values[0]))


def _with_units(decoding: Physical, value: float) -> str:
    """Return a value in words with its units, which dates and missing values do not have."""
    has_units = decoding.times is None and value == value and decoding.units != "1"
    return f"{decoding.text(value)} {decoding.units if has_units else ''}".rstrip()


def _describe_picture(opened: CachedDataset, seen: ViewedValues) -> dict[str, Any]:
    view, dimensions = seen.view, opened.checked.variables[seen.view.path].dimensions
    statistics = ", ".join(f"{name.lower()} {value}" for name, value in seen.statistics.items())
    label = f"{seen.physical.axis}: {statistics}"
    drawn: dict[str, Any] | None = None
    if seen.x is not None and np.isfinite(seen.values).any():
        drawn = (
            chart.line(seen.x, seen.values, seen.physical.axis, label)
            if seen.y is None
            else chart.plane(seen.x, seen.y, seen.values, view.scale, seen.physical.axis, label)
        )
    ranges = view.drawn.ranges
    steps = [(axis, ranges[axis].step) for axis in view.shown if ranges[axis].step > 1]
    return {
        "level": None if view.level is None else names.readable(view.level[0]),
        "value": _with_units(seen.physical, float(seen.values[()])) if seen.x is None else None,
        "chart": drawn,
        "address": _address(opened, view),
        "steps": [(_ordinal(step), _axis_name(dimensions[axis], axis)) for axis, step in steps],
        "histogram": chart.histogram(seen.values),
        "statistics": seen.statistics,
        "count": math.prod(map(len, view.windows)),
        "downloads": list(_downloads(opened, view)),
    }


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix} value"


def _downloads(opened: CachedDataset, view: PlaneView) -> Iterator[tuple[str, str]]:
    """Yield titles and links that download the whole section, which is not decimated."""
    if not all(view.windows):
        return
    section = write_section(names.split(view.path), view.windows)
    for suffix, (title, _) in list_offered().items():
        query = urlencode({"var": names.to_bytes(section), "format": suffix[1:]})
        yield title, f"{url(DOWNLOAD, *opened.place.segments)}?{query}"


def _address(opened: CachedDataset, view: PlaneView) -> str:
    """Return the URL of the values as JSON."""
    fields = {"var": view.path, "format": "json"}
    if view.x is not None:
        fields |= {"x": str(view.x), "y": "none" if view.y is None else str(view.y)}
    for axis, window in enumerate(view.windows):
        fields |= {f"a{axis}": str(window[0]), f"b{axis}": str(window[-1])} if axis in view.shown and window else {}
        fields |= {f"i{axis}": str(window[0])} if axis not in view.shown and window else {}
    query = urlencode({name: names.to_bytes(value) for name, value in fields.items()})
    return f"{url(VIEW, *opened.place.segments)}?{query}"


def _texts(checked: Checked, view: PlaneView) -> dict[str, Any]:
    """Return values that are not numbers: one, or rows of a table."""
    values = read(checked, view)
    value, rows, total = None, list[str](), 0
    if values.size and not values.ndim:
        value = plain_text(values[()], absent="NIL")
    elif values.size and checked.variables[view.path].type == "char":
        value = plain_text(b"".join(values.tolist()).rstrip(bytes(1)), absent="")
    elif values.size and view.x is not None:
        rows, total = [plain_text(each, absent="NIL") for each in values], checked.shapes[view.path][view.x]
    start = view.ranges[view.x].start if rows and view.x is not None else 0
    return {"value": value, "rows": rows, "start": start, "total": total}
