"""Data dictionaries in Markdown and HTML: tables of what each group has, and groups as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.plugins.generate.model import Schema, SchemaAttribute, SchemaGroup, SchemaType, SchemaVariable
from nczarr.plugins.generate.render import render
from nczarr.sdk import Checked, Report, names, np

ROW, TOP, CHARACTERS = 30, 26, 20
"""Height of a row of the picture, height of the title of a group, and most characters of a label."""


class PictureBox(NamedTuple):
    """A dimension or variable in the picture."""

    x: int
    """Left edge."""
    y: int
    """Middle."""
    label: str
    """Text, which may be cut."""
    title: str
    """FQN."""
    kind: str
    """`dimension`, `unlimited` or `variable`."""


class StructurePicture:
    """Dimensions at the left, variables at the right, and lines between them; groups below each other."""

    def __init__(self, schema: Schema) -> None:
        self.titles: list[tuple[int, str]] = []
        self.boxes: list[PictureBox] = []
        self.lines: list[tuple[int, int]] = []
        middles: dict[str, int] = {}
        at = 0
        for group in schema.groups:
            self.titles.append((at + 16, group.path))
            for number, one in enumerate(group.dimensions):
                middles[one.path] = at + TOP + ROW * number + ROW // 2
                kind = "unlimited" if one.unlimited else "dimension"
                label = f"{_cut(one.name, CHARACTERS - 6)} {'∞' if one.unlimited else one.size}"
                self.boxes.append(PictureBox(0, middles[one.path], label, one.path, kind))
            for number, variable in enumerate(group.variables):
                middle = at + TOP + ROW * number + ROW // 2
                self.boxes.append(PictureBox(200, middle, _cut(variable.name), variable.path, "variable"))
                inner = [one.path for one in variable.dimensions if not isinstance(one, int)]
                self.lines += [(middles[path], middle) for path in dict.fromkeys(inner)]
            at += TOP + ROW * max(len(group.dimensions), len(group.variables)) + 8
        self.height = at


def _cut(label: str, most: int = CHARACTERS) -> str:
    label = names.readable(label)
    return label if len(label) <= most else f"{label[: most - 1]}…"


def describe_type(declared: SchemaType) -> str:
    """Return the definition of a type."""
    match declared.kind:
        case "enum":
            return f"{declared.base}: " + ", ".join(f"{name} = {value}" for _, name, value in declared.constants)
        case "opaque":
            return f"{declared.size} bytes"
        case "vlen":
            return f"any number of {declared.base}"
        case _:
            shapes = (f"({', '.join(map(str, one.shape))})" if one.shape else "" for one in declared.fields)
            return ", ".join(
                f"{one.type} {one.name}{shape}" for one, shape in zip(declared.fields, shapes, strict=True)
            )


def describe_storage(variable: SchemaVariable) -> str:
    """Return layout, chunks, codecs and byte order as far as they are stated."""
    storage = variable.storage
    parts: list[str] = [f"chunks {' × '.join(map(str, storage.chunks))}" if storage.chunks else storage.layout or ""]
    for codec in storage.codecs:
        parameters = f"({', '.join(map(str, codec.parameters))})" if codec.parameters else ""
        parts.append(f"{codec.name or f'filter {codec.id}'}{parameters}")
    parts += [f"{storage.endian} endian" if storage.endian else "", "no fill" if storage.no_fill else ""]
    return ", ".join(filter(None, parts))


def describe_value(attribute: SchemaAttribute) -> str:
    """Return the values of an attribute as text on one line."""
    if attribute.type == "char":
        return names.readable(attribute.text.decode("utf-8", "replace"))
    value = attribute.value
    items = value.tolist() if isinstance(value, np.ndarray) else value if isinstance(value, list | tuple) else [value]
    if isinstance(items, list):
        items = [item.tolist() if isinstance(item, np.ndarray) else item for item in items]  # elements of a vlen
    return names.readable(", ".join(map(str, items)) if isinstance(items, list | tuple) else str(items))


def list_attributes(group: SchemaGroup) -> Iterator[tuple[str, SchemaAttribute]]:
    """Yield the attributes of a group and of its variables; those of the group itself have no name before them."""
    yield from (("", one) for one in group.attributes)
    for variable in group.variables:
        yield from ((variable.name, one) for one in variable.attributes)


def describe_dimensions(variable: SchemaVariable) -> str:
    """Return the dimensions; those of other groups by their paths."""
    return ", ".join(
        str(one) if isinstance(one, int) else one.name if names.parent(one.path) == variable.group.path else one.path
        for one in variable.dimensions
    )


def write_code(text: str) -> str:
    """Return a name as code of Markdown in a cell of a table."""
    if "\\|" in text:  # tables have no escape for this in code
        return write_prose(text)
    shown = names.readable(text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if "`" in (shown[:1], shown[-1:]) else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def write_prose(text: str) -> str:
    """Return a text for a cell of a table of Markdown, in which nothing is markup."""
    return re.sub(r"([\\`*\[\]<>&|~#{}$]|\b_|_\b|^[-+=])", r"\\\1", names.readable(text)).strip()


def _make_context(checked: Checked, name: str) -> tuple[str, dict[str, Any]]:
    schema = Schema(checked, name)
    return schema.name, {
        "schema": schema,
        "title": checked.dataset.name or name,
        "type_text": describe_type,
        "storage": describe_storage,
        "value": describe_value,
        "attributes": list_attributes,
        "dimensions": describe_dimensions,
        "units": lambda one: next((describe_value(item) for item in one.attributes if item.name == "units"), ""),
        "readable": names.readable,
        "code": write_code,
        "prose": write_prose,
    }


def generate_markdown(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the page by file name."""
    del report  # the page shows all of the model
    own, context = _make_context(checked, name)
    return {f"{own}.md": render("dictionary/page.md.j2", context)}


def generate_html(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the page by file name."""
    del report  # the page shows all of the model
    own, context = _make_context(checked, name)
    return {
        f"{own}.html": render("dictionary/page.html.j2", context | {"picture": StructurePicture(context["schema"])})
    }
