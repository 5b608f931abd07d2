"""`nczarr`: a compiler for array data models.

The public names live here and are loaded on first use, so that `import nczarr` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nczarr.builder import DatasetBuilder
    from nczarr.compare.difference import Difference
    from nczarr.compare.doors import diff, digest
    from nczarr.conversion import Conversion
    from nczarr.conversions import convert, write
    from nczarr.diagnostics import CompileError, Diagnostic
    from nczarr.handle import DatasetHandle, VariableHandle, from_cdl, from_notation
    from nczarr.handle import open_dataset as open  # noqa: A004

_PUBLIC = {
    "CompileError": ("nczarr.diagnostics", "CompileError"),
    "Conversion": ("nczarr.conversion", "Conversion"),
    "DatasetBuilder": ("nczarr.builder", "DatasetBuilder"),
    "DatasetHandle": ("nczarr.handle", "DatasetHandle"),
    "Difference": ("nczarr.compare.difference", "Difference"),
    "convert": ("nczarr.conversions", "convert"),
    "diff": ("nczarr.compare.doors", "diff"),
    "digest": ("nczarr.compare.doors", "digest"),
    "Diagnostic": ("nczarr.diagnostics", "Diagnostic"),
    "VariableHandle": ("nczarr.handle", "VariableHandle"),
    "from_cdl": ("nczarr.handle", "from_cdl"),
    "from_notation": ("nczarr.handle", "from_notation"),
    "open": ("nczarr.handle", "open_dataset"),
    "write": ("nczarr.conversions", "write"),
}

__all__ = [
    "CompileError",
    "Conversion",
    "DatasetBuilder",
    "DatasetHandle",
    "Diagnostic",
    "Difference",
    "VariableHandle",
    "convert",
    "diff",
    "digest",
    "from_cdl",
    "from_notation",
    "open",
    "write",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nczarr' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PUBLIC[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, loaded or not."""
    return sorted([*globals(), *_PUBLIC])
