"""`zarr2`: any pure Zarr v2 store → `Unchecked`, consolidated or not."""

from __future__ import annotations

from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core import read_zarr
from nczarr.formats.zarr.v2.reading import Version2
from nczarr.json.documents import Documents
from nczarr.options import Options
from nczarr.stores.base import Store

ROOTS = (".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczarr")
"""Documents of which the root of a store of this version has one."""


def holds(store: Store) -> bool:
    """Whether a store is of Zarr v2, by the documents of its root.

    A superblock makes it one of `nczarr`, which stands before this format in the table.
    """
    if store.get("zarr.json") is not None:
        return False
    return any(store.get(key) is not None for key in ROOTS)


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    return read_zarr.read(Version2(Documents(store, report, options)))
