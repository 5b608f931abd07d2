"""`zarr3`: any pure Zarr v3 store → `Unchecked`, consolidated or not."""

from __future__ import annotations

from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core import read_zarr
from nczarr.formats.zarr.v3 import DOCUMENT
from nczarr.formats.zarr.v3.reading import Version3
from nczarr.json.documents import Documents
from nczarr.options import Options
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Whether the root has a `zarr.json`. A superblock in it makes the store one of `nczarr3`."""
    if store.get(DOCUMENT) is None:
        return False
    return Version3(Documents(store, Report(), Options())).hidden("", "superblock")[0] is None


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    return read_zarr.read(Version3(Documents(store, report, options)))
