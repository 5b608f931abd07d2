"""Integers whose attribute `_Unsigned` says the other sign: DAP2 sends the numbers that it means.

Clients decode `_Unsigned` by the type that they read. DAP2 has no signed bytes: made an `Int16`, a byte would become an
unsigned number of 16 bits. So `byte` with `_Unsigned = "true"` is sent as `Byte`, `ubyte` with "false" as `Int16`.
Other sizes follow: pydap gives fill values of no type, which xarray does not convert to the other sign. `_nczarr_type`
has the type of the dataset, then the names of the attributes that have it too.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.source import DerivedSource, Layout, fill_of
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import Attribute, Constant, EnumType
from nczarr.ast.node import TypeName
from nczarr.names.records import frozen
from nczarr.plugins.opendap.common.words import ATOMIC_OF_DAP2, WIDE, WORDS
from nczarr.semantics.checked import Checked

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
