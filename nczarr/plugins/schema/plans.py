"""`compile --emit plan` and `--emit keys`: how variables are stored, and each key of a store with its node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import link
from nczarr.link.tasks import arrays
from nczarr.pipeline.emission import Emission
from nczarr.plugins.schema.records import make_record, show_span
from nczarr.sdk import FilePlan, Storage, StorePlan
from nczarr.stores.memory import MeasuringStore


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
