"""`explain STORE KEY`: the node and the line that made a key, and what each member of a document means.

STORE is a store, or a schema whose store does not exist yet; then the place in the schema is named as well.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nczarr import link, registry
from nczarr.diagnostics.render import place, visible
from nczarr.pipeline import endpoints
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.schema.emissions import find_node, place_nodes
from nczarr.sdk import Checked, Options, Report, Source, Store, StorePlan, hint, phases
from nczarr.stores.memory import MeasuringStore

WIDEST = 44
"""Most characters of a value."""


class KeyContent(NamedTuple):
    """A key of a store."""

    document: bytes | None
    """Bytes of a document; None of a chunk."""
    size: int | None
    """Bytes of a chunk; None if they are not known."""


def explain(name: str, key: str, form_name: str | None, report: Report, options: Options) -> Iterator[str]:
    """Yield lines about a key of a store or of a schema. Reports unknown-key, unknown-target. Raises OSError."""
    source = endpoints.open_source(name, report, options)
    if source is None:
        return
    checked = phases.read(source, report, options)
    if checked is None:
        return
    stored = None if isinstance(source, Source) else source
    form = _find_form(stored, form_name, report)
    if form is None:
        return
    plan = phases.plan(checked, form, Report(), options)
    if not isinstance(plan, StorePlan) or plan.form.store.begins:
        report.error("unknown-target", f"`{name}` has no keys as format `{form.name}`")
        return
    content = _read_stored(stored, key) if stored is not None else _read_planned(plan, key, report)
    if content is None:
        every = list(stored.keys()) if stored is not None else _list_keys(plan)
        report.error("unknown-key", f"`{name}` has no key `{key}`{hint(key, every)}")
        return
    yield from _explain(key, content, plan, checked)


def _find_form(stored: Store | None, name: str | None, report: Report) -> registry.Format | None:
    if name is not None or stored is None:
        return endpoints.target_format("", name or registry.STORE, report)
    return registry.detect_store(stored)


def _read_stored(store: Store, key: str) -> KeyContent | None:
    data = store.get(key)
    if data is None:
        return None
    return KeyContent(data, None) if _is_document(key) else KeyContent(None, len(data))


def _read_planned(plan: StorePlan, key: str, report: Report) -> KeyContent | None:
    """Return the content of a key that the plan would write; None for another key, or after an error."""
    target = MeasuringStore()
    if not link.write_into_store(plan, target, report):
        return None
    if key in target.content:
        return KeyContent(bytes(target.content[key]), None)
    return KeyContent(None, target.sizes[key]) if key in target.sizes else None


def _list_keys(plan: StorePlan) -> list[str]:
    target = MeasuringStore()
    link.write_into_store(plan, target, Report())
    return list(target.keys())


def _is_document(key: str) -> bool:
    last = key.rpartition("/")[2]
    return last.startswith(".") or last.endswith(".json")


def _explain(key: str, content: KeyContent, plan: StorePlan, checked: Checked) -> Iterator[str]:
    path, part, rest = find_node(key, place_nodes(plan))
    node = checked.variables.get(path) or checked.groups.get(path) or checked.dataset
    what = "variable" if path in checked.variables else "group"
    of_part = f", part `{part}`" if part else ""
    where = place(label_of(node))
    kind = "chunk" if content.document is None else "document"
    yield f"{visible(key)}: {kind} of the {what} {visible(path)}{of_part}"
    yield f", at {where}\n" if where else "\n"
    if content.document is None:
        yield from _explain_chunk(rest, content, plan, path, part)
        return
    try:
        document = json.loads(content.document)
    except ValueError:
        yield f"  {len(content.document)} bytes that are not JSON\n"
        return
    known = _load_members().get(rest.rpartition("/")[2], {})
    rows = [(name, _shorten(value), *_find_meaning(name, known)) for name, value in _list_members(document)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for name, value, meaning, section in rows:
        told = f"{meaning} [{section}]" if section else meaning
        yield f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {told}".rstrip() + "\n"


def _list_members(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of a document; those of `attributes` one by one."""
    if not isinstance(document, dict):
        yield "", document
        return
    for name, value in document.items():
        if name == "attributes" and isinstance(value, dict) and value:
            yield from ((f"attributes/{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _find_meaning(name: str, known: Mapping[str, list[str]]) -> tuple[str, str]:
    """Return the meaning of a member, and the section of the specification that defines it."""
    if name in known:
        meaning, section = known[name]
        return meaning, section
    head, sign, inner = name.partition("/")
    if sign and head == "attributes":
        meaning, section = _load_members()[".zattrs"].get(inner, ["attribute of the node", "Zarr v3: Attributes"])
        return meaning, section
    meaning, section = known.get("*", ["a member that no specification here names", ""])
    return meaning, section


def _load_members() -> Mapping[str, Mapping[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name("members.toml").read_text(encoding="utf-8"))


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _explain_chunk(rest: str, content: KeyContent, plan: StorePlan, path: str, part: str) -> Iterator[str]:
    """Yield lines on a chunk: its place in the grid, indices of its cells, type and codecs."""
    layout = plan.targets[path][part].layout if path in plan.targets else None
    index = tuple(map(int, re.findall(r"(?<![A-Za-z])\d+", rest)))
    if layout is None or (layout.shape and len(index) != len(layout.shape)):
        yield f"  {content.size} bytes\n"
        return
    unit = layout.shards or layout.chunks
    cells = [
        range(at * length, min((at + 1) * length, size))
        for at, length, size in zip(index, map(int, unit), layout.shape, strict=False)
    ]
    count = math.prod(map(len, cells))
    shown = ", ".join(f"{each.start}:{each.stop}" for each in cells)
    what = "shard" if layout.shards is not None else "chunk"
    yield f"  {what} {index} of a grid of {what}s of {' × '.join(map(str, map(int, unit))) or 'one value'}\n"
    if layout.shards is not None:
        yield f"  with chunks of {' × '.join(map(str, map(int, layout.chunks)))} and an index of their places\n"
    yield f"  values [{shown}] of {tuple(layout.shape)}: {count} of type {layout.dtype}\n"
    codecs = ", ".join(":".join([codec.name or str(codec.id), *map(str, codec.parameters)]) for codec in layout.codecs)
    yield f"  {content.size} bytes, codecs in the order of writing: {codecs or 'none'}\n"
