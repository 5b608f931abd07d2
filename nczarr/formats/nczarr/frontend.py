"""`nczarr`: a store with netCDF-C's metadata, of any of its four generations, → `Unchecked`; our extension is used."""

from __future__ import annotations

from nczarr.diagnostics import Report
from nczarr.formats.zarr2 import frontend as zarr2
from nczarr.formats.zarr2.reading import Version2
from nczarr.hierarchy import extended
from nczarr.hierarchy.documents import Documents
from nczarr.options import Options
from nczarr.passes.checked import Unchecked
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Whether a store is of Zarr v2 and has a superblock, in whatever place its generation puts it."""
    if not zarr2.holds(store):
        return False
    version = Version2(Documents(store, Report(), Options()))
    return version.hidden("", "superblock")[0] is not None


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """The dataset of a store. Reports what cannot be read; raises OSError."""
    return extended.read(Version2(Documents(store, report, options), netcdf=True))
