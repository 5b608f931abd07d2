"""`nczarr`: a compiler for array data models. Public names are loaded on first use, so that `import nczarr` is fast."""

from __future__ import annotations

import sys
from functools import cache as _cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from types import ModuleType

    from nczarr.api import refs as refs
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
    from nczarr.api.reformat import reformat as reformat
    from nczarr.api.xarray_objects import from_xarray as from_xarray
    from nczarr.diagnostics.report import CompileError as CompileError
    from nczarr.diagnostics.report import DataWarning as DataWarning
    from nczarr.diagnostics.report import Diagnostic as Diagnostic
    from nczarr.operations.compare.difference import Difference as Difference
    from nczarr.plan.plans import Conversion as Conversion
    from nczarr.plugins import *  # noqa: F403

_PLACES = {
    "CompileError": "nczarr.diagnostics.report:CompileError",
    "Conversion": "nczarr.plan.plans:Conversion",
    "DataWarning": "nczarr.diagnostics.report:DataWarning",
    "DatasetBuilder": "nczarr.api.builder:DatasetBuilder",
    "DatasetHandle": "nczarr.api.handle:DatasetHandle",
    "DimensionHandle": "nczarr.api.node_handles:DimensionHandle",
    "Difference": "nczarr.operations.compare.difference:Difference",
    "check": "nczarr.api.compare:check",
    "convert": "nczarr.api.convert:convert",
    "diff": "nczarr.api.compare:diff",
    "digest": "nczarr.api.compare:digest",
    "Diagnostic": "nczarr.diagnostics.report:Diagnostic",
    "GroupHandle": "nczarr.api.node_handles:GroupHandle",
    "VariableHandle": "nczarr.api.node_handles:VariableHandle",
    "from_cdl": "nczarr.api.handle:from_cdl",
    "from_notation": "nczarr.api.handle:from_notation",
    "from_xarray": "nczarr.api.xarray_objects:from_xarray",
    "info": "nczarr.api.info:info",
    "open": "nczarr.api.handle:open_dataset",
    "rechunk": "nczarr.api.rechunk:rechunk",
    "reformat": "nczarr.api.reformat:reformat",
    "write": "nczarr.api.convert:write",
    "refs": "nczarr.api.refs",
}
"""Public names of the compiler by `module:attribute`, and its public modules, targets of `import nczarr.refs`."""


class _DoorFinder:
    """Finder of public modules, and their loader: `import nczarr.refs` returns the module that the attribute is."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return how to load a public module, None for any other."""
        package, _, name = fullname.rpartition(".")
        loader: Any = self
        place = _place_of(name) if package == __name__ and name != "plugins" else None
        return None if place is None or ":" in place else ModuleSpec(fullname, loader)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself, loaded."""
        module = import_module(_place_of(spec.name.rpartition(".")[2]) or "")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: it keeps its own place of origin."""
        spec = module.__spec__
        module.__spec__ = None if spec is None else spec.loader_state


sys.meta_path.append(_DoorFinder())


class _Package(type(sys)):  # type: ignore[misc]
    """Class of this module: `check` is the function, also once the folder of that name was imported."""

    @property
    def check(self) -> Any:
        """The public function."""
        return __getattr__("check")

    @check.setter
    def check(self, folder: object) -> None:
        """Leave the function in place when the import system sets the folder."""


sys.modules[__name__].__class__ = _Package


def _place_of(name: str) -> str | None:
    """Return where a public name is, `module` or `module:attribute`; None for any other name."""
    if name in _PLACES:
        return _PLACES[name]
    if name.startswith("_") or name in _list_modules():  # `from nczarr import names` asks for an attribute first
        return None
    from nczarr.plugin_index import find_place

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
    from nczarr.plugin_index import list_own

    return sorted({*globals(), *_PLACES, *(name for name in list_own("name") if "." not in name)})
