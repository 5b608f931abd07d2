"""Modules that processes of `stepped` share: imported once, by the server that forks them."""

import importlib
import pkgutil

import nczarr

SKIPPED = (
    *(
        "nczarr.serve",
        "nczarr.xarray",
        "nczarr.zarr_python",
        "nczarr.testing",
        "nczarr.__main__",
        "nczarr.link.cluster",
    ),
    *("nczarr.stores.repository", "nczarr.formats.icechunk"),  # their library has threads, which a fork does not copy
)

for module in pkgutil.walk_packages(nczarr.__path__, "nczarr."):
    if not module.name.startswith(SKIPPED):
        try:
            importlib.import_module(module.name)
        except ImportError:  # of a library that is not installed
            continue
