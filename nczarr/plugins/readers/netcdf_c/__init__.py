"""netCDF-C: faults with Zarr stores (nczarr-storage).

Observed with 4.9.3, 4.10.1 and the development version of August 2026, called
4.10.2 here. Where they differ, the predicates say so. Releases before 4.9.3 use
other layouts and are not judged: 4.9.0 sees any current store as pure Zarr.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.plugins.readers.documents import StoreNode
from nczarr.plugins.readers.netcdf_c import arrays, attributes, stores
from nczarr.plugins.readers.netcdf_c.stores import NetcdfView, element
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding

FAULTS = (*stores.FAULTS, *arrays.FAULTS, *attributes.FAULTS)

FIND = (*stores.FIND, *arrays.FIND, *attributes.FIND)

_INSTEAD = {fault.name: fault.instead for fault in FAULTS}


def find_hidden_members(view: NetcdfView) -> Iterator[Finding]:
    """Find groups and arrays that are stored and not listed."""
    for group in view.groups if view.nczarr else ():
        for node in group.hidden if group.home else ():
            member, old = ("arrays", "vars") if node.is_array else ("groups", "")
            if isinstance(group.home.get(member, group.home.get(old)), list):
                text = f"{member[:-1]} `{node.path}` is stored but not listed in `_nczarr_group`"
                yield group.at("hidden-member", f"/{member}", text, instead=_advise(view, node))


def _advise(view: NetcdfView, node: StoreNode) -> str:
    """Return what to do with a member that is not listed: the library fails on some that are."""
    if node.is_array and element(node.meta.get("dtype")) is None:
        return "nothing is required: netCDF-C does not support the type, and refuses the dataset if the array is listed"
    seen = {finding[:4] for find in FIND for finding in find(view)}
    revealed = NetcdfView(view.documents, node.path)
    first = [finding for find in FIND for finding in find(revealed) if finding[:4] not in seen]
    if any(finding.fault == "unknown-dtype" for finding in first):
        return "nothing is required: netCDF-C supports no group with arrays of such a type, and refuses the dataset"
    steps = [f"{finding.what}: {finding.instead or _INSTEAD[finding.fault]}" for finding in first]
    add = f"add `{node.name}` to the list"
    return f"{add}, but first mend what netCDF-C fails on then: {'; '.join(steps)}" if steps else add


PEER = Peer(
    "netcdf-c",
    "netCDF-C",
    "4.9.3, 4.10.1, and the development head of August 2026 (4.10.2)",
    FAULTS,
    (*FIND, find_hidden_members),
    NetcdfView,
    (),
    releases=("4.9", "4.10"),
)
