"""`nczarr`: a store with netCDF-C's metadata (four generations) and our extension → `Unchecked`.

`nczarr3`: the same on Zarr v3.
"""

from nczarr.diagnostics.report import Report
from nczarr.formats.common.documents import DocumentCache
from nczarr.formats.zarr.core import hierarchy
from nczarr.formats.zarr.v2 import frontend as zarr2
from nczarr.formats.zarr.v2.frontend import Zarr2Reader
from nczarr.options import Options, RunOptions
from nczarr.semantics.checked import Unchecked
from nczarr.stores.base import Store


def holds(store: Store) -> bool:
    """Return whether a store is Zarr v2 with a superblock of any generation."""
    if not zarr2.holds(store):
        return False
    return Zarr2Reader(DocumentCache(store, Report(), RunOptions())).read_hidden("", "superblock")[0] is not None


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a store. Reports unreadable parts; raises OSError."""
    return hierarchy.read(Zarr2Reader(DocumentCache(store, report, options.run), netcdf=True), hidden=True)


def holds3(store: Store) -> bool:
    """Return whether the root's `zarr.json` has netCDF-C's metadata in its attributes."""
    from nczarr.formats.zarr.v3.frontend import Zarr3Reader

    return Zarr3Reader(DocumentCache(store, Report(), RunOptions())).is_netcdf


def read3(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a store on Zarr v3. Reports unreadable parts; raises OSError."""
    from nczarr.formats.zarr.v3.frontend import Zarr3Reader

    reader = Zarr3Reader(DocumentCache(store, report, options.run))
    return hierarchy.read(reader, hidden=True) if reader.has_valid_root() else None
