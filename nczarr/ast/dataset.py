"""Datasets: groups, dimensions, variables, storage, attributes, kinds of file; NCZarr's model, extended to netCDF-4.

Invariants after the passes: every `TypeName` is an atomic name or the FQN of a
declared type; every dimension reference is the FQN of a declared dimension or
an anonymous size. Variables hold no data.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar, get_args

from nczarr import names
from nczarr.ast.node import (
    Constraint,
    Name,
    Natural,
    Node,
    Positive,
    TypeName,
    all_are,
    is_name,
    is_natural,
    members_of,
    node,
)
from nczarr.ast.rectilinear import Lengths, read_lengths, within
from nczarr.ast.types import CompoundType, EnumType, OpaqueType, UserType, VlenType
from nczarr.ast.values import Constant

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALE_OFFSET = range(1, 7)
BZIP2, LZF, BLOSC = 307, 32000, 32001
HDF5_LZ4, BITSHUFFLE, ZSTD = 32004, 32008, 32015

LAST_HDF5 = 65535
"""Largest filter number of HDF5; larger ones are ours, for codecs that only stores have."""

GZIP, CRC32C, ZARR_PLUGIN = 65537, 65538, 65539

FILTER_NAMES = {
    DEFLATE: "deflate", SHUFFLE: "shuffle", FLETCHER32: "fletcher32", SZIP: "szip", BZIP2: "bzip2", BLOSC: "blosc",
    ZSTD: "zstd", GZIP: "gzip", CRC32C: "crc32c",
}  # fmt: skip
"""Usual names of filters by number, in texts and in Python; other filters have none."""

FILTER_NUMBERS = {name: number for number, name in FILTER_NAMES.items()}
"""Their numbers by name."""

Algorithm = Literal["bitgroom", "granularbitround", "bitround"]
"""Algorithms of quantization."""

LayoutName = Literal["contiguous", "compact", "chunked"]
"""Layouts of HDF5 datasets."""


@node
class Codec(Node):
    """One step of a chunk's encoding, in application order: an HDF5 filter number and its parameters.

    `Codec(id=1, parameters=(5,))` is deflate at level 5; shuffle and fletcher32
    have no parameters.
    """

    id: Natural
    """Number of the HDF5 filter."""
    parameters: tuple[Natural, ...] = ()
    """Parameters of the filter."""

    def __post_init__(self) -> None:
        if not (is_natural(self.id) and type(self.parameters) is tuple and all(map(is_natural, self.parameters))):
            self._validate_by_pydantic()

    @property
    def name(self) -> str | None:
        """Usual name of the codec, or None for an unnamed filter."""
        return FILTER_NAMES.get(self.id)


@node
class Quantize(Node):
    """Lossy rounding of floats before compression."""

    algorithm: Algorithm
    """Name of the algorithm."""
    digits: Positive
    """Significant decimal digits, or bits for `bitround`."""

    def __post_init__(self) -> None:
        self._validate_by_pydantic()  # rare


Element = Annotated[
    str,
    Constraint(
        pattern=r"^(bool|float16|complex64|complex128|bytes|(utf32|bytes)\[[1-9][0-9]{0,8}\]"
        r"|struct\[\[.*\]\]|(datetime64|timedelta64)(\[[1-9]?[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)$"
    ),
]
"""Store elements without an atomic type in the data model, such as `bool` or `datetime64[ms]`."""


class _ChunkLengths:
    """Schema of a chunk length: an integer, or a list of integers and of pairs `[length, number]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema: lists become `Lengths`, and `Lengths` become lists in JSON."""
        from pydantic_core import core_schema

        length = core_schema.int_schema(gt=0, strict=True)
        pair = core_schema.list_schema(length, min_length=2, max_length=2, strict=True)
        several = core_schema.list_schema(core_schema.union_schema([length, pair]), min_length=1, strict=True)
        written = core_schema.union_schema(
            [length, core_schema.no_info_after_validator_function(read_lengths, several)]
        )
        return core_schema.json_or_python_schema(
            written,
            core_schema.union_schema([core_schema.is_instance_schema(Lengths), written], mode="left_to_right"),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda length: length.written if isinstance(length, Lengths) else length, when_used="json"
            ),
        )


ChunkLength = Annotated[int, _ChunkLengths()]
"""Chunk length of a dimension: one, or those of all chunks (`Lengths`)."""


@node
class Storage(Node):
    """Requested or recorded storage of a variable."""

    layout: LayoutName | None = None
    """Layout in an HDF5 file."""
    chunks: tuple[ChunkLength, ...] | None = None
    """Chunk length of each dimension; a list has the lengths of all its chunks, `[length, number]` for equal ones."""
    codecs: tuple[Codec, ...] = ()
    """Codecs in encoding order."""
    endian: Literal["little", "big"] | None = None
    """Byte order of stored values."""
    no_fill: bool = False
    """True if cells that were never written are undefined."""
    quantize: Quantize | None = None
    """Lossy rounding."""
    element: Element | None = None
    """The store's type of the values, if the model lacks it."""

    def __post_init__(self) -> None:
        """Check the types of the members quickly; pydantic validates only what fails, and explains it."""
        chunks, codecs = self.chunks, self.codecs
        if not (
            (self.layout is None or self.layout in _LAYOUTS)
            and (chunks is None or (type(chunks) is tuple and all(map(_is_length, chunks))))
            and all_are(codecs, Codec)
            and (self.endian is None or self.endian in _ORDERS)
            and type(self.no_fill) is bool
            and (self.quantize is None or type(self.quantize) is Quantize)
            and (self.element is None or self.element in _COMMON_ELEMENTS)
        ):
            self._validate_by_pydantic()

    def normalize(self, shape: tuple[int, ...], type_name: str, unlimited: tuple[bool, ...] = ()) -> Storage:
        """Return the model's form: chunks within fixed dimensions, no filters of a scalar."""
        chunks = self.chunks
        if chunks is not None:
            grows = unlimited or (False,) * len(shape)
            chunks = tuple(
                chunk if free else within(chunk, length)
                for chunk, length, free in zip(chunks, shape, grows, strict=True)
            )
        codecs = self.codecs if shape else ()
        endian = None if type_name in ("char", "string") else self.endian
        if (chunks, codecs, endian) == (self.chunks, self.codecs, self.endian):
            return self
        return self.model_copy(update={"chunks": chunks, "codecs": codecs, "endian": endian})


def _is_length(candidate: object) -> bool:
    return type(candidate) is Lengths or (type(candidate) is int and candidate > 0)


_LAYOUTS = get_args(LayoutName)
_ORDERS = ("little", "big")
_COMMON_ELEMENTS = ("bool", "float16", "complex64", "complex128")
DEFAULT_STORAGE = Storage()

FILTER_LIMIT = 2**32
"""Exclusive limit of filter numbers and parameters: HDF5 stores 32 bits of each."""

_MOST_DIGITS = {"float": 7, "double": 15}
_MOST_BITS = {"float": 23, "double": 52}


def most_digits(type_name: str, algorithm: str) -> int:
    """Return the maximum quantization digits (bits for `bitround`); 0: the netCDF library does not support the type."""
    return (_MOST_BITS if algorithm == "bitround" else _MOST_DIGITS).get(type_name, 0)


VERSION = "2.0.0"
"""Version of the data model by default."""

Kind = Literal["nc3", "nc6", "nc5", "nc4", "nc7"]
"""Kinds of netCDF file: classic, 64-bit offset, CDF-5, netCDF-4, netCDF-4 classic model."""


@node
class Dimension(Node):
    """A named extent."""

    name: Name
    """Name of the dimension."""
    size: Natural
    """Current length, also of an unlimited dimension."""
    unlimited: bool = False
    """True if the dimension can grow."""

    def __post_init__(self) -> None:
        if not (is_name(self.name) and is_natural(self.size) and type(self.unlimited) is bool):
            self._validate_by_pydantic()


class _JsonText:
    """Schema of the text of a JSON value; NaN and infinities are words, as stores have them."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(_check_json, core_schema.str_schema(strict=True))


def _check_json(text: str) -> str:
    """Return the text. Raises ValueError unless it is JSON."""
    try:
        json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return text


@node
class Attribute(Node):
    """A named constant of one type; `_FillValue` is an ordinary attribute."""

    name: Name
    """Name of the attribute."""
    value: Constant
    """Type and values."""
    json: Annotated[str, _JsonText()] | None = None
    """JSON of a Zarr store that `value` narrows, as text; None: the plain form of `value` is the same text."""

    def __post_init__(self) -> None:
        if not (type(self.name) is str and self.name and type(self.value) is Constant and self.json is None):
            self._validate_by_pydantic()

    def with_value(self, value: Constant) -> Attribute:
        """Return the attribute with a value, and its JSON only if the value is the same."""
        return self if value == self.value else Attribute(name=self.name, value=value, span=self.span)


_KINDS = get_args(Kind)

_USER_TYPES = frozenset({EnumType, OpaqueType, VlenType, CompoundType})

DimensionRef = Annotated[str | Natural, Constraint(mode="left_to_right")]
"""FQN of a dimension, or an anonymous size (the specification's `dimref`)."""


@node
class Variable(Node):
    """A named array; a scalar without dimensions."""

    name: Name
    """Name of the variable."""
    type: TypeName
    """Atomic type, or FQN of a declared type."""
    dimensions: tuple[DimensionRef, ...] = ()
    """FQNs of dimensions; an integer is an anonymous dimension."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes in definition order."""
    storage: Storage = DEFAULT_STORAGE
    """Layout, codecs and byte order."""
    axes: tuple[str | None, ...] = ()
    """Names in a Zarr store of anonymous dimensions, which have another length elsewhere or the name of a group;
    None for other dimensions. Empty without such a name.
    """

    def __post_init__(self) -> None:
        """Check the types of the members quickly; pydantic validates only what fails, and explains it."""
        if not (
            is_name(self.name)
            and is_name(self.type)
            and (all_are(self.dimensions, str) or _are_references(self.dimensions))
            and all_are(self.attributes, Attribute)
            and type(self.storage) is Storage
            and (not self.axes or _are_axes(self.axes))
        ):
            self._validate_by_pydantic()


def _are_axes(candidate: object) -> bool:
    return type(candidate) is tuple and all(name is None or type(name) is str for name in candidate)


def _are_references(candidate: object) -> bool:
    return type(candidate) is tuple and all(type(reference) is str or is_natural(reference) for reference in candidate)


@node
class Group(Node):
    """A scope: declarations in definition order, one tuple per kind."""

    name: Name
    """Name of the group."""
    types: tuple[UserType, ...] = ()
    """Types in definition order."""
    dimensions: tuple[Dimension, ...] = ()
    """Dimensions in definition order."""
    variables: tuple[Variable, ...] = ()
    """Variables in definition order."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes in definition order."""
    groups: tuple[Group, ...] = ()
    """Child groups in definition order."""

    def __post_init__(self) -> None:
        if not (is_name(self.name) and self._holds_nodes()):
            self._validate_by_pydantic()

    def _holds_nodes(self) -> bool:
        return (
            type(self.types) is tuple
            and _USER_TYPES.issuperset(map(type, self.types))
            and all_are(self.dimensions, Dimension)
            and all_are(self.variables, Variable)
            and all_are(self.attributes, Attribute)
            and all_are(self.groups, Group)
        )


@node
class Dataset(Group):
    """The root group. Its name is not part of FQNs, and may be empty.

    `version` is that of the data model (the specification's ZARRVERSION);
    `kind` is the original or requested kind of netCDF file, or None.
    """

    name: str
    version: Annotated[str, Constraint(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")] = VERSION
    kind: Kind | None = None

    def __post_init__(self) -> None:
        is_known = self.kind is None or self.kind in _KINDS
        if not (is_known and type(self.name) is str and self.version == VERSION and self._holds_nodes()):
            self._validate_by_pydantic()


KIND_NAMES: dict[Kind, str] = {
    "nc3": "classic",
    "nc6": "64-bit offset",
    "nc5": "CDF-5",
    "nc4": "netCDF-4",
    "nc7": "netCDF-4 classic model",
}
"""Names of kinds in messages."""

_SPELLED: dict[Kind, str] = {
    "nc3": "classic|nc3|1",
    "nc6": "64-bit offset|64-bit-offset|nc6|2",
    "nc4": "netCDF-4|nc4|3|netCDF4|hdf5|enhanced|netcdf-4|netcdf4",
    "nc7": "netCDF-4 classic model|nc7|4|netCDF-4-classic|netCDF-4_classic|netCDF4_classic|hdf5-nc3|enhanced-nc3",
    "nc5": "5|64-bit-data|64-bit data|nc5|cdf5|cdf-5|CDF-5|CDF5",
}

KIND_SPELLINGS: dict[str, Kind] = {word: kind for kind, words in _SPELLED.items() for word in words.split("|")}
"""All accepted spellings (those of ncgen, and the output of ncdump)."""

HDF5_KINDS: tuple[Kind, ...] = ("nc4", "nc7")
"""Kinds stored as HDF5 files."""

RESERVED_ATTRIBUTES = frozenset(
    {*("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"), *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict")}
)
"""Attribute names by which HDF5 files mark dimensions; the netCDF library refuses other uses."""

ORIGINAL_NAMES = "_nczarr_names"
"""Attribute of the root with the names that legal ones replace in a netCDF file."""

MISSING_MARKS = ("_FillValue", "missing_value")
"""Attributes that mark missing values."""

G = TypeVar("G", bound=Group)


def groups(root: Group, path: str = "/") -> Iterator[tuple[str, Group]]:
    """Yield every group with its FQN, parents before children, in definition order."""
    yield path, root
    for child in root.groups:
        yield from groups(child, names.join(path, child.name))


def rebuild(group: G, **members: Any) -> G:
    """Return a new validated group or dataset with some members replaced."""
    return type(group)(**{**members_of(group), **members})


def map_groups(group: G, change: Callable[[str, Group], dict[str, Any]], path: str = "/") -> G:
    """Return a tree in which some members of every group are replaced by those that `change` returns for its FQN."""
    groups = tuple(map_groups(child, change, names.join(path, child.name)) for child in group.groups)
    return group.model_copy(update={**change(path, group), "groups": groups})


def map_owners(group: G, change: Callable[[str, Group | Variable], dict[str, Any]]) -> G:
    """Return a tree in which members of every group and variable are replaced by those that `change` returns."""

    def change_group(path: str, group: Group) -> dict[str, Any]:
        changed = ((node, change(names.join(path, node.name), node)) for node in group.variables)
        variables = (node.model_copy(update=members) if members else node for node, members in changed)
        return {**change(path, group), "variables": tuple(variables)}

    return map_groups(group, change_group)


@contextmanager
def building(*, lasting: bool = False) -> Iterator[None]:
    """Suspend the cyclic garbage collector while a tree is built; it would scan the tree repeatedly.

    Measured on 90,000 nodes: half of the time of a parse, two thirds of the
    passes'. Nothing dies meanwhile. `lasting`: no cyclic garbage results, so
    the new objects count as old and are first scanned by a full collection.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # objects that the program froze stay frozen; to count them takes longer than a small tree saves
            if lasting and gc.get_count()[0] > 10_000 and gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()  # puts what was frozen into the oldest generation
            gc.enable()
