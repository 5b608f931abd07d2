"""Phases of a compilation as JSON Lines: `compile --emit` of tokens, trees, what follows from them, plans and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import link
from nczarr.ast import Constant, walk
from nczarr.ast.json import dump
from nczarr.link.tasks import arrays
from nczarr.pipeline.emission import Emission
from nczarr.plugins.languages.language import find_language
from nczarr.plugins.schema.analysis import Analysed, analyse
from nczarr.sdk import (
    Attribute,
    CompoundType,
    Dimension,
    EnumType,
    FilePlan,
    Group,
    Node,
    OpaqueType,
    Span,
    Storage,
    StorePlan,
    Variable,
    VlenType,
    detect_format,
)
from nczarr.stores.memory import MeasuringStore


def make_record(**members: Any) -> dict[str, Any]:
    """Return the members that have a value, as a record."""
    return {name: value for name, value in members.items() if value is not None and value not in ((), [], {}, "")}


def show_span(span: Span) -> dict[str, Any] | None:
    """Return a place in a source: its name, and where it begins and ends; None without a source."""
    if span.source is None:
        return None
    source = span.source
    shown: dict[str, Any] = {"source": source.name} | ({"key": source.key} if source.key else {})
    if source.has_lines and source.data:
        for name, offset in (("start", span.start), ("end", max(span.start, span.end))):
            line, column = source.position(offset)
            shown[name] = {"line": line, "column": column}
    return shown | {"bytes": [span.start, span.end]}


def list_tokens(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each lexeme of a text in a language that people write: kind, text, span."""
    source = emission.open_text()
    if source is None:
        return
    form = detect_format(source)
    language = None if form is None else find_language(form.name)
    if language is None:
        emission.report.error("unknown-target", f"`{source.name}` is not a text in a language with tokens")
        return
    for lexeme in language.split(bytes(source.data)):
        span = Span(source, lexeme.start, lexeme.end)
        yield make_record(kind=lexeme.kind, text=source.text(lexeme.start, lexeme.end), span=show_span(span))


def list_documents(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield one record, the AST document of the tree, which `compile` reads again."""
    checked = emission.read()
    if checked is not None:
        yield dump(checked.dataset)


def list_declarations(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each node with its path, place, and what follows from the tree."""
    checked = emission.read()
    if checked is None:
        return
    found = analyse(checked.dataset)
    for path, node in walk(found.tree):
        yield make_record(
            path=path, node=type(node).__name__, **_describe(path, node, found), span=show_span(node.span)
        )


def _describe(path: str, node: Node, found: Analysed) -> dict[str, Any]:
    """Return what the analysis found out about a node, for its record."""
    match node:
        case Group():
            return {"dimensions": [dimension.name for dimension in node.dimensions]}
        case Variable():
            return {
                "type": node.type,
                "dimensions": list(node.dimensions),
                "shape": list(found.shapes[path]) or None,
                "fill": _show(found.fills[path]),
            }
        case Dimension():
            return {"length": node.size, "unlimited": node.unlimited or None, "uses": list(found.uses[path])}
        case Attribute():
            return {"value": _show(node.value)}
        case EnumType():
            return {"base": node.base, "uses": list(found.uses[path])}
        case VlenType():
            return {"base": node.base, "uses": list(found.uses[path])}
        case OpaqueType():
            return {"bytes": node.size, "uses": list(found.uses[path])}
        case CompoundType():
            return {"uses": list(found.uses[path])}
    return {name: value for name in ("type", "shape", "value") if (value := getattr(node, name, None)) is not None}


def _show(constant: Constant | None) -> Any:
    return None if constant is None else constant.model_dump(mode="json")


def list_arrays(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each array of the target: node, layout, codecs; and one for each loss."""
    plan = emission.plan()
    if plan is None:
        return
    if isinstance(plan, StorePlan):
        yield from _list_parts(plan)
    else:
        storage: Mapping[str, Storage] = plan.storage
        for path, variable in plan.checked.variables.items():
            stored = storage.get(path, variable.storage)
            yield make_record(
                node=path,
                kind=plan.kind if isinstance(plan, FilePlan) else None,
                type=variable.type,
                shape=list(plan.checked.shapes[path]),
                storage=stored.model_dump(mode="json", exclude_defaults=True),
                span=show_span(variable.span),
            )
    for loss in plan.losses:
        yield make_record(
            loss=loss.kind, weight=loss.weight, node=loss.path, message=loss.message, span=show_span(loss.span)
        )


def _list_parts(plan: StorePlan) -> Iterator[dict[str, Any]]:
    """Yield a record of each stored array: its prefix, dtype, grid, codecs and the route of its data."""
    routes = {(array.path, array.part): array.route for array in arrays(plan)}
    for path, targets in plan.targets.items():
        codecs = [codec.model_dump(mode="json") for codec in plan.storage[path].codecs] if path in plan.storage else []
        for part, target in targets.items():
            layout = target.layout
            yield make_record(
                node=path,
                part=part,
                prefix=plan.prefix(path, part),
                dtype=layout.dtype if isinstance(layout.dtype, str) else [list(field) for field in layout.dtype],
                shape=list(layout.shape),
                chunks=list(map(int, layout.chunks)),
                shards=None if layout.shards is None else list(map(int, layout.shards)),
                codecs=codecs,
                route=routes.get((path, part), "nothing"),
                span=show_span(plan.checked.variables[path].span),
            )


def list_keys(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each key of a store: document or chunk, its node and part, bytes, and the node's span."""
    plan = emission.plan()
    if plan is None:
        return
    if not isinstance(plan, StorePlan) or plan.form.store.begins:
        emission.report.error("unknown-target", f"format `{plan.form.name}` is not a store and has no keys")
        return
    target = MeasuringStore()
    if not link.write_into_store(plan, target, emission.report):
        return
    nodes = place_nodes(plan)
    sizes = {key: len(data) for key, data in target.content.items()} | target.sizes
    for key in sorted(sizes):
        path, part, rest = find_node(key, nodes)
        node = plan.checked.variables.get(path) or plan.checked.groups[path]
        yield make_record(
            key=key,
            kind="document" if key in target.content or rest.endswith(".json") else "chunk",
            node=path,
            part=part,
            name=rest,
            size=sizes[key],
            span=show_span(node.span),
        )


def place_nodes(plan: StorePlan) -> dict[str, tuple[str, str]]:
    """Return the FQN and part of each node by its prefix."""
    placed = {plan.prefix(path): (path, "") for path in (*plan.checked.groups, *plan.checked.variables)}
    placed |= {plan.prefix(path, part): (path, part) for path, parts in plan.targets.items() for part in parts}
    return placed


def find_node(key: str, nodes: Mapping[str, tuple[str, str]]) -> tuple[str, str, str]:
    """Return FQN and part of the innermost node whose prefix a key has, and the rest of the key."""
    segments = key.split("/")
    for count in range(len(segments) - 1, -1, -1):
        prefix = "".join(f"{segment}/" for segment in segments[:count])
        if prefix in nodes:
            return *nodes[prefix], key[len(prefix) :]
    return "/", "", key
