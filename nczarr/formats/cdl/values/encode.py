"""Type-directed conversion of literals (braces as nested lists) to constants; reports every fault.

Recursion follows the type, so deeply nested text is safe.
"""

import itertools
import math
from collections.abc import Sequence

from nczarr import names
from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.arrays.values.value_lists import join
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, Field, OpaqueType, TypeName, VlenType
from nczarr.diagnostics.report import suggest
from nczarr.formats.cdl.values.literal_values import Converter, pack
from nczarr.formats.cdl.values.literals import Literal
from nczarr.names.records import NamedTuple
from nczarr.semantics.check_types import find_marked_value

Data = list[bytes] | list["bytes | None"] | list[Constant]


class ValueSlot(NamedTuple):
    """Target of a value."""

    what: str
    """Name of the target in messages."""
    fill: Constant | None = None
    may_fill: bool = True
    """True if `_` is allowed."""


class LiteralEncoder:
    """Encoder of one source's literals as constants."""

    def __init__(self, convert: Converter, types: Types) -> None:
        self.convert = convert
        self.types = types

    def constant(self, literals: Sequence[Literal], type_name: TypeName, place: ValueSlot) -> Constant | None:
        """Return the values as one constant, one per literal (char: runs of bytes); None after a fault."""
        if type_name == "char":
            return Constant.text(b"".join(self._char(literal, place) or b"" for literal in literals))
        if (bare := self.bare(literals, type_name)) is not None:
            self.value(bare, type_name, place)  # says that braces are missing: once, not for every value
            return None
        values = [self.value(literal, type_name, place) for literal in literals]
        encoded = [value for value in values if value is not None]
        return join(type_name, encoded, self.types) if len(encoded) == len(values) else None

    def bare(self, literals: Sequence[Literal], type_name: TypeName) -> Literal | None:
        """Return the first value without the braces that its type requires."""
        if not isinstance(self.types.get(type_name), VlenType | CompoundType):
            return None
        return next((literal for literal in literals if literal.kind not in ("list", "fill")), None)

    def value(self, literal: Literal, type_name: TypeName, place: ValueSlot) -> Constant | None:
        """Return one value of a type, None after a fault."""
        if literal.kind == "fill":
            return self._encode_fill(literal, type_name, place)
        declared = self.types.get(type_name)
        match declared:
            case None:
                return self._atomic(literal, type_name, place)
            case EnumType():
                return self._enum(literal, type_name, declared, place)
            case OpaqueType():
                return self._opaque(literal, type_name, declared, place)
            case VlenType():
                return self._vlen(literal, type_name, declared, place)
            case CompoundType():
                return self._compound(literal, type_name, declared, place)

    def _encode_fill(self, literal: Literal, type_name: TypeName, place: ValueSlot) -> Constant | None:
        """Return the value that the fill mark `_` stands for; None after a reported error."""
        if not place.may_fill:
            self.convert.error("fill-in-attribute", "an attribute cannot hold the fill mark `_`", literal)
            return None
        if place.fill is not None and place.fill.type == type_name:
            return place.fill
        fill = find_marked_value(type_name, self.types)
        if fill is None:
            message = f"`_` has no meaning for {place.what}: its enum has no constant of value 0"
            help_ = "give the variable a `_FillValue`, or write a constant of the enum"
            self.convert.error("no-fill-value", message, literal, help_)
        return fill

    def _atomic(self, literal: Literal, type_name: TypeName, place: ValueSlot) -> Constant | None:
        if literal.kind == "list":
            help_ = "braces are only for compound and vlen values and inner unlimited dimensions"
            self.convert.error("unexpected-braces", f"{place.what} takes plain values", literal, help_)
            return None
        if type_name == "string":
            text = self.convert.string(literal, place.what)
            return None if isinstance(text, bool) else Constant.strings([text])
        if type_name == "char":
            data = self._char(literal, place)
            if data is None or len(data) > 1:
                if data is not None:
                    self.convert.error(
                        "too-many-values", f"{place.what} holds 1 character, {len(data)} are given", literal
                    )
                return None
            return Constant.text(data or b"\0")
        number = self.convert.number(literal, type_name, place.what)
        return None if number is None else Constant(type=type_name, count=1, data=pack(type_name, [number]))

    def _char(self, literal: Literal, place: ValueSlot) -> bytes | None:
        if literal.kind == "fill" and place.may_fill:
            fill = place.fill.data if place.fill is not None and place.fill.type == "char" else b"\0"
            return fill if isinstance(fill, bytes) else b"\0"
        return self.convert.chars(literal, place.what)

    def _enum(self, literal: Literal, type_name: TypeName, declared: EnumType, place: ValueSlot) -> Constant | None:
        if literal.kind == "list":
            self.convert.error("unexpected-braces", f"{place.what} takes plain values", literal, "remove the braces")
            return None
        if literal.kind != "name":
            meant = ""
            if literal.kind in ("int", "hex"):
                number = literal.value if literal.kind == "int" else int(literal.value, 16)
                meant = next((item.name for item in declared.constants if item.value == number), "")
            message = f"{place.what} takes constants of the enum `{declared.name}`"
            message += f": write `{meant}`, not its value" if meant else ", not other values"
            self.convert.error("type-mismatch", message, literal, "" if meant else f"it has: {_list_names(declared)}")
            return None
        value = enum_value(literal.value, declared)
        if value is None:
            message = f"`{literal.value}` is not a constant of enum `{declared.name}` (it has: {_list_names(declared)})"
            help_ = suggest(literal.value, (item.name for item in declared.constants))
            self.convert.error("undefined-enum-constant", message, literal, *help_)
            return None
        return Constant(type=type_name, count=1, data=pack(declared.base, [value]))

    def _opaque(self, literal: Literal, type_name: TypeName, declared: OpaqueType, place: ValueSlot) -> Constant | None:
        if literal.kind != "hex":
            code = "unexpected-braces" if literal.kind == "list" else "type-mismatch"
            help_ = f"write it in hexadecimal, as in 0x{'00' * min(declared.size, 8)}"
            self.convert.error(code, f"{place.what} takes opaque({declared.size}) values", literal, help_)
            return None
        digits: bytes = literal.value
        data = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
        if len(data) > declared.size:
            ones = "byte is" if len(data) == 1 else "bytes are"
            self.convert.error("opaque-length", f"{len(data)} {ones} given for opaque({declared.size})", literal)
            return None
        if len(data) < declared.size or len(digits) % 2:
            message = f"{len(digits)} digits are given for opaque({declared.size}): zeros are added behind them"
            self.convert.warning("short-opaque", message, literal, f"write {2 * declared.size} digits")
        return Constant(type=type_name, count=1, data=data.ljust(declared.size, b"\0"))

    def _vlen(self, literal: Literal, type_name: TypeName, declared: VlenType, place: ValueSlot) -> Constant | None:
        if literal.kind != "list":
            message = f"a value of the vlen type `{declared.name}` must be enclosed in {{ }}"
            self.convert.error("missing-braces", message, literal, "write it as `{1, 2, 3}`")
            return None
        nested = next((item for item in literal.value if item.kind == "list"), None)
        if nested is not None and declared.base in ATOMIC:
            message = f"a vlen of {declared.base} takes plain values, not nested lists"
            self.convert.error("nesting", message, nested, "remove the inner braces")
            return None
        inner = ValueSlot(f"the vlen type `{declared.name}`", None, place.may_fill)
        element = self.constant(literal.value, declared.base, inner)
        return None if element is None else Constant(type=type_name, count=1, data=(element,))

    def _compound(
        self, literal: Literal, type_name: TypeName, declared: CompoundType, place: ValueSlot
    ) -> Constant | None:
        if literal.kind != "list":
            message = f"a value of the compound type `{declared.name}` must be enclosed in {{ }}"
            self.convert.error("missing-braces", message, literal, "write it as `{field, field}`")
            return None
        members: list[Literal] = literal.value
        if len(members) > len(declared.fields):
            if self._field_without_braces(members, declared, place):
                return None
            ones = "field" if len(declared.fields) == 1 else "fields"
            message = f"compound `{declared.name}` has {len(declared.fields)} {ones}, {len(members)} values are given"
            self.convert.error("too-many-values", message, members[len(declared.fields)])
            return None
        fills = self._field_fills(type_name, place)
        every = itertools.zip_longest(declared.fields, members, fills)
        constants = [self._encode_field(value, field, fill, literal, place) for field, value, fill in every]
        values = [value for value in constants if value is not None]
        if len(values) < len(constants):
            return None
        if not is_fixed(type_name, self.types):
            return Constant(type=type_name, count=1, data=tuple(values))
        return Constant(type=type_name, count=1, data=b"".join(value.data for value in values))  # type: ignore[misc]

    def _field_without_braces(self, members: Sequence[Literal], declared: CompoundType, place: ValueSlot) -> bool:
        """Report a field without braces as the cause of too many values; return whether there is one."""
        for literal, field in zip(members, declared.fields, strict=False):
            array = field.shape and field.type != "char" and literal.kind not in ("list", "fill")
            if array or self.bare([literal], field.type) is not None:
                self._encode_field(literal, field, None, literal, place)
                return True
        return False

    def _field_fills(self, type_name: TypeName, place: ValueSlot) -> tuple[Constant, ...]:
        """Return the fields of the variable's `_FillValue`, if they are separate constants."""
        if place.fill is None or place.fill.type != type_name or not isinstance(place.fill.data, tuple):
            return ()
        return tuple(item for item in place.fill.data if isinstance(item, Constant))

    def _encode_field(
        self, literal: Literal | None, field: Field, fill: Constant | None, whole: Literal, place: ValueSlot
    ) -> Constant | None:
        count = math.prod(field.shape)
        what = f"field `{field.name}`"
        if literal is not None and literal.kind == "fill" and not place.may_fill:
            self.convert.error("fill-in-attribute", "an attribute cannot hold the fill mark `_`", literal)
            return None
        if literal is None or literal.kind == "fill":
            constant = fill or find_marked_value(field.type, self.types, count)
            if constant is None:
                message = f"{what} has no fill value: its enum has no constant of value 0"
                self.convert.error("no-fill-value", message, literal or whole)
            return constant
        inner = ValueSlot(what, None, place.may_fill)
        if field.type == "char":
            return self._char_field(literal, field, count, inner)
        if not field.shape:
            return self.value(literal, field.type, inner)
        if literal.kind != "list":
            message = f"the values of the array {what} must be enclosed in {{ }}"
            self.convert.error("missing-braces", message, literal, "put braces around them")
            return None
        return self._encode_array(literal, field.type, count, inner)

    def _encode_array(self, literal: Literal, type_name: TypeName, count: int, place: ValueSlot) -> Constant | None:
        """Convert the list of an array field; too short a list is filled up."""
        elements: list[Literal] = literal.value
        if len(elements) > count:
            message = f"{place.what} holds {count} values, {len(elements)} are given"
            self.convert.error("too-many-values", message, elements[count])
            return None
        value = self.constant(elements, type_name, place)
        if value is None or len(elements) == count:
            return value
        rest = find_marked_value(type_name, self.types, count - len(elements))
        if rest is None:
            message = f"{place.what} needs {count} values, {len(elements)} are given"
            self.convert.error("too-few-values", message, literal)
            return None
        return join(type_name, [value, rest], self.types)

    def _char_field(self, literal: Literal, field: Field, count: int, place: ValueSlot) -> Constant | None:
        """Return the chars of a field: texts, each padded to a row if there are several rows."""
        texts: list[Literal] = literal.value if literal.kind == "list" else [literal]
        row = field.shape[-1] if len(field.shape) > 1 else 0
        data, lengths = b"", list[int]()
        for text in (grouped := strings(texts)):
            runs = [self._char(item, place) for item in text]
            if None in runs:
                return None
            run = b"".join(piece for piece in runs if piece is not None)
            lengths.append(len(run))
            data += run.ljust(max(row, -(-len(run) // row) * row), b"\0") if row else run
            if len(data) > count:
                self.convert.error("too-many-values", *describe_surplus(grouped, lengths, row, count, place.what))
                return None
        return Constant.text(data.ljust(count, b"\0"))


def describe_surplus(
    texts: list[list[Literal]], lengths: list[int], row: int, limit: int, what: str
) -> tuple[str, Literal]:
    """Return message and place for texts of which the last of `lengths` does not fit; `row`: 0 if they are joined."""
    if row and len(texts) * row <= limit:  # one text takes several rows, as in ncgen
        at = next(place for place, length in enumerate(lengths) if length > row)
        return f"the text has {lengths[at]} characters, a row of {what} has {row}", texts[at][0]
    if row:
        return f"{what} holds {limit // row} text{'s' * (limit != row)}, {len(texts)} are given", texts[limit // row][0]
    given = sum(len(item.value) for text in texts for item in text if isinstance(item.value, bytes))
    return f"{what} holds {limit} character{'s' * (limit != 1)}, {given} are given", texts[len(lengths) - 1][0]


def strings(literals: Sequence[Literal]) -> list[list[Literal]]:
    """Group char literals into texts: each string alone, runs of character constants together."""
    texts: list[list[Literal]] = []
    for literal in literals:
        if literal.kind != "string" and texts and texts[-1][0].kind != "string":
            texts[-1].append(literal)
        else:
            texts.append([literal])
    return texts


def enum_value(text: str, declared: EnumType) -> int | None:
    """Return the enum value of a word (constant, `E.name`, or a path to either), or None."""
    word = text.rsplit("/", 1)[-1] if text.startswith("/") else text
    values = {constant.name: constant.value for constant in declared.constants}
    whole = names.normal(names.unescape_cdl(word))
    if whole in values:
        return values[whole]
    for at, character in enumerate(word):
        if character == "." and names.normal(names.unescape_cdl(word[:at])) == declared.name:
            value = values.get(names.normal(names.unescape_cdl(word[at + 1 :])))
            if value is not None:
                return value
    return None


def _list_names(declared: EnumType) -> str:
    labels = [constant.name for constant in declared.constants]
    return ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")
