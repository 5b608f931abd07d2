"""`zarr3-2019`: a hierarchy of the draft → `Unchecked`, with our extension in the root or without."""

from __future__ import annotations

from nczarr.check.checked import Foreign, Unchecked
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core import read_zarr
from nczarr.formats.zarr.draft2019 import keys
from nczarr.formats.zarr.draft2019.nodes import NodeDocuments
from nczarr.formats.zarr.draft2019.reading import Version2019
from nczarr.formats.zarr.nczarr import read_nczarr
from nczarr.options import Options
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Whether the root has a document, or any node below `meta/`."""
    if any(store.get(keys.document_key("/", kind)) is not None for kind in keys.KINDS):
        return True
    return store.listed and any(keys.node_of(key) is not None for key in store.keys(keys.META))


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    version = Version2019(NodeDocuments(store, report, options))
    unchecked = read_nczarr.read(version) if version.is_extended() else read_zarr.read(version)
    if version.documents.refused:
        return None
    for path, fqn in version.fqns().items():
        foreign = version.foreign(path[1:] + "/" if path != "/" else "")
        if foreign != Foreign():
            unchecked.foreign[fqn] = foreign
    return unchecked
