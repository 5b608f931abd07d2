"""`nczarr`: a compiler for array data models. Public names are loaded on first use, so that `import nczarr` is fast."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from types import ModuleType

    from nczarr.api import awkward0 as awkward0
    from nczarr.api import ncstream as ncstream
    from nczarr.api import refs as refs
    from nczarr.api import zarr3_2019 as zarr3_2019
    from nczarr.api.append import append
    from nczarr.api.builder import DatasetBuilder
    from nczarr.api.combine import combine
    from nczarr.api.compare import check, diff, digest
    from nczarr.api.convert import convert, write
    from nczarr.api.edit import edit
    from nczarr.api.handle import DatasetHandle, from_cdl, from_notation
    from nczarr.api.handle import open_dataset as open  # noqa: A004
    from nczarr.api.info import info
    from nczarr.api.migrate import migrate
    from nczarr.api.node_handles import DimensionHandle, GroupHandle, VariableHandle
    from nczarr.api.rechunk import rechunk
    from nczarr.api.reformat import reformat
    from nczarr.api.xarray_objects import from_xarray
    from nczarr.diagnostics.report import CompileError, DataWarning, Diagnostic
    from nczarr.operations.compare.difference import Difference
    from nczarr.plan.plans import Conversion
    from nczarr.plugins import testing as testing
    from nczarr.plugins import virtualizarr as virtualizarr
    from nczarr.plugins.zarr_python.open import zarr_store

_PUBLIC = {
    "CompileError": ("nczarr.diagnostics.report", "CompileError"),
    "Conversion": ("nczarr.plan.plans", "Conversion"),
    "DataWarning": ("nczarr.diagnostics.report", "DataWarning"),
    "DatasetBuilder": ("nczarr.api.builder", "DatasetBuilder"),
    "DatasetHandle": ("nczarr.api.handle", "DatasetHandle"),
    "DimensionHandle": ("nczarr.api.node_handles", "DimensionHandle"),
    "Difference": ("nczarr.operations.compare.difference", "Difference"),
    "append": ("nczarr.api.append", "append"),
    "check": ("nczarr.api.compare", "check"),
    "combine": ("nczarr.api.combine", "combine"),
    "convert": ("nczarr.api.convert", "convert"),
    "diff": ("nczarr.api.compare", "diff"),
    "digest": ("nczarr.api.compare", "digest"),
    "Diagnostic": ("nczarr.diagnostics.report", "Diagnostic"),
    "GroupHandle": ("nczarr.api.node_handles", "GroupHandle"),
    "VariableHandle": ("nczarr.api.node_handles", "VariableHandle"),
    "edit": ("nczarr.api.edit", "edit"),
    "from_cdl": ("nczarr.api.handle", "from_cdl"),
    "from_notation": ("nczarr.api.handle", "from_notation"),
    "from_xarray": ("nczarr.api.xarray_objects", "from_xarray"),
    "info": ("nczarr.api.info", "info"),
    "migrate": ("nczarr.api.migrate", "migrate"),
    "open": ("nczarr.api.handle", "open_dataset"),
    "rechunk": ("nczarr.api.rechunk", "rechunk"),
    "reformat": ("nczarr.api.reformat", "reformat"),
    "write": ("nczarr.api.convert", "write"),
    "zarr_store": ("nczarr.plugins.zarr_python.open", "zarr_store"),
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
    "check",
    "combine",
    "convert",
    "diff",
    "digest",
    "edit",
    "from_cdl",
    "from_notation",
    "from_xarray",
    "info",
    "migrate",
    "open",
    "rechunk",
    "reformat",
    "write",
    "zarr_store",
]


_DOORS = {
    "awkward0": "nczarr.api.awkward0",
    "ncstream": "nczarr.api.ncstream",
    "refs": "nczarr.api.refs",
    "testing": "nczarr.plugins.testing",
    "virtualizarr": "nczarr.plugins.virtualizarr",
    "zarr3_2019": "nczarr.api.zarr3_2019",
}
"""Public modules by name: attributes, and targets of `import nczarr.refs` and the like."""


class _DoorFinder:
    """Finder of public modules, and their loader: `import nczarr.refs` returns the module that the attribute is."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return how to load a public module, None for any other."""
        package, _, name = fullname.rpartition(".")
        loader: Any = self
        return ModuleSpec(fullname, loader) if package == __name__ and name in _DOORS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself, loaded."""
        module = import_module(_DOORS[spec.name.rpartition(".")[2]])
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


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _DOORS:
        return import_module(_DOORS[name])
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nczarr' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """Return public names, loaded or not."""
    return sorted({*globals(), *_PUBLIC, *_DOORS})
