"""Comparison of two trees: nodes, attributes, links and all values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.plugins.nwb.tree import NwbArray, NwbGroup, NwbTree


def list_differences(one: NwbTree, other: NwbTree) -> Iterator[tuple[str, str]]:
    """Yield the path of what differs, and a sentence about it. Arrays of a path have the same chunks."""
    for path in dict.fromkeys((*one.nodes, *other.nodes)):
        left, right = one.nodes.get(path), other.nodes.get(path)
        if left is None or right is None:
            yield path, f"it is missing in the {'target' if right is None else 'source'}"
            continue
        for name in dict.fromkeys((*left.attributes, *right.attributes)):
            if repr(left.attributes.get(name)) != repr(right.attributes.get(name)):  # NaN equals NaN
                yield f"{path}@{name}", "the attribute differs"
        if _outline(left) != _outline(right):
            yield path, "the links, types or shapes differ"
        elif not isinstance(left, NwbGroup) and not isinstance(right, NwbGroup):
            indices = {*left.list_stored(), *right.list_stored()}
            if not all(_are_equal(left.read(index), right.read(index)) for index in indices):
                yield path, "the values differ"


def _outline(node: NwbGroup | NwbArray) -> Any:
    return node.links if isinstance(node, NwbGroup) else (node.type, node.shape, node.limits)


def _are_equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.hasobject:
        return bool(one.tolist() == other.tolist())
    if one.dtype.names is not None:  # whose bytes between members may differ
        return all(_are_equal(one[name], other[name]) for name in one.dtype.names)
    return one.shape == other.shape and one.tobytes() == other.tobytes()
