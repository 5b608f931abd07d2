"""Attributes of a dataset as a DAP2 document (DAS).

NC_GLOBAL {…}                      attributes of the root group; `_nczarr_left_out`: messages about losses
g { String title "…"; }            attributes of groups
v { … String DODS.dimName "n"; }   attributes of variables; dimension of chars that a text replaces
g_v { String _nczarr_names "/g/v"; }   what identifiers do not tell
b { String _nczarr_type "byte"; }      type that DAP2 does not tell, and attributes of this type
DODS_EXTRA {…}                     the unlimited dimension
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.values.parts import Types, as_integers
from nczarr.ast import Attribute, CompoundType, Constant, EnumType, Group, Variable
from nczarr.ast.types import OpaqueType, VlenType
from nczarr.plugins.opendap.common.words import EXACT, LEFT_OUT, UNSIGNED, WIDE, WORDS
from nczarr.plugins.opendap.dap2.declarations import DdsNode, Mapping
from nczarr.plugins.opendap.dap2.dialect import (
    NAMES,
    OTHER_SIGN,
    STORED,
    TYPE,
    decode_name,
    find_stored_type,
    quote,
    recast,
    wire_name,
)
from nczarr.plugins.opendap.dap2.values import sources_of, text_slabs

STEP = "    "
UNLIMITED = "DODS_EXTRA"  # Hyrax's name

USUAL = 64
"""Bytes of a string that libnetcdf reads if `DODS.strlen` is missing; it cuts longer ones."""

MOST_STRINGS = 1 << 16
"""Maximum strings of a variable that are read for `DODS.strlen`."""


def write_das(mapped: Mapping) -> str:
    """Return the attributes of a dataset. Raises OSError."""
    return "\n".join(["Attributes {", *(STEP + line for line in _DasWriter(mapped).lines()), "}", ""])


class _DasWriter:
    def __init__(self, mapped: Mapping) -> None:
        self.mapped = mapped
        self.checked = mapped.checked
        self.types: Types = mapped.checked.types
        self.left_out = [f"{fqn}: {reason}" for fqn, reason in mapped.left_out.items()]
        self.padded = 0
        """Number of texts with NULs at their end, which other clients refuse or show."""

    def lines(self) -> Iterator[str]:
        """Yield the containers."""
        root = list(self._attributes(self.checked.dataset.attributes, "/"))
        rest = [line for name in self.mapped.nodes for line in self._write_variable(name)]
        for path, group in self.checked.groups.items():
            if path != "/":
                rest += self._write_group(path, group)
        for fqn in self.checked.types:
            if isinstance(self.checked.types[fqn], EnumType):
                self.left_out.append(f"{fqn}: names of the values of an enumeration")
        if self.padded:
            self.left_out.append(f"attributes: NULs at the end of {self.padded} text{'s' * (self.padded > 1)}")
        if self.left_out:
            texts = ", ".join(quote(message.encode("utf-8", "surrogateescape")) for message in self.left_out)
            root.append(f"String {LEFT_OUT} {texts};")
        if root:
            yield from _container("NC_GLOBAL", root)  # as THREDDS and Hyrax name them
        yield from rest
        yield from self._list_unlimited()

    def _write_group(self, path: str, group: Group) -> Iterator[str]:
        lines = list(self._attributes(group.attributes, path))
        if lines:
            name = self.mapped.identifiers[path]
            lines += _list_texts(NAMES, () if self.mapped.identifiers.tells(path) else (path,))
            yield from _container(name, lines)

    def _write_variable(self, name: str) -> Iterator[str]:
        """Yield the lines of a variable's container in the DAS; a grid has the attributes of its array."""
        node = self.mapped.nodes[name]
        leaf = node.members[0] if node.kind == "grid" else node
        variable = self.checked.variables[leaf.fqn]
        attributes, told = self._recast(leaf, variable)
        lines = [*self._attributes(attributes, leaf.fqn), *_list_texts(TYPE, told)]
        if leaf.kind == "element":
            lines += self._hints(leaf, variable)
        lines += _list_texts(NAMES, self.mapped.identifiers.fqns(leaf.fqn))
        yield from _container(name, lines)

    def _recast(self, leaf: DdsNode, variable: Variable) -> tuple[tuple[Attribute, ...], tuple[str, ...]]:
        """Return the attributes of a variable in the type that is sent, and the texts that tell that of the dataset."""
        stored = find_stored_type(self.checked, leaf.fqn)
        if leaf.type != OTHER_SIGN.get(stored):
            return variable.attributes, ()
        alike = {each.name for each in variable.attributes if each.name in STORED and each.value.type == variable.type}
        attributes = tuple(
            each.with_value(recast(each.value, stored, leaf.type)) if each.name in alike else each
            for each in variable.attributes
        )
        return attributes, (stored, *sorted(alike)) if stored not in WIDE else ()

    def _hints(self, leaf: DdsNode, variable: Variable) -> Iterator[str]:
        """Yield attributes that tell libnetcdf how to read a variable."""
        if leaf.type in UNSIGNED and all(attribute.name != "_Unsigned" for attribute in variable.attributes):
            yield 'String _Unsigned "true";'
        longest = self._longest(leaf)
        if longest > USUAL:
            yield f"Int32 DODS.strlen {longest};"  # libnetcdf sizes its chars by it
        if leaf.hidden is not None:  # netCDF's clients restore chars by DODS.strlen and DODS.dimName
            yield f"Int32 DODS.strlen {leaf.hidden};"
            for name in self.mapped.identifiers.axes(variable, self.checked.shapes[leaf.fqn])[-1:]:
                yield f'String DODS.dimName "{name}";'

    def _longest(self, leaf: DdsNode) -> int:
        """Return the bytes of the longest string, 0 for other types and large arrays. Raises OSError."""
        if leaf.type != "string" or leaf.cells > MOST_STRINGS:
            return 0
        texts = text_slabs(leaf, sources_of(self.checked, leaf)[""])
        return max((len(text) for part in texts for text in part), default=0)

    def _list_unlimited(self) -> Iterator[str]:
        """Yield an unlimited dimension. DAP2 has one at most, and libnetcdf expects it first in all its variables."""
        later = {dimension for variable in self.checked.variables.values() for dimension in variable.dimensions[1:]}
        for fqn, dimension in self.checked.dimensions.items():
            if dimension.unlimited and dimension.size and fqn not in later:  # THREDDS tells one in `DODS_EXTRA`
                line = f'String Unlimited_Dimension "{self.mapped.identifiers[fqn]}";'
                yield from _container(UNLIMITED, [line])
                return

    def _attributes(self, attributes: tuple[Attribute, ...], owner: str) -> Iterator[str]:
        for attribute in attributes:
            if attribute.name in (NAMES, TYPE):
                self.left_out.append(f"{owner}@{attribute.name}: the server has an attribute of this name")
                continue
            name = wire_name((attribute.name,))
            if (read := decode_name(name)) != attribute.name:
                self.left_out.append(f"{owner}@{attribute.name}: clients read the name `{read}`")
            yield from self._write_attribute(name, attribute.value, f"{owner}@{attribute.name}")

    def _write_attribute(self, name: str, value: Constant, place: str) -> Iterator[str]:
        declared = self.types.get(value.type)
        match declared:
            case EnumType():
                value = as_integers(value, self.types)
            case OpaqueType():
                data = value.data if isinstance(value.data, bytes) else b""
                value = Constant(type="ubyte", count=len(data), data=data)
            case VlenType() | CompoundType():
                self.left_out.append(f"{place}: attributes are numbers and texts")
                return
        if value.type in ("char", "string"):
            yield f"String {name} {', '.join(self._texts(value, place))};"
            return
        if not value.count:
            self.left_out.append(f"{place}: an attribute has at least one value")
            return
        numbers = value.as_numbers()
        if value.type in WIDE and any(abs(number) > EXACT for number in numbers):
            self.left_out.append(f"{place}: its 64-bit integers are no doubles")
            return
        yield f"{WORDS[value.type].dap2} {name} {', '.join(_number(number) for number in numbers)};"

    def _texts(self, value: Constant, place: str) -> Iterator[str]:
        """Yield the texts of an attribute between quotes, without NULs at the end."""
        texts = (value.data,) if isinstance(value.data, bytes) else value.data or (b"",)
        for exact in texts:
            text = exact.rstrip(b"\0") if isinstance(exact, bytes) else b""
            self.padded += isinstance(exact, bytes) and text != exact
            if b"\0" in text:
                self.left_out.append(f"{place}: it has NULs inside, where clients may end the text")
            yield quote(text)


def _container(name: str, lines: list[str]) -> Iterator[str]:
    yield f"{name} {{"
    yield from (STEP + line for line in lines)
    yield "}"


def _list_texts(name: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"String {name} {', '.join(quote(text.encode('utf-8', 'surrogateescape')) for text in texts)};"


def _number(value: int | float) -> str:
    """Return the text that reads back to the same value, also as a double: pydap compares a `Float32` as one."""
    text = repr(value)
    return "NaN" if text == "nan" else text
