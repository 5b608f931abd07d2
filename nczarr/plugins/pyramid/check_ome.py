"""OME-Zarr 0.5: images whose metadata are incomplete, or do not describe their arrays.

Source: https://ngff.openmicroscopy.org/0.5, "multiscales" metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.plugins.readers.documents import StoreNode, ZarrView
from nczarr.plugins.readers.geo import FAULT, find_node, fits, is_numbers
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults

ATTRIBUTE, VERSION = "ome", "0.5"
TYPES = ("time", "channel", "space")
"""Types of axes, in their order; one axis may be of another type, in the place of the channel."""

FAULTS = faults(
    "",
    (FAULT, "demands arrays that the metadata describe", "write them again: `nczarr pyramid SRC DST --convention ome`"),
)


def find_images(view: ZarrView) -> Iterator[Finding]:
    """Find faults of all images of a store; that it has none is one."""
    groups = [node for node in view.nodes if isinstance(node.attrs.get(ATTRIBUTE), dict)]
    if view.version != 3 or not any("multiscales" in node.attrs[ATTRIBUTE] for node in groups):
        root = view.nodes[0] if isinstance(view.nodes, list) else next(iter(view.nodes))
        text, does = f"no group has `{ATTRIBUTE}` with `multiscales`", "demands it"
        if view.version != 3:
            text, does = "the store is of Zarr v2", "demands Zarr v3"
        yield root.at(FAULT, root.attrs_pointer, text)._replace(does=does)
        return
    for node in groups:
        members = node.attrs[ATTRIBUTE]
        if "multiscales" in members and members.get("version") != VERSION:  # ome-zarr-py 0.18 gives `labels` none
            text = f"`version` of `{node.path}` is `{members.get('version')}`"
            yield node.at_attribute(FAULT, f"{ATTRIBUTE}/version", text)._replace(does=f"demands `{VERSION}`")
        images = members.get("multiscales", [])
        if not isinstance(images, list):
            yield node.at_attribute(FAULT, f"{ATTRIBUTE}/multiscales", f"`multiscales` of `{node.path}` is no list")
            continue
        for place, image in enumerate(images):
            pointer = f"{ATTRIBUTE}/multiscales/{place}"
            for text, does in _find_faults(node, image):
                yield node.at_attribute(FAULT, pointer, f"image {place} of `{node.path}` {text}")._replace(does=does)


def _find_faults(node: StoreNode, image: Any) -> Iterator[tuple[str, str]]:
    """Yield the faults of one image: what is wrong, and what is demanded."""
    axes = image.get("axes") if isinstance(image, dict) else None
    if (
        not isinstance(image, dict)
        or not isinstance(axes, list)
        or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in axes)
    ):
        yield "has no list `axes` with names", "demands them"
        return
    names = [one["name"] for one in axes]
    kinds = [one.get("type") for one in axes]
    places = [TYPES.index(kind) if kind in TYPES else 1 for kind in kinds]
    if len(set(names)) < len(names):
        yield f"has the axes {', '.join(names)}", "demands different names"
    if not 2 <= len(axes) <= 5 or not 2 <= kinds.count("space") <= 3 or max(map(places.count, (0, 1))) > 1:
        text = f"has axes of the types {', '.join(map(str, kinds))}"
        yield text, "demands 2 or 3 axes of space, and at most one of time and one of channel or another type"
    elif places != sorted(places):
        yield f"has axes in the order {', '.join(map(str, kinds))}", "demands time, channel, space"
    datasets = image.get("datasets")
    if not isinstance(datasets, list) or not datasets:
        yield "has no `datasets`", "demands a list with the largest array first"
        return
    first: tuple[StoreNode, list[float]] | None = None
    for dataset in datasets:
        path = dataset.get("path") if isinstance(dataset, dict) else None
        array = find_node(node, path) if isinstance(path, str) else None
        if array is None or not array.is_array:
            yield f"has the path `{path}`", "demands an array there"
            continue
        scale, fault = _read_scale(dataset, len(axes))
        if fault:
            yield (
                f"has at `{path}` {fault}",
                "demands one `scale` with a positive number for each axis, then at most one `translation`",
            )
            continue
        yield from _compare(array, names, scale, first)
        first = first or (array, scale)


def _read_scale(dataset: dict[str, Any], rank: int) -> tuple[list[float], str]:
    """Return the scale of a dataset, and what is wrong with its transformations; an empty text for nothing."""
    transformations = dataset.get("coordinateTransformations")
    known = [one for one in transformations if isinstance(one, dict)] if isinstance(transformations, list) else []
    kinds = [one.get("type") for one in known]
    if kinds not in (["scale"], ["scale", "translation"]):
        return [], f"the transformations {', '.join(map(str, kinds)) or 'none'}"
    for one in known:
        value: Any = one.get(str(one["type"]))
        if not is_numbers(value) or len(value) != rank:
            return [], f"a `{one['type']}` that is no list of {rank} numbers"
    scale = [float(number) for number in known[0]["scale"]]
    return scale, "" if all(number > 0 for number in scale) else f"the scale {scale}"


def _compare(
    array: StoreNode, names: list[str], scale: list[float], first: tuple[StoreNode, list[float]] | None
) -> Iterator[tuple[str, str]]:
    """Yield how an array differs from its metadata, and from the first one."""
    shape = array.shape or []
    if len(shape) != len(names):
        yield f"has {len(names)} axes, and `{array.path}` {len(shape)}", "demands as many"
        return
    dimensions = array.meta.get("dimension_names")
    if isinstance(dimensions, list) and dimensions != names:
        shown = ", ".join(map(str, dimensions))
        yield f"has the axes {', '.join(names)}, and `{array.path}` the dimensions {shown}", "demands the same names"
    if first is None:
        return
    if array.meta.get("data_type") != first[0].meta.get("data_type"):
        yield f"has arrays of different types, `{first[0].path}` and `{array.path}`", "demands one type"
    ratios = [one / other for one, other in zip(scale, first[1], strict=True)]
    if not fits(shape, first[0].shape or [], ratios):
        text = f"has the scale {scale} and `{array.path}` the shape {shape}, beside {first[1]} and {first[0].shape}"
        yield text, "demands arrays over the same range"


PEER = Peer("ome", "OME-Zarr", VERSION, FAULTS, (find_images,), ZarrView)
