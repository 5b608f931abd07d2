"""HTML of handles for notebooks: no script, no resource from elsewhere, bounded size.

Every name and value is escaped. Sections fold by `<details>`, so a keyboard and
a screen reader can use them. The style is in `html.css`: colours follow the
theme of the notebook, or that of the system.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nczarr import names
from nczarr.api.brief import brief
from nczarr.arrays.execution.counts import bytes_text
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import Attribute, Dimension, EnumType, Group, UserType, Variable
from nczarr.ast.rectilinear import volume
from nczarr.diagnostics.report import CompileError
from nczarr.pipeline.select.reader import value_of, without_padding
from nczarr.semantics.checked import Checked
from nczarr.semantics.outline import codec_text, type_text

STYLES = Path(__file__).with_name("html.css")
"""Style sheet of trees, which pages of a server use too."""

COUNT = 4
"""Maximum shown values of a variable."""

LETTERS = 40
"""Maximum shown characters of a variable of type char."""

VARIABLES = 30
"""Maximum variables of one handle with values."""

BYTES = 1 << 20
"""Maximum bytes that are decoded for the values of one handle."""

TEXT = 64
"""Assumed bytes of a string."""


class FirstValues:
    """First values of the scalars and one-dimensional variables of a dataset, within one bound."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._variables = VARIABLES
        self._bytes = BYTES

    def text(self, path: str) -> str:
        """Return the first values of a variable in words; empty where they are not short, or cost too much."""
        variable, shape = self._checked.variables[path], self._checked.shapes[path]
        if len(shape) > 1 or 0 in shape or self._variables <= 0 or variable.type in self._checked.types:
            return ""
        count = LETTERS if variable.type == "char" else COUNT
        cost = sum(_cost(source, count) for source in self._checked.parts.get(path, {}).values())
        if cost > self._bytes:
            return ""
        self._variables -= 1
        self._bytes -= int(cost)
        try:
            return self._read(path, count)
        except (CompileError, OSError):
            return "not readable"

    def _read(self, path: str, count: int) -> str:
        """Return the first `count` values in words. Raises CompileError, OSError."""
        from nczarr.pipeline.select.indexing import read

        shape = self._checked.shapes[path]
        values = read(self._checked, path, (slice(0, count),) if shape else ())
        more = ", …" if shape and shape[0] > count else ""
        if self._checked.variables[path].type == "char":
            return repr(values.tobytes().rstrip(b"\0").decode("utf-8", "replace")) + more.removeprefix(",")
        return (brief(values).strip("[]") if shape else brief(values)) + more


def _cost(source: ArraySource, count: int) -> float:
    """Return the bytes that are decoded for the first values; infinite for a network or a graph of tasks."""
    if source.distant or source.deferred is not None:
        return float("inf")
    layout = source.layout
    size = TEXT if layout.dtype == "|O" else itemsize(layout.dtype)
    return size * (count if source.viewed else volume(layout.chunks))


BUDGET = 400_000
"""Approximate maximum characters of the HTML of one handle."""

UNFOLDED = 30
"""Maximum entries of a section that is shown unfolded."""

LONGEST = 300
"""Maximum characters of a shown name."""

_CUT = "<p class='nz-dim'>Not shown: the page is long.</p>"
"""Content of a group for which there is no room."""


class More(NamedTuple):
    """Additions of a page to the variables of a dataset."""

    note: Callable[[str], str]
    """Returns a text for the line of a variable, by FQN."""
    details: Callable[[str], Iterator[str]]
    """Yields HTML for a variable, by FQN, above its attributes."""


NOTHING = More(lambda path: "", lambda path: iter(()))


def group_html(checked: Checked, path: str, title: str) -> str:
    """Return the HTML of a group, and of those below it."""
    more = More(FirstValues(checked).text, NOTHING.details)
    return _page(title, _sections(checked, path, checked.groups[path], [BUDGET], more))


def tree_html(checked: Checked, more: More) -> str:
    """Return the HTML of a dataset for a page that has the style `html.css`, without a title."""
    return f"<div class='nz'>{''.join(_sections(checked, '/', checked.dataset, [BUDGET], more))}</div>"


def variable_html(checked: Checked, path: str, title: str) -> str:
    """Return the HTML of a variable."""
    variable = checked.variables[path]
    values = _note(FirstValues(checked).text(path))
    words = f"<div class='nz-line'>{''.join(_words(checked, path, variable))}{values}</div>"
    return _page(title, [words, *_details(checked, path, variable, [BUDGET])])


@cache
def _style() -> str:
    """Return the style sheet, without comments and indentation."""
    text = STYLES.read_text(encoding="utf-8")
    return "".join(line.strip() for line in text.splitlines() if not line.lstrip().startswith("/*"))


def _page(title: str, content: Iterable[str]) -> str:
    """Return a whole representation; without its style, notebooks show the title alone."""
    kind, _, rest = title.partition(" ")
    return (
        f"<div><style>{_style()}</style><pre class='nz-plain'>&lt;{_text(title)}&gt;</pre>"
        f"<div class='nz' style='display:none'><div class='nz-head'><span class='nz-kind'>nczarr {_text(kind)}</span> "
        f"<b>{_text(rest)}</b></div>{''.join(content)}</div></div>"
    )


def _text(text: str) -> str:
    """Return text that HTML shows as it is, of a bounded length."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    return html.escape(names.readable(text, keep="\t\n"))


def _sections(checked: Checked, path: str, group: Group, budget: list[int], more: More = NOTHING) -> Iterator[str]:
    """Yield the sections of a group. `budget`: characters that may still be written, one item, which is updated."""
    types = (f"<li>{_show_type(declared)}</li>" for declared in group.types)
    dimensions = (f"<li>{_dimension(dimension)}</li>" for dimension in group.dimensions)
    variables = (
        _show_variable(checked, names.join(path, variable.name), variable, budget, more) for variable in group.variables
    )
    groups = (_show_group(checked, names.join(path, child.name), child, budget, more) for child in group.groups)
    yield _section("Dimensions", dimensions, len(group.dimensions), budget, "nz-dims")
    yield _section("Types", types, len(group.types), budget, "nz-dims", is_open=False)
    yield _section("Variables", variables, len(group.variables), budget, "nz-vars")
    yield _section(
        "Attributes",
        (_show_attribute(checked, attribute) for attribute in group.attributes),
        len(group.attributes),
        budget,
        "nz-attrs",
    )
    yield _section("Groups", groups, len(group.groups), budget, "nz-groups")


def _section(title: str, rows: Iterator[str], count: int, budget: list[int], kind: str, *, is_open: bool = True) -> str:
    """Return a section that folds; nothing without rows. Half of the characters that are left remain for the rest."""
    if not count:
        return ""
    shown: list[str] = []
    room, number = max(budget[0] // 2, 2000), 0
    for row in rows:
        room -= len(row)
        if room < 0 and shown:
            break
        shown.append(row)
        number += 1
        budget[0] -= len(row)
    more = f"<li class='nz-more'>… and {count - number:,} more</li>" if number < count else ""
    state = " open" if is_open and count <= UNFOLDED else ""
    return (
        f"<details class='nz-section'{state}><summary>{title} <span class='nz-count'>({count:,})</span></summary>"
        f"<ul class='{kind}'>{''.join(shown)}{more}</ul></details>"
    )


def _dimension(dimension: Dimension) -> str:
    grows = " <span class='nz-tag'>unlimited</span>" if dimension.unlimited else ""
    return f"<b class='nz-name'>{_text(dimension.name)}</b>: {dimension.size:,}{grows}"


def _show_type(declared: UserType) -> str:
    text = _text(type_text(declared))
    if isinstance(declared, EnumType):
        shown = ", ".join(f"{constant.name} = {constant.value}" for constant in declared.constants[:20])
        more = f", … {len(declared.constants) - 20} more" if len(declared.constants) > 20 else ""
        text += f" <span class='nz-dim'>{_text(shown + more)}</span>"
    return text


def _show_group(checked: Checked, path: str, group: Group, budget: list[int], more: More) -> str:
    """Return a group below another one, folded. Its content counts as written."""
    counts = ((len(group.variables), "variable"), (len(group.groups), "group"))
    words = ", ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
    if not (words or group.dimensions or group.types or group.attributes):
        return f"<li><b class='nz-name'>{_text(group.name)}</b> <span class='nz-dim'>empty</span></li>"
    inner = [budget[0] // 4]
    content = "".join(_sections(checked, path, group, inner, more)) if budget[0] > 2000 else ""
    return (
        f"<li><details><summary><b class='nz-name'>{_text(group.name)}</b> "
        f"<span class='nz-dim'>{words}</span></summary>"
        f"<div>{content or _CUT}</div></details></li>"
    )


def _show_variable(checked: Checked, path: str, variable: Variable, budget: list[int], more: More) -> str:
    words = "".join(_words(checked, path, variable))
    words += _note(more.note(path))
    content = "".join(more.details(path)) + "".join(_details(checked, path, variable, [min(budget[0], 20_000)]))
    return f"<li><details><summary>{words}</summary><div class='nz-inner'>{content}</div></details></li>"


def _note(text: str) -> str:
    """Return a text for the line of a variable."""
    return f"<span class='nz-note'>{_text(text)}</span>" if text else ""


def _words(checked: Checked, path: str, variable: Variable) -> Iterator[str]:
    """Yield the columns of a variable: name, dimensions with lengths, type, and size."""
    shape = checked.shapes[path]
    axes = (
        f"{'' if isinstance(dimension, int) else _text(names.last(dimension)) + ': '}{length:,}"
        for dimension, length in zip(variable.dimensions, shape, strict=True)
    )
    coordinate = " nz-coord" if len(shape) == 1 and variable.dimensions[0] == path else ""
    yield f"<span class='nz-name{coordinate}'>{_text(variable.name)}</span> "
    yield f"<span class='nz-axes'>({', '.join(axes)})</span> "
    yield f"<span class='nz-type'>{_text(variable.type)}</span> "
    storage = variable.storage
    chunks = f"chunks {_times(storage.chunks)}" if storage.chunks else ""
    yield f"<span class='nz-dim nz-chunks'>{chunks}</span> "
    yield f"<span class='nz-dim nz-size'>{_size(checked, variable, shape)}</span>"


def _size(checked: Checked, variable: Variable, shape: tuple[int, ...]) -> str:
    """Return the bytes of all values in words; nothing for values of variable size."""
    if not is_fixed(variable.type, checked.types):
        return ""
    count = size(variable.type, checked.types)
    for length in shape:
        count *= length
    return bytes_text(count)


def _details(checked: Checked, path: str, variable: Variable, budget: list[int]) -> Iterator[str]:
    """Yield the attributes and the storage of a variable."""
    facts = _describe_storage(checked, path, variable)
    rows = [f"<tr><th scope='row'>{title}</th><td>{text}</td></tr>" for title, text in facts]
    attributes = (_show_attribute(checked, attribute) for attribute in variable.attributes)
    shown = _list(attributes, len(variable.attributes), budget)
    yield f"<ul class='nz-attrs'>{shown}</ul>" if shown else ""
    yield f"<table class='nz-storage'><tbody>{''.join(rows)}</tbody></table>"


def _list(rows: Iterator[str], count: int, budget: list[int]) -> str:
    """Return as many rows as there is room for, and the number of others."""
    shown: list[str] = []
    for row in rows:
        budget[0] -= len(row)
        if budget[0] < 0 and shown:
            return "".join(shown) + f"<li class='nz-more'>… and {count - len(shown):,} more</li>"
        shown.append(row)
    return "".join(shown)


def _describe_storage(checked: Checked, path: str, variable: Variable) -> Iterator[tuple[str, str]]:
    """Yield the facts about a variable's storage: titles and HTML."""
    storage, shape = variable.storage, checked.shapes[path]
    yield "Shape", _times(shape) if shape else "scalar"
    bytes_of_all = _size(checked, variable, shape)
    if bytes_of_all:
        yield "Size", bytes_of_all
    if storage.chunks:
        number = 1
        for length, chunk in zip(shape, storage.chunks, strict=False):
            number *= -(-length // chunk)
        of_one = _size(checked, variable, storage.chunks)
        one = f", {of_one} each" if of_one else ""
        yield (
            "Chunks",
            f"{_times(storage.chunks)} <span class='nz-dim'>({number:,} chunk{'' if number == 1 else 's'}{one})</span>",
        )
    elif storage.layout is not None:
        yield "Layout", _text(storage.layout)
    if storage.codecs:
        yield "Codecs", _text(" → ".join(map(codec_text, storage.codecs)))
    if storage.element is not None:
        yield "Stored as", _text(storage.element)
    if storage.endian is not None:
        yield "Byte order", storage.endian
    if storage.no_fill:
        yield "Fill mode", "off"
    fill = checked.fills[path]
    if fill is not None:
        yield "Fill value", _text(brief(value_of(fill, checked.types)))


def _show_attribute(checked: Checked, attribute: Attribute) -> str:
    exact = value_of(attribute.value, checked.types)
    value = without_padding(exact)
    shown = value[:LONGEST] + "…" * (len(value) > LONGEST) if isinstance(value, str) else brief(value)
    count = len(exact) - len(value) if isinstance(exact, str) else 0
    padding = f", with {count:,} NUL{'s' * (count > 1)} at the end" if count else ""
    return (
        f"<li><span class='nz-name'>{_text(attribute.name)}</span> <span class='nz-value'>{_text(shown)}</span> "
        f"<span class='nz-dim'>{_text(attribute.value.type)}{padding}</span></li>"
    )


def _times(lengths: tuple[int, ...]) -> str:
    return " × ".join(f"{length:,}" for length in lengths)
