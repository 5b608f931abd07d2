"""Zarr's conventions CF, `proj:`, `spatial:` and `multiscales`: attributes that a store lacks, or has otherwise.

The faults are those of the specification of conventions (`zarr_conventions`) and of their first versions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from nczarr.plugins.readers import multiscales
from nczarr.plugins.readers.documents import StoreDocuments, StoreNode, ZarrView, integers
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults
from nczarr.plugins.readers.zarr_python import axes

UUIDS = {
    "77c308c7-4db2-4774-8b2d-aa37e9997db6": "CF",
    "f17cb550-5864-4468-aeb7-f3180cfb622f": "proj:",
    "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4": "spatial:",
    multiscales.UUID: multiscales.NAME,
}
"""Names of the conventions by what identifies them."""

MEMBERS = frozenset(("uuid", "schema_url", "spec_url", "name", "description"))
"""Members that an entry of `zarr_conventions` may have."""

FAULTS = faults(
    "",
    ("undeclared-convention", "must be declared in `zarr_conventions`", "convert it: `--to zarr3 --declare geo`"),
    (
        "undeclared-convention:entry",
        "demand a list of entries with `uuid`, `schema_url` or `spec_url`",
        "write a list of entries, each with the `uuid` of its convention, or remove the attribute",
    ),
    ("undeclared-convention:attributes", "demand it", "write it, or remove the entry of the convention"),
    (
        multiscales.FAULT,
        "demand levels that exist, with the lengths of their scales",
        "write the levels again: `nczarr pyramid SRC DST`, or `nczarr pyramid STORE --update` after `append`",
    ),
)


def find_entries(view: ZarrView) -> Iterator[Finding]:
    """Find entries of other forms, attributes without an entry, and entries without attributes."""
    for node in view.nodes:
        declared = node.attrs.get("zarr_conventions")
        names = set()
        if declared is not None and not isinstance(declared, list):
            text = f"`zarr_conventions` of `{node.path}` is no list"
            yield node.at_attribute("undeclared-convention:entry", "zarr_conventions", text)
            continue
        for place, entry in enumerate(declared or ()):
            where = f"zarr_conventions/{place}"
            if not isinstance(entry, dict) or not entry.keys() & {"uuid", "schema_url", "spec_url"}:
                text = f"an entry of `{node.path}` does not say of which convention it is"
                yield node.at_attribute("undeclared-convention:entry", where, text)
                continue
            for name in entry.keys() - MEMBERS:
                finding = node.at_attribute(
                    "undeclared-convention:entry", where, f"an entry of `{node.path}` has the member `{name}`"
                )
                yield finding._replace(does="know no such member")
            names.add(UUIDS.get(str(entry.get("uuid")), ""))
        for prefix in ("proj:", "spatial:"):
            first = next((name for name in node.attrs if name.startswith(prefix)), None)
            if first is not None and prefix not in names:
                text = f"`{node.path}` has `{first}`, and no entry of its convention"
                yield node.at_attribute("undeclared-convention", first, text)
        if isinstance(node.attrs.get(multiscales.NAME), dict) and multiscales.NAME not in names:
            text = f"`{node.path}` has `{multiscales.NAME}`, and no entry of its convention"
            yield node.at_attribute("undeclared-convention", multiscales.NAME, text)
        if multiscales.NAME in names:
            yield from multiscales.find_levels(node)
        if names & {"proj:", "spatial:"}:
            yield from _find_values(node, names)


def _find_values(node: StoreNode, names: set[str]) -> Iterator[Finding]:
    """Find attributes of the conventions with other values than these allow."""
    checks: dict[str, tuple[Callable[[Any], bool], str]] = {
        "proj:code": (
            lambda value: value is None or bool(re.fullmatch(r"[A-Z][A-Z0-9_]*:[0-9]+", str(value))),
            "a code such as `EPSG:4326`",
        ),
        "proj:wkt2": (lambda value: value is None or (isinstance(value, str) and "[" in value), "a text of WKT 2"),
        "proj:projjson": (lambda value: value is None or isinstance(value, dict), "an object of PROJJSON"),
        "spatial:dimensions": (
            lambda value: _is_list_of(str, value, 2, 3) and _suits_names(node, value),
            "two or three dimensions of the array",
        ),
        "spatial:bbox": (lambda value: _is_list_of(float, value, 4, 6), "4 or 6 numbers"),
        "spatial:transform": (lambda value: _is_list_of(float, value, 6), "6 numbers"),
        "spatial:transform_type": (lambda value: isinstance(value, str), "a text"),
        "spatial:registration": (lambda value: value in ("node", "pixel"), "`node` or `pixel`"),
        "spatial:shape": (
            lambda value: integers(value) is not None and _suits_shape(node, value),
            "the lengths of `spatial:dimensions`",
        ),
    }
    for name, (is_valid, demanded) in checks.items():
        if name.partition(":")[0] + ":" in names and name in node.attrs and not is_valid(node.attrs[name]):
            text = f"`{name}` of `{node.path}` is `{json.dumps(node.attrs[name])[:60]}`"
            finding = node.at_attribute("undeclared-convention:attributes", name, text)
            yield finding._replace(does=f"demand {demanded}")
    if "proj:" in names and all(node.attrs.get(name) is None for name in ("proj:code", "proj:wkt2", "proj:projjson")):
        text = f"`{node.path}` has neither `proj:code` nor `proj:wkt2` nor `proj:projjson`"
        yield node.at("undeclared-convention:attributes", "/attributes", text)._replace(does="demand one of them")
    if "spatial:" in names and node.is_array:
        is_affine = node.attrs.get("spatial:transform_type", "affine") == "affine"
        for name in ("spatial:dimensions", "spatial:transform") if is_affine else ("spatial:dimensions",):
            if name not in node.attrs:
                text = f"`{node.path}` has no `{name}`"
                yield node.at("undeclared-convention:attributes", "/attributes", text)


def _is_list_of(kind: type, value: Any, *counts: int) -> bool:
    """Return whether a value is a list of some of these lengths; integers are numbers as well."""
    kinds = (int, float) if kind is float else kind
    is_list = isinstance(value, list) and len(value) in counts
    return is_list and all(isinstance(item, kinds) and not isinstance(item, bool) for item in value)


def _suits_names(node: StoreNode, dimensions: list[str]) -> bool:
    known = axes(node)[0] if node.is_array else None
    return not isinstance(known, list) or all(name in known for name in dimensions)


def _suits_shape(node: StoreNode, lengths: list[int]) -> bool:
    known, dimensions, shape = axes(node)[0], node.attrs.get("spatial:dimensions"), node.shape
    if not node.is_array or not isinstance(known, list) or not isinstance(dimensions, list) or shape is None:
        return True
    sizes = dict(zip(known, shape, strict=False))
    return [sizes.get(name) for name in dimensions] == lengths


def declares(documents: StoreDocuments) -> bool:
    """Return whether a store is one that may declare conventions: of Zarr v3."""
    return documents.version == 3


PEER = Peer(
    "geo", "Conventions of Zarr", "version 1", FAULTS, (find_entries,), ZarrView, convention="geo", reads=declares
)
