"""Conversion of literals to atomic values, with reports of every loss.

ncgen silently casts like C; here values out of range are errors and lost
fractions warnings.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nczarr.ast.types import ATOMIC, Atomic
from nczarr.ast.values import Constant, single
from nczarr.diagnostics.report import Fix, Report, Source, Span, suggest
from nczarr.formats.cdl.values.literals import Literal

if TYPE_CHECKING:
    from nczarr.arrays.values.time_units import Units

INTEGERS = ("byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64")
NUMBER_WORDS = ("NaN", "NaNf", "Infinity", "Infinityf", "-Infinity", "-Infinityf")

_LONGEST_LINE = 100
"""Maximum bytes of a line that is shown with corrections."""

_NUMBER = re.compile(
    rb"[+-]?(?:(?P<int>0|[1-9][0-9]{0,8})"  # nine digits always fit an int; a leading zero would be octal
    rb"|(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)|[0-9]++\.[0-9]*+|\.[0-9]++(?:[eE][+-]?[0-9]++)?)(?P<float>[fF])?)"
)


class Converter:
    """Converter of one source's literals; `what` names the target in messages (`an int variable`)."""

    def __init__(self, source: Source, report: Report, units: Callable[[], Units | None] | None = None) -> None:
        """Set up; `units`: given for variable data, which allows dates and integers of the other sign."""
        self.source = source
        self.report = report
        self.units = units
        self.dates_told = False

    def error(self, code: str, message: str, literal: Literal, help_: str = "") -> None:
        """Report an error at a literal."""
        span = Span(self.source, literal.start, literal.end)
        self.report.error(code, message, span, helps=[help_] if help_ else ())

    def warning(self, code: str, message: str, literal: Literal, help_: str = "") -> None:
        """Report a warning at a literal."""
        span = Span(self.source, literal.start, literal.end)
        self.report.warning(code, message, span, helps=[help_] if help_ else ())

    def number(self, literal: Literal, type_name: str, what: str) -> int | float | None:
        """Return a literal as a number of an atomic type, None after a reported fault."""
        atomic = ATOMIC[type_name]
        match literal.kind:
            case "int":
                return self._from_integer(literal, literal.value, atomic, what)
            case "float":
                return self._from_float(literal, literal.value, atomic, what)
            case "hex":
                return self._from_integer(literal, int(literal.value, 16), atomic, what)  # ncgen swaps the bytes
            case "char":
                byte: int = literal.value[0]
                return byte if type_name == "ubyte" else byte - 256 if byte > 127 else byte  # a byte is signed
            case "string":
                return self._from_text(literal, atomic, what)
            case "nil":
                self.error("type-mismatch", f"NIL is valid only for strings, not for {what}", literal)
            case "fill" | "list":
                self._not_plain(literal, what)
            case _:
                self.name(literal, what)
        return None

    def _not_plain(self, literal: Literal, what: str) -> None:
        """Report a fill mark or braced list in place of a plain value."""
        if literal.kind == "fill":
            self.error("fill-in-attribute", "an attribute cannot hold the fill mark `_`", literal)
        else:
            message = f"{what} takes plain values, without braces"
            self.error("unexpected-braces", message, literal, "remove the braces")

    def name(self, literal: Literal, what: str) -> None:
        """Report a word in place of a number."""
        [help_] = suggest(literal.value, NUMBER_WORDS) or ["words are enum constants; a number is expected here"]
        message = f"`{literal.value}` is not defined, and {what} takes no enum constant"
        self.error("undefined-enum-constant", message, literal, help_)

    def _unquote(self, literal: Literal, literals: Sequence[Literal]) -> None:
        """Report a word as the value of an attribute without a type, with the corrected line as help."""
        [help_] = suggest(literal.value, NUMBER_WORDS) or [f"write `{self._with_quotes(literals)}`"]
        self.error("unquoted-text", f"text needs quotes: `{literal.value}` is not a number", literal, help_)

    def _with_quotes(self, literals: Sequence[Literal]) -> str:
        """Return the statement of some values with their words in quotes; without its begin if the line is long."""
        begin = literals[0].start
        line = max(self.source.data.rfind(mark, 0, begin) for mark in (b"\n", b";", b"{")) + 1
        if begin - line > _LONGEST_LINE:
            line = begin
        text, at = "", line
        for literal in literals:
            word = self.source.text(literal.start, literal.end).strip("\u201c\u201d\u201e")  # quotes of word processors
            text += self.source.text(at, literal.start) + (f'"{word}"' if literal.kind == "name" else word)
            at = literal.end
            if at - line > _LONGEST_LINE:
                return f"{text.strip()}, …"
        return text.strip() + (" ;" if line < begin else "")

    def _from_integer(self, literal: Literal, value: int, atomic: Atomic, what: str) -> int | float | None:
        """Convert an integer; data may spell signed values unsigned (255 for the byte -1), with a warning."""
        if atomic.is_float:
            return single(float(value)) if atomic.name == "float" else float(value)
        if atomic.low <= value <= atomic.high:
            return value
        span = atomic.high - atomic.low + 1
        if self.units is not None and -(span // 2) <= value < span:
            meant = value - span if value > atomic.high else value + span
            where = what if atomic.name in what.split() else f"{what} of type {atomic.name}"
            message = f"{value} is the spelling of {meant} with the other sign in {where}"
            self.warning("sign-wrap", message, literal, Fix(f"write {meant}", str(meant)))
            return meant
        help_ = "`long` has 32 bits in CDL; use int64" if atomic.name == "int" else ""
        message = f"{value} does not fit type {atomic.name} ({atomic.low} .. {atomic.high})"
        self.error("value-range", message, literal, help_)
        return None

    def _from_float(self, literal: Literal, value: float, atomic: Atomic, what: str) -> int | float | None:
        if atomic.name == "double":
            return value
        if atomic.name == "float":
            number = single(value)
            if math.isinf(number) and not math.isinf(value):
                self.error("value-range", f"{value!r} does not fit type float", literal, "use double")
                return None
            return number
        if not math.isfinite(value):  # ncgen stores -2147483648 for NaN
            self.error("value-range", f"{_spell(value)} cannot be stored in {what}", literal)
            return None
        whole = math.trunc(value)
        if not atomic.low <= whole <= atomic.high:  # ncgen casts like C: 1e20 becomes -2147483648
            message = f"{value!r} does not fit type {atomic.name} ({atomic.low} .. {atomic.high})"
            self.error("value-range", message, literal)
            return None
        if whole != value:
            text = f"{value!r} loses its fraction in {what}"
            self.warning("inexact", text, literal, Fix(f"write {whole}", str(whole)))
        return whole

    def _from_text(self, literal: Literal, atomic: Atomic, what: str) -> int | float | None:
        """Convert a numeric text with a warning; report any other text."""
        try:
            text = literal.value.decode("ascii").strip()
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
        except (UnicodeDecodeError, ValueError):
            value = None
        if value is None or "_" in text:  # Python takes `1_0` for 10
            date = self._from_date(literal, atomic, what)
            if date is not None:
                return date
            message = f"a string cannot be stored in {what}"
            self.error("type-mismatch", message, literal, f"{what} takes values of type {atomic.name}")
            return None
        self.warning("converted-value", f'the text "{text}" is converted to a number of type {atomic.name}', literal)
        if isinstance(value, int):
            return self._from_integer(literal, value, atomic, what)
        return self._from_float(literal, value, atomic, what)

    def _from_date(self, literal: Literal, atomic: Atomic, what: str) -> int | float | None:
        """Convert a date of a time variable, as `ncdump -t` prints it (`dates.py`)."""
        from nczarr.formats.cdl.values.dates import count_units

        units = self.units() if self.units is not None else None
        text = literal.value.decode("ascii", "replace")
        number = None if units is None else count_units(text, units)
        if units is None or number is None:
            return None
        value = int(number) if number.denominator == 1 else float(number)
        message = f'the date "{text}" is stored as {value} ({units.text})'
        if not self.dates_told:
            self.warning("converted-value", f"{message}, like the other dates of this list", literal)
            self.dates_told = True
        if isinstance(value, int):
            return self._from_integer(literal, value, atomic, what)
        return self._from_float(literal, value, atomic, what)

    def chars(self, literal: Literal, what: str) -> bytes | None:
        """Return a literal as chars, None after a fault."""
        match literal.kind:
            case "string" | "char":
                data: bytes = literal.value
                return data
            case "int" if literal.type in ("byte", "ubyte"):
                return bytes([literal.value & 0xFF])
            case "fill" | "list":
                self._not_plain(literal, what)
            case "nil":
                self.error("type-mismatch", f"NIL is valid only for strings, not for {what}", literal)
            case _:
                self.error("type-mismatch", f"{what} takes strings, not numbers or words", literal, "put it in quotes")
        return None

    def string(self, literal: Literal, what: str) -> bytes | bool | None:
        """Return a literal as one string: bytes, None for NIL, False after a fault."""
        match literal.kind:
            case "string":
                data: bytes = literal.value
                if b"\0" not in data:
                    return data
                self.warning(
                    "truncated-string", "a value of type string ends at its first NUL byte", literal, "use char"
                )
                return data[: data.index(b"\0")]
            case "nil":
                return None
            case "int" | "float" | "char":
                text = _spell(literal.value) if literal.kind != "char" else literal.value.decode("latin-1")
                self.warning(
                    "converted-value", f'the value is converted to the text "{text}"', literal, "put it in quotes"
                )
                return text.encode()
            case "fill" | "list":
                self._not_plain(literal, what)
            case _:
                self.error("type-mismatch", f"{what} takes strings", literal, "put it in quotes")
        return False

    def atomic(self, literals: Sequence[Literal], type_name: str, what: str) -> Constant | None:
        """Return the values of an attribute with an atomic type, None after a fault."""
        if type_name == "char":
            runs = [self.chars(literal, what) for literal in literals]
            return None if None in runs else Constant.text(b"".join(run for run in runs if run is not None))
        if type_name == "string":
            texts = [self.string(literal, what) for literal in literals]
            if False in texts:
                return None
            return Constant.strings(text for text in texts if not isinstance(text, bool))
        numbers = [self.number(literal, type_name, what) for literal in literals]
        if None in numbers:
            return None
        values = [number for number in numbers if number is not None]
        return Constant(type=type_name, count=len(values), data=pack(type_name, values))

    def type_untyped(self, literals: Sequence[Literal], attribute: str) -> Constant | None:
        """Return the values of an untyped attribute, as it is spelled: texts as char, numbers in their common type."""
        kinds = {literal.kind for literal in literals}
        first = literals[0]
        if kinds == {"string"}:
            return Constant.text(b"".join(literal.value for literal in literals) or b"\0")
        for literal in literals:
            if literal.kind == "fill":
                self.error("fill-in-attribute", "an attribute cannot hold the fill mark `_`", literal)
                return None
            if literal.kind == "name":
                self._unquote(literal, literals)
                return None
            if literal.kind in ("list", "nil", "hex"):
                what = {"list": "values in braces need", "nil": "NIL needs", "hex": "hexadecimal constants need"}
                fitting = (name for name in INTEGERS[4:] if int(literal.value, 16) <= ATOMIC[name].high)
                typed = {"list": "list_t", "nil": "string"}.get(literal.kind) or next(fitting, "opaque_t")
                shown = bytes(self.source.data[literal.start : literal.end])[:40].decode(errors="replace")
                remedy = f"write the type first, as in `{typed} {attribute} = {shown} ;`"
                self.error("untyped-attribute", f"{what[literal.kind]} an attribute with a type", literal, remedy)
                return None
            if (literal.kind == "string") != (first.kind == "string"):
                self.error("mixed-types", "text and numbers are mixed in one attribute", literal)
                return None
        type_name = self._common_type(literals)
        return self.atomic(literals, type_name, "an attribute") if type_name else None

    def _common_type(self, literals: Sequence[Literal]) -> str | None:
        """Return the narrowest type that holds all literals, at least as wide as each; None after an error."""
        types = {literal.type for literal in literals}
        if "double" in types or "float" in types:
            return "double" if "double" in types else "float"
        if len(types) == 1:
            return types.pop()
        values = [_integer(literal) for literal in literals]
        if min(values) < 0:  # beside a negative number, a plain one is unsigned no longer
            types = {self._choose_integer(literal) for literal in literals}
        width = max(ATOMIC[name].size for name in types)
        for candidate in INTEGERS:
            atomic = ATOMIC[candidate]
            if "uint64" in types and candidate != "uint64":
                continue  # nothing signed is as wide as an uint64 constant
            if atomic.size >= width and atomic.low <= min(values) and max(values) <= atomic.high:
                return candidate
        lowest = literals[values.index(min(values))]
        highest = max(values)
        text = f"no integer type holds both {highest} and {min(values)}"
        self.error("value-range", text, lowest, "write the type first")
        return None

    def _choose_integer(self, literal: Literal) -> str:
        """Return the type of an integer; int64 for a large one that is uint64 only by size, without suffix."""
        plain = literal.type == "uint64" and bytes(self.source.data[literal.end - 1 : literal.end]).isdigit()
        return "int64" if plain and literal.value <= ATOMIC["int64"].high else literal.type


def _integer(literal: Literal) -> int:
    if literal.kind == "char":
        byte: int = literal.value[0]
        return byte - 256 if byte > 127 else byte
    number: int = literal.value
    return number


def _spell(value: int | float) -> str:
    if isinstance(value, float):
        return "NaN" if value != value else repr(value).replace("inf", "Infinity")
    return str(value)


def pack(type_name: str, values: Sequence[int | float]) -> bytes:
    """Return numbers as canonical bytes of an atomic numeric type."""
    return struct.pack(f"<{len(values)}{ATOMIC[type_name].code}", *values)


def plain_numbers(text: bytes, declared: str | None = None) -> Constant | None:
    """Return the constant of plain ints, doubles or floats, in their own type or a declared one.

    A fast path for the most common attribute values. None: other text or a
    fault, for literal parsing.
    """
    items = [item.strip(b" \t") for item in text.split(b",")]
    kinds = {match.lastgroup or "double" if match else None for match in map(_NUMBER.fullmatch, items)}
    kind = kinds.pop()
    if kind is None or kinds:
        return None
    atomic = ATOMIC[declared or kind]
    if kind == "int":
        values: Sequence[int | float] = list(map(int, items))
    else:
        values = [float(item.rstrip(b"fF")) for item in items]
        if kind == "float":
            values = [single(value) for value in values]
    if atomic.is_integer:
        if kind != "int" or not atomic.low <= min(values) <= max(values) <= atomic.high:
            return None
    elif atomic.is_float:
        values = [single(float(value)) if atomic.name == "float" else float(value) for value in values]
        if not all(map(math.isfinite, values)):
            return None
    else:
        return None
    return Constant(type=atomic.name, count=len(values), data=pack(atomic.name, values))
