"""The quick look at a variable: its page, its values as JSON, and its picture."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nczarr import names
from nczarr.api.brief import brief
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.check.checked import Checked
from nczarr.select.physical import Physical, is_numeric, physical
from nczarr.select.section_syntax import written
from nczarr.serve.answers import HTML, JSON, HttpAnswer
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError
from nczarr.serve.pages import chart
from nczarr.serve.pages.download import FORMATS
from nczarr.serve.pages.markup import DOWNLOAD, VIEW, attribute, crumbs, number_text, page, shown, table, text
from nczarr.serve.pages.picture import PALETTES, indices, png
from nczarr.serve.pages.plane import PlaneView, ShownAxis, axis_at, axis_of, read
from nczarr.serve.request import url

MOST_VARIABLES = 1000
"""Maximum variables to choose from."""


class ViewedValues(NamedTuple):
    """A view with its values."""

    view: PlaneView
    """The view."""
    physical: Physical
    """Conversion of the values."""
    values: NDArray[np.float64]
    """Physical values of shape (y, x), (x) or (); NaN where missing."""
    statistics: dict[str, str]
    """Statistics in words by name."""
    x: ShownAxis | None
    """Axis to the right."""
    y: ShownAxis | None
    """Axis upward."""


def answer(opened: CachedDataset, view: PlaneView, form: str) -> HttpAnswer:
    """Return the page of a view, or another form: `json`, `png`. Raises RefusedRequestError, CompileError, OSError."""
    checked = opened.checked
    if not is_numeric(checked, view.path):
        if form != "html":
            raise RefusedRequestError(400, f"the values of `{names.readable(view.path)}` are not numbers")
        return HttpAnswer(_page(opened, view, _texts(checked, view)).encode(), HTML)
    seen = _seen(checked, view)
    if form == "json":
        return HttpAnswer(json.dumps(_members(seen), allow_nan=False).encode("ascii") + b"\n", JSON)
    if form == "png":
        return HttpAnswer(_picture(seen), "image/png")
    return HttpAnswer(_page(opened, view, _picture_page(opened, seen)).encode(), HTML)


def _seen(checked: Checked, view: PlaneView) -> ViewedValues:
    decoding = physical(checked, view.path)
    stored = read(checked, view)
    values, absent = decoding.masked(stored)
    statistics = dict(_statistics(values[~absent], int(absent.sum()), values.size))
    floats = values.astype("f8")
    floats[absent] = np.nan
    axes = [None if each is None else axis_of(checked, view, each) for each in (view.x, view.y)]
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


def _members(seen: ViewedValues) -> dict[str, Any]:
    """Return the JSON form of a view."""
    view = seen.view
    members: dict[str, Any] = {
        "variable": shown(view.path),
        "title": shown(seen.physical.axis),
        "decimated": view.decimated,
        "shape": list(seen.values.shape),
        "values": _json(seen.values),
        "statistics": seen.statistics,
    }
    for name, axis in (("x", seen.x), ("y", seen.y)):
        if axis is not None:
            members[name] = {"title": shown(axis.title), "values": _json(axis.values), "down": axis.down}
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


def _page(opened: CachedDataset, view: PlaneView, content: Iterator[str]) -> str:
    name = names.readable(view.path.removeprefix("/"))
    return page(
        f"{name} – {shown(opened.place.segments[-1])}",
        (
            crumbs(opened.place.segments, last=name),
            '<div id="view" class="view">',
            _controls(opened, view),
            '<div class="seen" aria-live="polite">\n',
            *content,
            "</div></div>\n",
        ),
        heading=name,
        scripts=("uplot.js", "pages.js", "view.js"),
        styles=("uplot.css",),
    )


def _controls(opened: CachedDataset, view: PlaneView) -> str:
    """Return the form that chooses a variable, its axes and the place along others."""
    checked = opened.checked
    variable = checked.variables[view.path]
    found = [
        f'<form class="controls" action="{html.escape(url(VIEW, *opened.place.segments))}" method="get">'
        f'<input type="hidden" name="of" value="{attribute(view.path)}">',
        _select(
            "var", "Variable", [(path, path.removeprefix("/")) for path in _choices(checked, view.path)], view.path
        ),
    ]
    axes = [
        (str(number), f"{_axis_name(each, number)} ({length:,})")
        for number, (each, length) in enumerate(zip(variable.dimensions, checked.shapes[view.path], strict=True))
    ]
    if view.x is not None and len(axes) > 1:
        found.append(_select("x", "To the right", axes, str(view.x)))
        if is_numeric(checked, view.path):
            found.append(
                _select("y", "Upward", [("none", "none: a line"), *axes], "none" if view.y is None else str(view.y))
            )
    for number, length in enumerate(checked.shapes[view.path]):
        if number not in view.shown and length > 1:
            found.append(_index(checked, view, number, length))
    if view.y is not None:
        found += _colours(view)
    found += _part(checked, view)
    found.append('<p class="do"><button class="main" type="submit">Show</button></p></form>\n')
    return "".join(found)


def _choices(checked: Checked, path: str) -> list[str]:
    chosen = list(checked.variables)[:MOST_VARIABLES]
    return chosen if path in chosen else [path, *chosen]


def _axis_name(reference: str | int, number: int) -> str:
    return f"axis {number}" if isinstance(reference, int) else names.last(reference)


def _select(name: str, label: str, options: list[tuple[str, str]], chosen: str) -> str:
    listed = "".join(
        f'<option value="{attribute(value)}"{" selected" * (value == chosen)}>{text(words)}</option>'
        for value, words in options
    )
    return f'<p><label for="{name}">{label}</label><select id="{name}" name="{name}">{listed}</select></p>'


def _index(checked: Checked, view: PlaneView, number: int, length: int) -> str:
    """Return the field of an index along an axis that is not shown."""
    reference, index = checked.variables[view.path].dimensions[number], view.ranges[number][0]
    axis = axis_at(checked, reference, range(index, index + 1), number)
    words = "" if axis.title.endswith(", index") else f' <span class="dim">{text(_with_units(axis))}</span>'
    name = text(_axis_name(reference, number))
    return (
        f'<p class="index"><label for="i{number}">{name}, 0 to {length - 1}</label><input type="number" id="i{number}" '
        f'name="i{number}" min="0" max="{length - 1}" value="{index}" required>{words}</p>'
    )


def _with_units(axis: ShownAxis) -> str:
    return axis.text(0) + (f" {axis.physical.units}" if axis.physical.times is None else "")


def _colours(view: PlaneView) -> Iterator[str]:
    """Yield the fields of the palette and its range, which holds for all places along other axes."""
    scale = view.scale
    is_set = scale != type(scale)()
    yield f'<details class="part"{" open" * is_set}><summary>Colours</summary>'
    yield _select("palette", "Palette", [(name, name) for name in PALETTES], scale.palette)
    yield '<p class="pair"><span>Range</span>'
    for name, value in (("low", scale.low), ("high", scale.high)):
        shown = "" if value is None else repr(value)
        yield (
            f'<input type="number" step="any" name="{name}" value="{shown}" placeholder="automatic" '
            f'aria-label="value of the {name}est colour">'
        )
    yield "</p></details>"


def _part(checked: Checked, view: PlaneView) -> Iterator[str]:
    """Yield the fields of the first and last index along shown axes."""
    shape = checked.shapes[view.path]
    if not view.shown or not all(shape[axis] for axis in view.shown):
        return
    is_part = any(len(view.windows[axis]) < shape[axis] for axis in view.shown)
    yield f'<details class="part"{" open" * is_part}><summary>Part of the axes</summary>'
    for axis in view.shown:
        window, most = view.windows[axis], shape[axis] - 1
        name = text(_axis_name(checked.variables[view.path].dimensions[axis], axis))
        yield f'<p class="pair"><span id="p{axis}">{name}</span>'
        for letter, label, value in (("a", "first", window[0]), ("b", "last", window[-1])):
            yield (
                f'<input type="number" name="{letter}{axis}" min="0" max="{most}" value="{value}" '
                f'aria-label="{label} index along {name}">'
            )
        yield "</p>"
    yield "</details>"


def _picture_page(opened: CachedDataset, seen: ViewedValues) -> Iterator[str]:
    view, checked = seen.view, opened.checked
    told = ", ".join(f"{name.lower()} {value}" for name, value in seen.statistics.items())
    label = f"{seen.physical.axis}: {told}"
    if seen.x is None:
        yield f'<p class="value">{text(seen.physical.text(float(seen.values[()])))} {text(seen.physical.units)}</p>\n'
    elif not seen.values.size:
        yield "<p>There are no values.</p>\n"
    elif seen.y is None:
        yield f'<div class="drawn" data-values="{html.escape(_address(opened, view))}">'
        yield chart.line(seen.x, seen.values, seen.physical, seen.physical.axis, label) + "</div>"
    else:
        yield f'<div class="drawn" data-values="{html.escape(_address(opened, view))}">'
        yield chart.plane(seen.x, seen.y, seen.values, view.scale, seen.physical.axis, label) + "</div>"
    if view.decimated:
        steps = " and ".join(
            f"every {_ordinal(view.ranges[axis].step)} along <code>"
            f"{text(_axis_name(checked.variables[view.path].dimensions[axis], axis))}</code>"
            for axis in view.shown
            if view.ranges[axis].step > 1
        )
        yield f'<p class="note">Not all values are shown: {steps}. Choose a part of the axes to see more.</p>\n'
    yield '<div class="below">'
    yield from _numbers(seen)
    yield from _downloads(opened, view)
    yield "</div>\n"


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix} value"


def _numbers(seen: ViewedValues) -> Iterator[str]:
    yield '<section aria-labelledby="statistics"><h2 id="statistics">Statistics</h2>\n'
    if seen.view.decimated:
        yield '<p class="dim">Of the values that are shown.</p>'
    yield chart.histogram(seen.values, "Histogram of the values, from the smallest to the largest")
    rows = "".join(f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>" for name, value in seen.statistics.items())
    yield f'<dl class="statistics">{rows}</dl></section>\n'


def _downloads(opened: CachedDataset, view: PlaneView) -> Iterator[str]:
    """Yield the links that download the whole section, which is not decimated."""
    section = written(names.split(view.path), view.windows) if all(view.windows) else ""
    if not section:
        return
    count = 1
    for each in view.windows:
        count *= len(each)
    yield '<section aria-labelledby="download"><h2 id="download">Download</h2>\n'
    told = f"{'All ' if view.decimated else ''}{count:,} value{'s' * (count != 1)} of this section, with coordinates"
    yield f'<p class="dim">{told}.</p>'
    yield '<ul class="buttons">'
    for suffix, title in FORMATS.items():
        query = urlencode({"var": names.to_bytes(section), "format": suffix[1:]})
        place = html.escape(f"{url(DOWNLOAD, *opened.place.segments)}?{query}")
        yield f'<li><a class="button" href="{place}">{title}</a></li>'
    yield "</ul></section>\n"


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


def _texts(checked: Checked, view: PlaneView) -> Iterator[str]:
    """Yield values that are not numbers as a table."""
    values = read(checked, view)
    if not values.size:
        yield "<p>There are no values.</p>\n"
        return
    if not values.ndim:
        yield f'<p class="value">{text(_plain(values[()]))}</p>'
        return
    if checked.variables[view.path].type == "char":
        yield f'<p class="value">{text(_plain(b"".join(values.tolist()).rstrip(bytes(1))))}</p>'
        return
    assert view.x is not None
    start = view.ranges[view.x].start
    rows = (
        f'<tr><th scope="row" class="n">{start + number:,}</th><td>{text(_plain(each))}</td></tr>\n'
        for number, each in enumerate(values)
    )
    yield table(('<th scope="col" class="n">Index</th>', "Value"), rows, label="Values", kind="values")
    total = checked.shapes[view.path][view.x]
    if len(values) < total:
        yield f'<p class="note">{len(values)} of {total:,} values are shown.</p>\n'


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else "NIL" if value is None else brief(value)
