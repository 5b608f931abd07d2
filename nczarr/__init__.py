"""`nczarr`: a compiler for array data models. Public names are loaded on first use, so that `import nczarr` is fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nczarr.api.append import append
    from nczarr.api.builder import DatasetBuilder
    from nczarr.api.compare import diff, digest
    from nczarr.api.convert import convert, write
    from nczarr.api.handle import DatasetHandle, from_cdl, from_notation
    from nczarr.api.handle import open_dataset as open  # noqa: A004
    from nczarr.api.node_handles import DimensionHandle, GroupHandle, VariableHandle
    from nczarr.api.xarray_objects import from_xarray
    from nczarr.compare.difference import Difference
    from nczarr.diagnostics.report import CompileError, DataWarning, Diagnostic
    from nczarr.plan.plans import Conversion
    from nczarr.zarr_python.open import zarr_store

_PUBLIC = {
    "CompileError": ("nczarr.diagnostics.report", "CompileError"),
    "Conversion": ("nczarr.plan.plans", "Conversion"),
    "DataWarning": ("nczarr.diagnostics.report", "DataWarning"),
    "DatasetBuilder": ("nczarr.api.builder", "DatasetBuilder"),
    "DatasetHandle": ("nczarr.api.handle", "DatasetHandle"),
    "DimensionHandle": ("nczarr.api.node_handles", "DimensionHandle"),
    "Difference": ("nczarr.compare.difference", "Difference"),
    "append": ("nczarr.api.append", "append"),
    "convert": ("nczarr.api.convert", "convert"),
    "diff": ("nczarr.api.compare", "diff"),
    "digest": ("nczarr.api.compare", "digest"),
    "Diagnostic": ("nczarr.diagnostics.report", "Diagnostic"),
    "GroupHandle": ("nczarr.api.node_handles", "GroupHandle"),
    "VariableHandle": ("nczarr.api.node_handles", "VariableHandle"),
    "from_cdl": ("nczarr.api.handle", "from_cdl"),
    "from_notation": ("nczarr.api.handle", "from_notation"),
    "from_xarray": ("nczarr.api.xarray_objects", "from_xarray"),
    "open": ("nczarr.api.handle", "open_dataset"),
    "write": ("nczarr.api.convert", "write"),
    "zarr_store": ("nczarr.zarr_python.open", "zarr_store"),
}

__all__ = [
    "CompileError",
    "Conversion",
    "DataWarning",
    "DatasetBuilder",
    "DatasetHandle",
    "Diagnostic",
    "Difference",
    "DimensionHandle",
    "GroupHandle",
    "VariableHandle",
    "append",
    "convert",
    "diff",
    "digest",
    "from_cdl",
    "from_notation",
    "from_xarray",
    "open",
    "write",
    "zarr_store",
]


_DOORS = frozenset({"awkward0", "ncstream", "refs", "testing", "virtualizarr", "zarr3_2019"})
"""Public modules, which are attributes without an import of their own."""


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _DOORS:
        from importlib import import_module

        return import_module(f"nczarr.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nczarr' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PUBLIC[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return public names, loaded or not."""
    return sorted({*globals(), *_PUBLIC, *_DOORS})
