"""Tree of a file of Neurodata Without Borders: what its forms in HDF5 and in Zarr share, and the types of its values.

Both readers make it, both writers take it, and `copy_file.py` compares two. Nodes
have paths, parents before children. Values pass as chunks.

A type is data that JSON can hold: the dtype of numbers (`<i2`), booleans (`|b1`)
and bytes (`|S5`); `utf8` and `ascii` for texts of any length, `utf8:5` for those of
a length; `reference`; `{"enum": dtype, "members": {name: number}}`; and for compounds
a list of [name, type] or [name, type, shape].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nczarr.arrays.lazy_numpy import NDArray, np

if TYPE_CHECKING:
    from nczarr.arrays.lazy_numpy import NDArray
    from nczarr.ast.dataset import Codec

Index = tuple[int, ...]
Lose = Callable[[str, str], None]
"""Takes the path of what a target has no place for, and the reason."""


class NwbReference(str):
    """Reference to an object of the same file: its path. None in its place refers to nothing."""

    __slots__ = ()


class UnkeptError(Exception):
    """Something for which the other form has no place; its text ends a sentence about it."""


class NwbAttribute(NamedTuple):
    """An attribute."""

    value: Any
    """Nested lists of texts, numbers, booleans and references; compounds are lists."""
    type: Any
    """Type as data; see the module."""
    shape: tuple[int, ...]


class NwbLink(NamedTuple):
    """A second name of an object."""

    kind: str
    """`soft`, `hard` or `external`."""
    path: str
    """Path of the object, through no link; empty for a soft link to nothing."""
    text: str
    """Path as the link has it."""
    file: str = ""
    """Name of the other HDF5 file."""


class NwbGroup(NamedTuple):
    """A group."""

    attributes: dict[str, NwbAttribute]
    links: dict[str, NwbLink]


class NwbArray(Protocol):
    """A dataset of HDF5, or array of Zarr."""

    attributes: dict[str, NwbAttribute]
    type: Any
    """Type as data; see the module."""
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    """Shape of a chunk, empty for a scalar; pieces of a contiguous dataset too."""
    limits: tuple[int | None, ...]
    """Shape to which it may grow; None: without bound."""
    contiguous: bool
    """True if HDF5 has it in one piece."""
    codecs: tuple[Codec, ...]
    """Filters of HDF5, or those that stand for the codecs of Zarr."""
    fill: Any
    """Value of cells that were never written; None for objects."""
    raw: bool
    """True if `read_raw` returns chunks as the codecs have made them."""

    def list_stored(self) -> Iterable[Index]:
        """Return the indices of the chunks that are stored."""

    def read(self, index: Index) -> NDArray[Any]:
        """Return the values of a chunk within the shape. Raises UnkeptError, and errors of its library."""

    def read_raw(self, index: Index) -> bytes | None:
        """Return the encoded bytes of a chunk; None if they do not fit."""


class NwbTree(NamedTuple):
    """A file."""

    nodes: dict[str, NwbGroup | NwbArray]
    """Nodes by path, parents first."""


def join(folder: str, name: str) -> str:
    """Return the path of a name in a group."""
    return f"{folder.rstrip('/')}/{name}"


def resolve(nodes: Any, links: dict[str, dict[str, NwbLink]], group: str, text: str) -> str:
    """Return the path of the node that a path from a group leads to, through links; empty for none."""
    here, parts, steps = ("/" if text.startswith("/") else group), text.split("/")[::-1], 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        link, path = links.get(here, {}).get(part), join(here, part)
        steps += 1
        if (link is None and path not in nodes) or steps > 1000:
            return ""
        if link is None:
            here = path
        elif link.kind == "external":
            return ""
        else:
            here = "/" if link.text.startswith("/") else here
            parts += link.text.split("/")[::-1]
    return here


def region_of(index: Index, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the cells of a chunk within a shape."""
    places = zip(index, chunks, shape, strict=True)
    return tuple(slice(i * chunk, min(length, (i + 1) * chunk)) for i, chunk, length in places)


def is_piece(array: NwbArray) -> bool:
    """Return whether HDF5 gets an array in one piece if nothing else is noted about it."""
    is_one = all(chunk >= length for chunk, length in zip(array.chunks, array.shape, strict=True))
    return is_one and not array.codecs and array.limits == array.shape


OBJECTS = ("utf8", "ascii", "reference")
"""Types whose values are objects of Python in arrays."""

_NAMES = {
    "object": "reference",
    **dict.fromkeys(("str", "str_"), "utf8"),
    **dict.fromkeys(("bytes", "bytes_"), "ascii"),
}
"""Types of objects by their `zarr_dtype`."""

_JSON_TYPES = {str: "utf8", NwbReference: "reference", bool: "|b1", int: "<i8", float: "<f8"}


def read_hdf5_type(dtype: Any) -> Any:
    """Return the type of a dtype of h5py. Raises UnkeptError."""
    import h5py

    text, reference = h5py.check_string_dtype(dtype), h5py.check_ref_dtype(dtype)
    if text is not None:
        is_utf8 = text.encoding == "utf-8"
        if text.length is None:
            return "utf8" if is_utf8 else "ascii"
        return f"utf8:{text.length}" if is_utf8 else f"|S{text.length}"
    if reference is h5py.Reference:
        return "reference"
    if reference is not None:
        raise UnkeptError("has references to regions, for which NWB in Zarr has no form")
    members = h5py.check_enum_dtype(dtype)
    if members is not None:
        return {"enum": np.dtype(dtype.str).str, "members": {name: int(number) for name, number in members.items()}}
    if dtype.names is not None:
        return [_read_member(name, dtype[name]) for name in dtype.names]
    if dtype.kind not in "biufc" or dtype.str[1:] in ("f16", "c32"):
        raise UnkeptError("has values of a type for which NWB in Zarr has no form")
    return dtype.str


def _read_member(name: str, dtype: Any) -> list[Any]:
    if dtype.subdtype is None:
        return [name, read_hdf5_type(dtype)]
    base, shape = dtype.subdtype
    return [name, read_hdf5_type(base), list(shape)]


def hdf5_type(kind: Any) -> Any:
    """Return the dtype of h5py for a type."""
    import h5py

    if isinstance(kind, list):
        return np.dtype([(name, hdf5_type(inner), *map(tuple, shape)) for name, inner, *shape in kind])
    if isinstance(kind, dict):
        return h5py.enum_dtype(kind["members"], basetype=kind["enum"])
    if kind == "reference":
        return h5py.ref_dtype
    if kind.startswith("utf8:"):
        return h5py.string_dtype("utf-8", int(kind[5:]))
    return h5py.string_dtype("utf-8" if kind == "utf8" else "ascii") if kind in OBJECTS else np.dtype(kind)


def array_type(kind: Any) -> Any:
    """Return the dtype of values in memory: objects are those of Python."""
    if isinstance(kind, list):
        return np.dtype([(name, array_type(inner), *map(tuple, shape)) for name, inner, *shape in kind])
    if isinstance(kind, dict):
        return np.dtype(kind["enum"])
    if kind in OBJECTS:
        return np.dtype(object)
    return np.dtype(f"S{kind[5:]}" if kind.startswith("utf8:") else kind)


def has_objects(kind: Any) -> bool:
    """Return whether values of a type have a size of their own."""
    return any(has_objects(member[1]) for member in kind) if isinstance(kind, list) else kind in OBJECTS


def zarr_type(kind: Any) -> Any:
    """Return the member `dtype` of a Zarr array; compounds with objects are objects as a whole."""
    if has_objects(kind):
        return "|O"
    if isinstance(kind, list):
        return [[name, zarr_type(inner), *shape] for name, inner, *shape in kind]
    return array_type(kind).str


def zarr_name(kind: Any) -> Any:
    """Return the attribute `zarr_dtype` of an array that is no scalar."""
    if isinstance(kind, list):
        return [{"name": member[0], "dtype": zarr_name(member[1])} for member in kind]
    if kind in OBJECTS:
        return "object" if kind == "reference" else "str"
    return array_type(kind).type.__name__


def read_zarr_type(dtype: Any, name: Any, codec: str) -> Any:
    """Return the type of an array of Zarr by its `dtype`, its `zarr_dtype`, and its codec of objects.

    Raises UnkeptError, and TypeError, ValueError or KeyError for what is no dtype.
    """
    named = {each["name"]: each["dtype"] for each in name} if isinstance(name, list) else {}
    if dtype == "|O" and named:
        return [[field, _NAMES.get(of) or np.dtype(of).str] for field, of in named.items()]
    if dtype == "|O":
        return "reference" if name == "object" else "ascii" if codec == "vlen-bytes" else "utf8"
    if isinstance(dtype, list):
        return [[field, read_zarr_type(of, named.get(field), codec), *map(list, s)] for field, of, *s in dtype]
    if np.dtype(dtype).kind not in "biufcS":
        raise UnkeptError(f"has values of type `{dtype}`, for which NWB in HDF5 has no form")
    return np.dtype(dtype).str


def convert_objects(values: NDArray[Any], kind: Any, dtype: Any, convert: Callable[[Any, str], Any]) -> NDArray[Any]:
    """Return values with every object replaced by `convert(object, type)`; `dtype` is that of the result."""
    if isinstance(kind, list):
        result: NDArray[Any] = np.empty(values.shape, dtype)
        for name, inner, *_ in kind:
            result[name] = convert_objects(values[name], inner, dtype[name].base, convert)
        return result
    if kind not in OBJECTS:
        return values
    result = np.empty(values.shape, dtype)
    flat = result.reshape(-1)
    for place, value in enumerate(values.reshape(-1)):
        flat[place] = convert(value, kind)
    return flat.reshape(values.shape)


def list_values(value: Any) -> Any:
    """Return a value of an attribute as nested lists of JSON's values and references. Raises UnkeptError."""
    if isinstance(value, (list, tuple)):
        return [*map(list_values, value)]
    if isinstance(value, bytes):
        return decode_text(value)
    if isinstance(value, complex):
        raise UnkeptError("has complex numbers, for which attributes of Zarr have no form")
    return value


def decode_text(value: Any) -> str:
    """Return a text of HDF5. Raises UnkeptError if it is not UTF-8."""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
        text.encode()
    except UnicodeError:
        raise UnkeptError("has a text that is not UTF-8") from None
    return text


def guess_type(value: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the type and shape of an attribute of which only the JSON value is known. Raises UnkeptError."""
    shape, flat = list_flat(value)
    kinds = {type(each) for each in flat} or {str}
    if kinds == {int, float}:
        kinds = {float}
    kind = _JSON_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
    if kind == "<i8" and max(flat) >= 1 << 63:
        kind = "<u8"
    if kind is None or (
        kind in ("<i8", "<u8") and not -(1 << 63) * (kind == "<i8") <= min(flat) <= max(flat) < 1 << 64
    ):
        raise UnkeptError("has a value of JSON for which HDF5 has no type")
    return kind, shape


def list_flat(value: Any, depth: int | None = None) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of nested lists, and what is in them; `depth`: lists within so many are values.

    Raises UnkeptError if lists of a level have different lengths.
    """
    shape: list[int] = []
    flat = [value]
    while any(isinstance(each, list) for each in flat) and len(shape) != depth:
        lengths = {len(each) if isinstance(each, list) else -1 for each in flat}
        if len(lengths) > 1:
            raise UnkeptError("is a list of lists of different lengths")
        shape += lengths
        flat = [each for inner in flat for each in inner]
    return tuple(shape), flat
