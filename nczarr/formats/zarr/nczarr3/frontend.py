"""`nczarr3`: a Zarr v3 store with the hidden attributes → `Unchecked`."""

from __future__ import annotations

from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.nczarr import read_nczarr
from nczarr.formats.zarr.v3.reading import Version3
from nczarr.json.documents import Documents
from nczarr.options import Options
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Whether the attributes of the root's `zarr.json` have a superblock."""
    return Version3(Documents(store, Report(), Options())).hidden("", "superblock")[0] is not None


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    return read_nczarr.read(Version3(Documents(store, report, options)))
