"""Names of the compiler for plugins: the one module that they import from it.

A name stays, with its meaning, as long as `SDK_VERSION` does. Everything is loaded
on first use, so that a row costs nothing. The guide "Write a plugin" builds a format
with them; each name has its own documentation where it is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nczarr.names.records import NamedTuple

SDK_VERSION = 3
"""Version of the names below: it grows when one is removed, or means something else."""

PLACES: dict[str, tuple[str, ...]] = {
    # rows
    "nczarr.names.plugin_index": (
        *("CommandRow", "DeclarationRow", "EditRow", "FactForm", "LocationRow", "Plugin", "ProtocolRow"),
    ),
    "nczarr.registry": (
        *("ALL_ATOMIC", "CLASSIC_ATOMIC", "PURE_ZARR", "Arrays", "Capabilities", "ChunkKeys", "Format"),
        *("Display", "ReadingTraits", "RepresentedStore", "TargetTraits"),
    ),
    "nczarr.names.records": ("freeze", "frozen"),
    # diagnostics
    "nczarr.diagnostics.report": (
        *("CompileError", "DataWarning", "Diagnostic", "Label", "Report", "Severity", "Source", "Span"),
        *("UNREAD", "hint", "suggest"),
    ),
    # the tree
    "nczarr.ast": (
        *("ATOMIC", "Attribute", "Codec", "CompoundType", "Constant", "Dataset", "Dimension", "EnumConstant"),
        *("EnumType", "Field", "Group", "Node", "OpaqueType"),
        *("Storage", "TypeName", "UserType", "Variable", "VlenType"),
    ),
    "nczarr.ast.dataset": ("building", "groups", "map_groups"),
    "nczarr": ("names",),
    # analysis
    "nczarr.semantics.checked": ("Checked", "Namesake", "Omission", "Tables", "Unchecked", "tables"),
    "nczarr.semantics": ("check",),
    # values
    "nczarr.arrays.lazy_numpy": ("NDArray", "np"),
    "nczarr.arrays.regions": ("Index", "Region", "Selection", "grid_of", "lengths_of"),
    "nczarr.arrays.sources.source": (
        *("ArraySource", "Descr", "Layout", "Parts", "itemsize", "little_descr", "numpy_dtype"),
    ),
    "nczarr.arrays.sources.memory": ("ArrayInMemory",),
    "nczarr.arrays.values.parts": (
        *("NUMPY", "Part", "PartTree", "Types", "descr", "is_fixed", "part_tree", "parts", "size"),
    ),
    "nczarr.arrays.codecs.table": ("CodecKind",),
    "nczarr.pipeline.select.indexing": ("read_outer",),
    # options, plans and runs
    "nczarr.options": (
        *("ARGUMENTS", "CONVERTING", "FOLLOWING", "OUTPUT", "READING", "REPORTING", "RUN", "SELECTING", "SOURCE"),
        *("TARGET", "Following", "LayoutOptions", "Option", "Options", "ReadOptions", "RunOptions"),
        *("TargetOptions", "TextOptions"),
    ),
    "nczarr.plan.plans": ("Conversion", "FilePlan", "Loss", "StorePlan", "StreamPlan"),
    "nczarr.pipeline": ("phases",),
    "nczarr.pipeline.check_request": ("CheckRequest", "Convention", "ReaderCheck", "SourceComparison"),
    "nczarr.pipeline.endpoints": ("detect_format",),
    "nczarr.stores.base": ("Store",),
    "nczarr.stores.url": ("Location", "LocationKind", "Repository"),
    "nczarr.diagnostics.secrets": ("StorageOptions", "show"),
    "nczarr.link.executor": ("Executor", "ExecutorKind"),
    # verbs
    "nczarr.api.builder.foreign_arrays": ("LazyArrays",),
    "nczarr.api.handle": ("DatasetHandle", "ObjectReader", "PreparedObject"),
    "nczarr.cli": ("DONE", "FAULTY", "complain", "misuse", "write_product"),
    "nczarr.cli.parser": ("Command", "RunWrapper"),
    "nczarr.cli.shared": ("Messages",),
    "nczarr.cli.options": ("options_of", "read_input"),
}
"""Names of the compiler that plugins may use, by the module that defines them."""

if TYPE_CHECKING:  # by module, as above; isort would give each name a statement of its own
    # isort: off
    from nczarr import names as names
    from nczarr.api.builder.foreign_arrays import LazyArrays as LazyArrays
    from nczarr.api.handle import DatasetHandle as DatasetHandle, ObjectReader as ObjectReader
    from nczarr.api.handle import PreparedObject as PreparedObject
    from nczarr.arrays.codecs.table import CodecKind as CodecKind
    from nczarr.arrays.lazy_numpy import NDArray as NDArray, np as np
    from nczarr.arrays.regions import Index as Index, Region as Region, Selection as Selection, grid_of as grid_of
    from nczarr.arrays.regions import lengths_of as lengths_of
    from nczarr.arrays.sources.memory import ArrayInMemory as ArrayInMemory
    from nczarr.arrays.sources.source import ArraySource as ArraySource, Descr as Descr, Layout as Layout
    from nczarr.arrays.sources.source import Parts as Parts, itemsize as itemsize, little_descr as little_descr
    from nczarr.arrays.sources.source import numpy_dtype as numpy_dtype
    from nczarr.arrays.values.parts import NUMPY as NUMPY, Part as Part, PartTree as PartTree, Types as Types
    from nczarr.arrays.values.parts import descr as descr, is_fixed as is_fixed, part_tree as part_tree, parts as parts
    from nczarr.arrays.values.parts import size as size
    from nczarr.ast import ATOMIC as ATOMIC, Attribute as Attribute, Codec as Codec, CompoundType as CompoundType
    from nczarr.ast import Constant as Constant, Dataset as Dataset, Dimension as Dimension
    from nczarr.ast import EnumConstant as EnumConstant, EnumType as EnumType, Field as Field, Group as Group
    from nczarr.ast import Node as Node, OpaqueType as OpaqueType, Storage as Storage, TypeName as TypeName
    from nczarr.ast import UserType as UserType, Variable as Variable, VlenType as VlenType
    from nczarr.ast.dataset import building as building, groups as groups, map_groups as map_groups
    from nczarr.names.records import freeze as freeze, frozen as frozen
    from nczarr.cli import DONE as DONE, FAULTY as FAULTY, complain as complain, misuse as misuse
    from nczarr.cli import write_product as write_product
    from nczarr.cli.options import options_of as options_of, read_input as read_input
    from nczarr.cli.parser import Command as Command, RunWrapper as RunWrapper
    from nczarr.cli.shared import Messages as Messages
    from nczarr.diagnostics.report import CompileError as CompileError, DataWarning as DataWarning
    from nczarr.diagnostics.report import Diagnostic as Diagnostic, Label as Label, Report as Report
    from nczarr.diagnostics.report import Severity as Severity, Source as Source, Span as Span, UNREAD as UNREAD
    from nczarr.diagnostics.report import hint as hint, suggest as suggest
    from nczarr.diagnostics.secrets import StorageOptions as StorageOptions, show as show
    from nczarr.link.executor import Executor as Executor, ExecutorKind as ExecutorKind
    from nczarr.names.plugin_index import CommandRow as CommandRow, DeclarationRow as DeclarationRow, EditRow as EditRow
    from nczarr.names.plugin_index import FactForm as FactForm, LocationRow as LocationRow, Plugin as Plugin
    from nczarr.names.plugin_index import ProtocolRow as ProtocolRow
    from nczarr.options import ARGUMENTS as ARGUMENTS, CONVERTING as CONVERTING, FOLLOWING as FOLLOWING
    from nczarr.options import OUTPUT as OUTPUT, READING as READING, REPORTING as REPORTING, RUN as RUN
    from nczarr.options import SELECTING as SELECTING, SOURCE as SOURCE, TARGET as TARGET, Following as Following
    from nczarr.options import LayoutOptions as LayoutOptions, Option as Option, Options as Options
    from nczarr.options import ReadOptions as ReadOptions, RunOptions as RunOptions, TargetOptions as TargetOptions
    from nczarr.options import TextOptions as TextOptions
    from nczarr.pipeline import phases as phases
    from nczarr.pipeline.check_request import CheckRequest as CheckRequest, Convention as Convention
    from nczarr.pipeline.check_request import ReaderCheck as ReaderCheck, SourceComparison as SourceComparison
    from nczarr.pipeline.endpoints import detect_format as detect_format
    from nczarr.pipeline.select.indexing import read_outer as read_outer
    from nczarr.plan.plans import Conversion as Conversion, FilePlan as FilePlan, Loss as Loss, StorePlan as StorePlan
    from nczarr.plan.plans import StreamPlan as StreamPlan
    from nczarr.registry import ALL_ATOMIC as ALL_ATOMIC, CLASSIC_ATOMIC as CLASSIC_ATOMIC, PURE_ZARR as PURE_ZARR
    from nczarr.registry import Arrays as Arrays, Capabilities as Capabilities, ChunkKeys as ChunkKeys, Format as Format
    from nczarr.registry import Display as Display, ReadingTraits as ReadingTraits, RepresentedStore as RepresentedStore
    from nczarr.registry import TargetTraits as TargetTraits
    from nczarr.semantics import check as check
    from nczarr.semantics.checked import Checked as Checked, Namesake as Namesake, Omission as Omission
    from nczarr.semantics.checked import Tables as Tables, Unchecked as Unchecked, tables as tables
    from nczarr.stores.base import Store as Store
    from nczarr.stores.url import Location as Location, LocationKind as LocationKind, Repository as Repository
    # isort: on

_MODULES = {name: module for module, its_names in PLACES.items() for name in its_names}


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'nczarr.sdk' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    if not hasattr(module, name):
        import_module(f"{_MODULES[name]}.{name}")  # a module of a package
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    """Return all names, loaded or not."""
    return sorted({*globals(), *_MODULES})


# ---- protocols of the server ----------------------------------------------------------------------------------------
class ProtocolRequest(NamedTuple):
    """A request for a dataset by a protocol of a plugin."""

    dataset: DatasetHandle
    """The dataset, open."""
    name: str
    """Name of its file or folder."""
    url: str
    """URL of the dataset in this protocol, as the client sees it, without its query."""
    query: Mapping[str, str]
    """First value of each parameter by lower-case name."""
    limit: int
    """Most bytes that an answer may have."""


class Reply(NamedTuple):
    """Answer of a protocol."""

    body: bytes | Iterable[bytes]
    """The answer, or its pieces, which are made while they are sent."""
    media_type: str
    """Content type, such as `text/plain; charset=utf-8`."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers."""


class RequestError(Exception):
    """A request that a protocol refuses: the client gets the status and the text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """Status of HTTP, 400 to 599."""
        self.text = text
        """Text for the client."""
