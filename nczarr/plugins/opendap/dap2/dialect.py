"""Names and numbers that DAP2 has otherwise: identifiers, and integers whose attribute `_Unsigned` says the other sign.

Each group, dimension and variable has an identifier of its own.
The names of a path are joined by underscores (`/g/v` is `g_v`), as Hyrax does: clients take a slash for a path, even if
it is escaped. Anonymous dimensions get names too (`dim_4`), because xarray needs them. The attribute `_nczarr_names` of
a variable has the FQNs that identifiers do not tell.

Clients decode `_Unsigned` by the type that they read. DAP2 has no signed bytes: made an `Int16`, a byte would become an
unsigned number of 16 bits. So `byte` with `_Unsigned = "true"` is sent as `Byte`, `ubyte` with "false" as `Int16`.
Other sizes follow: pydap gives fill values of no type, which xarray does not convert to the other sign. `_nczarr_type`
has the type of the dataset, then the names of the attributes that have it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import DerivedSource, Layout, fill_of
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import Attribute, Constant, EnumType, OpaqueType, Variable
from nczarr.ast.node import TypeName
from nczarr.names.records import frozen
from nczarr.plugins.opendap.common.words import ATOMIC_OF_DAP2, WIDE, WORDS
from nczarr.semantics.checked import Checked

NAMES = "_nczarr_names"
"""Attribute with the FQNs of a variable and its dimensions, or of a group: what their identifiers do not tell."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_\-+]")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f/]")
_SPECIAL = re.compile('[\x00-\x08\x0b-\x1f\x7f"\\\\\udc80-\udcff]')


def wire_name(path: tuple[str, ...]) -> str:
    """Return a path of names as one identifier: underscores between the names, special characters as `%XX`.

    libnetcdf keeps the escapes and refuses names that begin with `%`: these
    get an underscore before it.
    """
    text = "_".join(_UNSAFE.sub(_encode_percent, name) for name in path)
    return "_" + text if text.startswith("%") else text


def decode_name(written: str) -> str:
    """Return a name without `%xx`, as netCDF allows it.

    Characters that netCDF does not allow stay `%xx`, a slash `%2f`. An
    underscore precedes other first characters than letters, digits and
    underscores.
    """
    name = unquote(written, errors="surrogateescape") if "%" in written else written
    if names.is_segment(name):
        return names.normal(name)
    name = _FORBIDDEN.sub(lambda match: f"%{ord(match[0]):02x}", name)
    name = name[:-1] + "%20" if name.endswith(" ") else name
    return names.normal(name if names.is_segment(name) else f"_{name}")


def _encode_percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def quote(text: bytes) -> str:
    r"""Return a text between quotes.

    libnetcdf reads `\"`, `\\` and `\xHH`; a backslash at the end is `\x5c`,
    because other readers take `\\"` for a quote inside the text. Bytes that are
    not UTF-8 are `\xHH`.
    """
    escaped = _SPECIAL.sub(_escape, text.decode("utf-8", "surrogateescape"))
    return f'"{escaped[:-1]}x5c"' if escaped.endswith("\\\\") else f'"{escaped}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return "\\" + char if char in '"\\' else f"\\x{ord(char) & 0xFF:02x}"


class Identifiers:
    """Identifiers by FQN. Those of the root come first, so that names in groups never change them."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._names: dict[str, str] = {}
        self._anonymous: dict[tuple[int, int], str] = {}
        self._taken: set[str] = set()
        paths = {fqn: names.split(fqn) for fqn in (*checked.variables, *checked.dimensions, *checked.groups)}
        for fqn in sorted(paths, key=lambda fqn: len(paths[fqn])):
            if paths[fqn]:
                self._names[fqn] = self._free(wire_name(paths[fqn]))

    def __getitem__(self, fqn: str) -> str:
        return self._names[fqn]

    def old_spellings(self) -> dict[str, str]:
        """Return the identifiers by the path with slashes, which was their decoded spelling."""
        return {"/".join(names.split(fqn)): name for fqn, name in self._names.items()}

    def axes(self, variable: Variable, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Return the identifiers of the dimensions of a variable, of opaque values with that of their bytes."""
        declared = self.checked.types.get(variable.type)
        axes: list[tuple[str | int, int]] = list(zip(variable.dimensions, shape, strict=True))
        if isinstance(declared, OpaqueType):
            axes.append((declared.size, declared.size))
        identifiers: list[str] = []
        for reference, length in axes:
            identifiers.append(self[reference] if isinstance(reference, str) else self._name_axis(length, identifiers))
        return tuple(identifiers)

    def fqns(self, fqn: str) -> tuple[str, ...]:
        """Return the FQNs of a variable and its dimensions, empty for anonymous ones; none if identifiers tell all."""
        variable = self.checked.variables[fqn]
        dimensions = [dimension if isinstance(dimension, str) else "" for dimension in variable.dimensions]
        declared = self.checked.types.get(variable.type)
        paths = (fqn, *dimensions, *("",) * isinstance(declared, OpaqueType))
        return () if all(path and self.tells(path) for path in paths) else paths

    def tells(self, fqn: str) -> bool:
        """Return whether the identifier of a FQN is decoded to it."""
        return names.join("/", decode_name(self[fqn])) == fqn

    def _name_axis(self, length: int, others: list[str]) -> str:
        """Return the identifier of an anonymous dimension; variables share it if their lengths are equal."""
        number = 0
        while (name := self._anonymous.get((length, number))) in others:
            number += 1
        if name is None:
            name = self._anonymous[length, number] = self._free(f"dim_{length}")
        return name

    def _free(self, name: str) -> str:
        """Return the name with a number behind it if another one reads alike."""
        free_name = names.free(name, lambda other: unquote(other) in self._taken)
        self._taken.add(unquote(free_name))
        return free_name


TYPE = "_nczarr_type"
"""Attribute with the type of a variable that is sent in another one, and the attributes of that type."""

STORED = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")
"""Attributes whose numbers are those of the stored values."""

OTHER_SIGN = {
    "byte": "ubyte", "ubyte": "byte", "short": "ushort", "ushort": "short", "int": "uint", "uint": "int",
    "int64": "uint64", "uint64": "int64",
}  # fmt: skip
"""Types of integers of the same size."""

KINDS = {"true": "u", "false": "i"}
"""NumPy's kind of the integers that the texts of `_Unsigned` mean."""

RESTORED = {name: ATOMIC_OF_DAP2[WORDS[OTHER_SIGN[name]].dap2.lower()] for name in OTHER_SIGN.keys() - WIDE}
"""Types that clients read instead, by the type that our client restores."""


def find_meant_type(type_name: TypeName, attributes: tuple[Attribute, ...]) -> TypeName:
    """Return the type of the numbers that `_Unsigned` means; other types than integers stay."""
    for attribute in attributes:
        if attribute.name == "_Unsigned" and type_name in OTHER_SIGN:
            kind = KINDS.get(next(iter(read_texts(attribute)), "").strip("\0 ").lower(), NUMPY[type_name][1])
            return type_name if kind == NUMPY[type_name][1] else OTHER_SIGN[type_name]
    return type_name


def find_stored_type(checked: Checked, fqn: str) -> TypeName:
    """Return the type of the values of a variable, of an enumeration that of its integers."""
    declared = checked.types.get(checked.variables[fqn].type)
    return declared.base if isinstance(declared, EnumType) else checked.variables[fqn].type


def read_texts(attribute: Attribute) -> list[str]:
    """Return the texts of an attribute; none for numbers."""
    if attribute.value.type not in ("char", "string"):
        return []
    data = attribute.value.data
    texts = [data] if isinstance(data, bytes) else [text or b"" for text in data]
    return [text.decode("utf-8", "surrogateescape") for text in texts if isinstance(text, bytes)]


def recast(value: Constant, stored: TypeName, type_name: TypeName) -> Constant:
    """Return integers of the type `stored` in another type, modulo its range."""
    assert isinstance(value.data, bytes)
    numbers = np.frombuffer(value.data, NUMPY[stored]).astype(NUMPY[type_name])
    return Constant(type=type_name, count=value.count, data=numbers.tobytes())


@frozen
class RecastIntegers(DerivedSource):
    """Integers of another array in another type, modulo its range."""

    type: TypeName
    """Type of the integers in the dataset, or of those that clients read."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        fill = fill_of(self.source)
        if fill is not None:
            stored = np.dtype(str(self.source.layout.dtype)).newbyteorder("<")
            fill = np.frombuffer(fill, stored).astype(NUMPY[self.type]).tobytes()
        return self.source.layout._replace(dtype=NUMPY[self.type], codecs=(), fill=fill)

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the other array."""
        return self.source.list_occupied(chunks, region)

    def read(self, selection: Selection) -> NDArray[np.integer]:
        """Return the values of a region, in its shape and the other type."""
        return self.source.read(selection).astype(NUMPY[self.type])
