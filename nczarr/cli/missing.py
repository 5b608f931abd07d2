"""Diagnostics for libraries that are not installed."""

from __future__ import annotations

import sys

from nczarr.diagnostics.report import Diagnostic, Severity

EXTRAS = {
    "aiohttp": "remote",
    "awkward": "ragged",
    "dask": "dask",
    "distributed": "dask",
    "fsspec": "remote",
    "google": "ncstream",
    "h5py": "ragged",
    "icechunk": "icechunk",
    "jinja2": "references",
    "netCDF4": "netcdf",
    "pyarrow": "references",
    "s3fs": "remote",
    "shtab": "completion",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""Package extra that installs a module."""

DISTRIBUTIONS = {"antlr4": "antlr4-python3-runtime", "google": "protobuf", "yaml": "pyyaml", "zlib_ng": "zlib-ng"}
"""Package names that differ from their module."""


def missing(error: ImportError) -> Diagnostic | None:
    """Return the diagnostic for a missing library; None if the import failed for another reason."""
    remedy = getattr(error, "remedy", "")
    if remedy:  # stores/connection.py knows which protocol asked
        return _diagnostic(str(error), remedy)
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not module:
        return None
    if module == "nczarr" or module in sys.stdlib_module_names:
        return None
    library = DISTRIBUTIONS.get(module, module)
    requirement = f"'nczarr[{EXTRAS[module]}]'" if module in EXTRAS else library
    return _diagnostic(f"this needs `{library}`, which is not installed", f"run `pip install {requirement}`")


def _diagnostic(text: str, remedy: str) -> Diagnostic:
    return Diagnostic("missing-library", Severity.ERROR, text, helps=(remedy,))
