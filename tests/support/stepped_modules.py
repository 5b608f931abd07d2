"""Modules that processes of `stepped` share: imported once, by the server that forks them."""

import contextlib
import gc
import importlib
import pkgutil

import nczarr
from nczarr.plugins.icechunk.library import load_library
from nczarr.stores.url import MissingProtocolError

SKIPPED = (
    *(
        "nczarr.plugins.serve",
        "nczarr.plugins.xarray",
        "nczarr.plugins.zarr_python",
        "nczarr.testing",
        "nczarr.__main__",
        "nczarr.plugins.dask.cluster",
    ),
    "nczarr.plugins.icechunk",  # their library has threads, which a fork does not copy
)

LIBRARIES = ("netCDF4", "h5py", "pandas", "pyarrow.parquet", "zarr", "s3fs", "aiobotocore.session")

for name in LIBRARIES:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

with contextlib.suppress(MissingProtocolError):
    load_library()

for module in pkgutil.walk_packages(nczarr.__path__, "nczarr."):
    if not module.name.startswith(SKIPPED):
        try:
            importlib.import_module(module.name)
        except ImportError:  # of a library that is not installed
            continue

gc.freeze()  # a collection in a forked process would copy their pages
