"""`nczarr`: a compiler for array data models. Public names are loaded on first use, so that `import nczarr` is fast."""

from __future__ import annotations

from functools import cache as _cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nczarr.api.builder import DatasetBuilder as DatasetBuilder
    from nczarr.api.compare import check as check
    from nczarr.api.compare import diff as diff
    from nczarr.api.compare import digest as digest
    from nczarr.api.convert import convert as convert
    from nczarr.api.convert import write as write
    from nczarr.api.handle import DatasetHandle as DatasetHandle
    from nczarr.api.handle import from_cdl as from_cdl
    from nczarr.api.handle import from_notation as from_notation
    from nczarr.api.handle import open_dataset as open  # noqa: A004, F401
    from nczarr.api.info import info as info
    from nczarr.api.node_handles import DimensionHandle as DimensionHandle
    from nczarr.api.node_handles import GroupHandle as GroupHandle
    from nczarr.api.node_handles import VariableHandle as VariableHandle
    from nczarr.api.rechunk import rechunk as rechunk
    from nczarr.api.tree import parse as parse
    from nczarr.diagnostics.report import CompileError as CompileError
    from nczarr.diagnostics.report import DataWarning as DataWarning
    from nczarr.diagnostics.report import Diagnostic as Diagnostic
    from nczarr.pipeline.compare.difference import Difference as Difference
    from nczarr.plan.plans import Conversion as Conversion
    from nczarr.plugins import *  # noqa: F403

_PLACES = {
    "CompileError": "nczarr.diagnostics.report:CompileError",
    "Conversion": "nczarr.plan.plans:Conversion",
    "DataWarning": "nczarr.diagnostics.report:DataWarning",
    "DatasetBuilder": "nczarr.api.builder:DatasetBuilder",
    "DatasetHandle": "nczarr.api.handle:DatasetHandle",
    "DimensionHandle": "nczarr.api.node_handles:DimensionHandle",
    "Difference": "nczarr.pipeline.compare.difference:Difference",
    "check": "nczarr.api.compare:check",
    "convert": "nczarr.api.convert:convert",
    "diff": "nczarr.api.compare:diff",
    "digest": "nczarr.api.compare:digest",
    "Diagnostic": "nczarr.diagnostics.report:Diagnostic",
    "GroupHandle": "nczarr.api.node_handles:GroupHandle",
    "VariableHandle": "nczarr.api.node_handles:VariableHandle",
    "from_cdl": "nczarr.api.handle:from_cdl",
    "from_notation": "nczarr.api.handle:from_notation",
    "info": "nczarr.api.info:info",
    "open": "nczarr.api.handle:open_dataset",
    "parse": "nczarr.api.tree:parse",
    "rechunk": "nczarr.api.rechunk:rechunk",
    "write": "nczarr.api.convert:write",
}
"""Public names of the compiler by `module:attribute`, and its public modules."""


def _list_public_folders() -> list[str]:
    """Return the folders `public` of plugins: a file for each public module (`import nczarr.refs`)."""
    import os

    package = os.path.dirname(__file__)
    plugins = os.listdir(f"{package}/plugins") if os.path.isdir(f"{package}/plugins") else []
    folders = [f"{package}/plugins/{name}/public" for name in sorted(plugins)]
    return [folder for folder in folders if os.path.isdir(folder)]


def _place_of(name: str) -> str | None:
    """Return where a public name is, `module` or `module:attribute`; None for any other name."""
    if name in _PLACES:
        return _PLACES[name]
    if name.startswith("_") or name in _list_modules():  # `from nczarr import names` asks for an attribute first
        return None
    from nczarr.names.plugin_index import find_place

    return find_place("name", name)


@_cache
def _list_modules() -> frozenset[str]:
    """Return the names of the modules and folders of the package."""
    import os

    return frozenset(name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__)))


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name == "__all__":
        return sorted(name for name in __dir__() if ":" in (_place_of(name) or ""))
    place = _place_of(name)
    if place is None:
        raise AttributeError(f"module 'nczarr' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    if not attribute:
        return import_module(module)
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """Return public names, loaded or not."""
    from nczarr.names.plugin_index import list_own

    own = (name for name in globals() if name.startswith("__"))
    return sorted({"ast", *own, *_PLACES, *(name for name in list_own("name") if "." not in name)})


__path__.extend(_list_public_folders())  # noqa: F405
