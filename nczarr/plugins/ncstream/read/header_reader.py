"""Dataset of a header: tree, variable shapes, fill values, and the values that it contains.

The tree is the model in the header (written by `header_writer.py`), else
derived from its declarations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.decoded_parts import in_one_piece
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Parts, itemsize
from nczarr.arrays.values.parts import descr, is_fixed, parts, size
from nczarr.ast import ATOMIC, Dimension, Variable
from nczarr.ast.types import CompoundType, sound_types
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.options import Options
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read import header_tree
from nczarr.plugins.ncstream.read.decode import make_unsigned
from nczarr.plugins.ncstream.read.headers import find_named, serialize_alone
from nczarr.plugins.ncstream.wire.element_types import NUMPY, Declared, Definitions, dtype_of, full_bytes
from nczarr.plugins.ncstream.wire.trees import FixedNumbers, Tree, shape_fixed
from nczarr.semantics.check_types import find_oversized
from nczarr.semantics.checked import Tables, Unchecked, tables
from nczarr.syntax.json import ast_document

MODEL = "nczarr"
"""Name of the header field that contains the model, as shown in diagnostics."""


class HeaderReader(ABC):
    """Reader of the dataset of a header, in which `span` is; subclasses find the values."""

    def __init__(self, source: Source, header: pb.Header, span: Span, report: Report, options: Options) -> None:
        self._source = source
        self._header = header
        self._asked = header_tree.HeaderContext(span, report, options, self._opaque_size, self._absent_members, [])
        self._definitions = Definitions(header)
        self._named = find_named(header)

    def read(self) -> Unchecked | None:
        """Return the dataset with the array sources of its variables."""
        unchecked = dataset_of(self._named.header, self._asked, self._source.name)
        if unchecked is None:
            return None
        unchecked.namesakes += self._named.namesakes
        unchecked.omitted += self._asked.omitted
        declarations = tables(unchecked.dataset)
        fills, shapes = _fills_of(self._header), _shapes_of(declarations)
        for path, variable in declarations.variables.items():
            shape = shapes.get(path)
            replaced = (
                {} if shape is None else _suit_fills(fills.get(path, {}), variable, declarations, self._warn_ignored)
            )
            pieces = self._build_parts(path, shape, declarations, replaced)
            if pieces:
                unchecked.parts[path] = pieces
        return unchecked

    @abstractmethod
    def _build_parts(
        self, path: str, shape: tuple[int, ...] | None, declarations: Tables, fills: Mapping[str, bytes]
    ) -> Parts | None:
        """Return the array sources of a variable, None if it has no values or no valid shape."""

    @abstractmethod
    def _opaque_size(self, path: str, members: tuple[str, ...]) -> int | None:
        """Return the common size of the opaque values of a variable or member, else None."""

    def _absent_members(self, path: str, declared: pb.Structure) -> frozenset[tuple[str, ...]]:
        """Return the paths of the members that a message of a structure lacks, as far as it is known."""
        return frozenset()

    def _is_immediate(self, path: str) -> bool:
        """Return whether the header contains values of a variable."""
        declared = self._find_declaration(path)
        return isinstance(declared, pb.Variable) and declared.HasField("data")

    def _immediate(
        self, path: str, shape: tuple[int, ...], declarations: Tables, fill: bytes | None = None
    ) -> Parts | None:
        """Return the values of a variable that the header contains, or None. Raises ValueError if they do not fit."""
        declared, types = self._find_declaration(path), declarations.types
        if not self._is_immediate(path):
            return None
        assert isinstance(declared, pb.Variable)
        type_name = declarations.variables[path].type
        values = shape_fixed(_numbers(declared), type_name, shape, types)
        return {"": ArrayInMemory(in_one_piece(descr(type_name, types), shape, fill), values)}

    def _warn_ignored(self, message: str) -> None:
        """Warn about ignored values of the header."""
        self._asked.report.warning("ignored-values", message, self._asked.span)

    def _spell_path(self, path: str) -> str:
        """Return the sender's path of a variable."""
        return self._named.spelled.get(path, path)

    def _find_declaration(self, path: str) -> Declared | None:
        """Return the declaration of a variable."""
        return self._definitions.find(full_bytes(self._spell_path(path)))

    def _serialize_alone(self, path: str) -> bytes:
        """Return a serialized header that declares only this variable."""
        return serialize_alone(self._spell_path(path), self._find_declaration(path))


def dataset_of(header: pb.Header, asked: header_tree.HeaderContext, name: str) -> Unchecked | None:
    """Return the dataset of a header without values. `name`: name of the source in diagnostics."""
    if header.HasField("nczarr"):
        dataset = ast_document.read(Source(name, header.nczarr, key=MODEL), asked.report)
        return None if dataset is None else Unchecked(dataset)
    return Unchecked(header_tree.dataset(header, asked))


def _fills_of(header: pb.Header) -> dict[str, dict[str, bytes]]:
    """Return the fill bytes in the header, by variable FQN and part."""
    fills: dict[str, dict[str, bytes]] = {}
    for fill in header.fills:
        path, part = (text.decode("utf-8", "surrogateescape") for text in (fill.path, fill.part))
        fills.setdefault(path, {})[part] = fill.value
    return fills


def _shapes_of(declarations: Tables) -> dict[str, tuple[int, ...]]:
    """Return the shapes of variables with valid dimensions and types; a check pass reports the others."""
    sound = sound_types(declarations.types)
    unsuited = find_oversized(sound)
    unsuited |= {path for path in sound if path not in unsuited and is_fixed(path, sound) and not size(path, sound)}
    unsuited |= {
        path
        for path, declared in sound.items()
        if isinstance(declared, CompoundType) and len({field.name for field in declared.fields}) < len(declared.fields)
    }
    if unsuited:
        sound = sound_types({path: declared for path, declared in sound.items() if path not in unsuited})
    shapes = {}
    for path, variable in declarations.variables.items():
        lengths = [
            declarations.dimensions.get(dimension) if isinstance(dimension, str) else dimension
            for dimension in variable.dimensions
        ]
        if None not in lengths and (variable.type in ATOMIC or variable.type in sound):
            shapes[path] = tuple(length.size if isinstance(length, Dimension) else length or 0 for length in lengths)
    return shapes


def _suit_fills(
    fills: Mapping[str, bytes], variable: Variable, declarations: Tables, lost: Callable[[str], None]
) -> dict[str, bytes]:
    """Return the fills that are one element of their part; report the others through `lost`."""
    suited = {}
    for part in parts(variable.type, (), declarations.types):
        fill = fills.get(part.path)
        width = itemsize(descr(part.type, declarations.types))
        if fill is not None and width and len(fill) != width:
            lost(
                f"the fill value of `{part.path}` of `{variable.name}` has {len(fill)} bytes, but elements have {width}"
            )
        elif fill is not None:
            suited[part.path] = fill
    return suited


def _numbers(declared: pb.Variable) -> Tree:
    """Return the header's values, always big-endian. Raises ValueError if the type is not numeric."""
    if declared.dataType not in NUMPY:
        raise ValueError("they are not numbers")
    values = FixedNumbers(declared.dataType, np.frombuffer(declared.data, dtype_of(declared.dataType, big=True)))
    return make_unsigned(values) if declared.unsigned else values
