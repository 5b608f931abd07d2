"""`zarr3-2019`: a hierarchy of the draft → `Unchecked`, with our extension in the root or without."""

from __future__ import annotations

from nczarr.diagnostics import Report
from nczarr.formats.zarr3_2019 import keys
from nczarr.formats.zarr3_2019.nodes import NodeDocuments
from nczarr.formats.zarr3_2019.reading import Version2019
from nczarr.hierarchy import extended, plain
from nczarr.options import Options
from nczarr.passes.checked import Foreign, Unchecked
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Whether the root has a document, or any node below `meta/`."""
    if any(store.get(keys.document_key("/", kind)) is not None for kind in keys.KINDS):
        return True
    return store.listed and any(keys.node_of(key) is not None for key in store.keys(keys.META))


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    version = Version2019(NodeDocuments(store, report, options))
    unchecked = extended.read(version) if version.is_extended() else plain.read(version)
    if version.documents.refused:
        return None
    for path, fqn in version.fqns().items():
        foreign = version.foreign(path[1:] + "/" if path != "/" else "")
        if foreign != Foreign():
            unchecked.foreign[fqn] = foreign
    return unchecked
