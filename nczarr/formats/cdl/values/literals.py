"""Parsing of value lists (text between `=` and `;`) into a tree of `Literal`, with braces as lists.

Where ncgen silently wraps, truncates, misreads or guesses, faults are reported
at their place.
"""

import math
import re
from typing import Any
from typing import Literal as Choice

from nczarr import names
from nczarr.ast.types import ATOMIC
from nczarr.ast.values import single
from nczarr.diagnostics.report import Buffer, Fix, Report, Source, Span, did_you_mean
from nczarr.formats.cdl.spelling import strange_character
from nczarr.names.records import record

Kind = Choice["int", "float", "hex", "char", "string", "fill", "nil", "name", "list"]


@record
class Literal:
    """One literal of a value list."""

    kind: Kind
    value: Any
    """An int, float, bytes (char, string; hex: its digits), name, or list of literals."""
    type: str
    """The constant's own type, by suffix, size or form; empty without one."""
    start: int
    """First byte."""
    end: int
    """Byte after the last."""


SUFFIXES = {
    b"b": "byte", b"s": "short", b"l": "int", b"ll": "int64",
    b"ub": "ubyte", b"us": "ushort", b"u": "uint", b"ul": "uint", b"ull": "uint64",
    b"bu": "ubyte", b"su": "ushort", b"lu": "uint", b"llu": "uint64",
}  # fmt: skip
"""Type by integer suffix."""


class Stop(Exception):  # noqa: N818
    """A reported fault that makes the rest of a list meaningless."""


class ListReader:
    """Reader of value lists of a source."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def error(self, code: str, message: str, start: int, end: int, help_: str = "", *, missing: str = "") -> None:
        """Report an error at a byte range."""
        span = Span(self.source, start, end)
        self.report.error(code, message, span, helps=[help_] if help_ else (), missing=missing)

    def stop(self, code: str, message: str, start: int, end: int, help_: str = "", *, missing: str = "") -> Stop:
        """Report a fatal error of a list; return the exception to raise."""
        self.error(code, message, start, end, help_, missing=missing)
        return Stop()

    def integer(self, text: bytes, start: int, end: int) -> Literal:
        """Return an integer with its suffix. Raises Stop."""
        digits = text.rstrip(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
        suffix = text[len(digits) :]
        declared = SUFFIXES.get(suffix.lower()) if suffix else ""  # suffixes have any case
        if declared is None:
            raise self._bad_suffix(digits, suffix, start, end)
        bare = digits.lstrip(b"+-")
        if len(bare) > 1 and bare[:1] == b"0":  # ncgen, too: a leading 0 means octal, also with a suffix
            value = self._octal(digits, bare, start, end)
        elif len(bare) > 40:
            raise self.stop("integer-overflow", "integer constant does not fit 64 bits", start, end)
        else:
            value = int(digits)
        if declared:
            return self._fit_to_suffix(value, declared, digits, start, end)
        # As ncgen has it: above uint a plain number is uint64, and int64 only below zero.
        for candidate in ("int", "uint", "uint64") if value >= 0 else ("int", "int64"):
            if ATOMIC[candidate].low <= value <= ATOMIC[candidate].high:
                return Literal("int", value, candidate, start, end)
        if value < 0:
            raise self.stop("integer-overflow", f"{value} does not fit int64", start, end)
        raise self.stop("integer-overflow", f"integer constant {value} does not fit 64 bits", start, end)

    def _octal(self, digits: bytes, bare: bytes, start: int, end: int) -> int:
        """Convert an integer with a leading 0; `bare`: its digits without sign."""
        for bad in b"89":  # ncgen stops at the first bad digit: 08 is 0
            if bad in bare:
                message = f"{bare.decode()} starts with 0, so it is octal, and {chr(bad)} is not an octal digit"
                decimal = ("-" if digits[:1] == b"-" else "") + (bare.lstrip(b"0").decode() or "0")
                help_ = Fix(f"write {decimal} for a decimal number", decimal)
                raise self.stop("bad-number", message, start, end, help_)
        if len(bare) > 60:
            raise self.stop("integer-overflow", "integer constant does not fit 64 bits", start, end)
        return int(bare, 8) * (-1 if digits[:1] == b"-" else 1)

    def _fit_to_suffix(self, value: int, declared: str, digits: bytes, start: int, end: int) -> Literal:
        """Return an integer with a suffix, such as `255b`, which means -1, as a literal of the suffix's type."""
        atomic = ATOMIC[declared]
        if atomic.low == 0:
            if digits[:1] == b"-":  # ncgen refuses this as well
                raise self.stop("bad-number", "an unsigned constant cannot be negative", start, end)
            top = atomic.high
        else:
            top = 2 * atomic.high + 1  # the unsigned spelling of a signed value is intended (255b is -1)
        if not atomic.low <= value <= top:
            message = f"{value} does not fit a {declared} constant ({atomic.low} .. {top})"
            code = "integer-overflow" if declared in ("int64", "uint64") else "suffix-range"
            raise self.stop(code, message, start, end, "use a wider suffix, or none")
        if value > atomic.high:
            value -= 2 * (atomic.high + 1)
        return Literal("int", value, declared, start, end)

    def _bad_suffix(self, digits: bytes, suffix: bytes, start: int, end: int) -> Stop:
        if suffix.lower() == b"e":
            return self.stop("bad-number", "exponent has no digits", start, end)
        if suffix.lower() in (b"f", b"d"):  # ncgen takes `1f` for 1 and a name
            message, real = f"`{show(suffix)}` is a suffix of numbers with a point", f"{show(digits)}.{show(suffix)}"
            return self.stop("bad-number", message, start, end, Fix(f"write `{real}`", real))
        help_ = "the suffixes are b, s, l, ll, each also with u before or after it"
        return self.stop("bad-number", f"unknown number suffix `{show(suffix)}`", start + len(digits), end, help_)

    def real(self, text: bytes, start: int, end: int) -> Literal:
        """Return a float or double. Raises Stop."""
        body, suffix = text, text[-1:].lower()
        if suffix in (b"f", b"d", b"l"):  # `1.5d` and `1.5L` are doubles
            body = text[:-1]
        if not any(48 <= code <= 57 for code in body):  # digits may be missing on either side of the point
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end)
        try:
            value = float(body)
        except ValueError:
            if re.search(rb"[eE][+-]?$", body):
                raise self.stop("bad-number", "exponent has no digits", start, end) from None
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end) from None
        if b"_" in body:
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end)
        declared = "float" if suffix == b"f" else "double"
        if declared == "float":
            value = single(value)
        if math.isinf(value):
            span = Span(self.source, start, end)
            self.report.warning("float-overflow", f"`{show(text)}` is too large for {declared}: infinity", span)
        return Literal("float", value, declared, start, end)

    def hexadecimal(self, text: bytes, start: int, end: int) -> Literal:
        """Return a hexadecimal constant, a number or opaque bytes depending on context. Raises Stop."""
        digits = text[2:]
        match = re.fullmatch(rb"([0-9a-fA-F]+)(?:[sS]|[lL]{1,2})?", digits)  # `0xFFb` has three digits, no suffix
        if match is None:
            raise self.stop("bad-number", f"`{show(text)}` is not a hexadecimal constant", start, end)
        return Literal("hex", match.group(1), "", start, end)

    def read(self, start: int, end: int) -> list[Literal] | None:
        """Return the literals of a range, braces as nested lists; None after a reported fault."""
        try:
            return self._read(start, end)
        except Stop:
            return None

    def _read(self, start: int, end: int) -> list[Literal]:
        """Return the literals between two offsets; lists in braces are literals of kind `list`."""
        data: Buffer = self.source.data
        top: list[Literal] = []
        stack: list[tuple[list[Literal], int]] = []
        here, expect_value, previous = top, True, start
        at, item = start, re.compile(_ITEM)  # only where a list has more than plain numbers
        while True:
            space = _SPACE.match(data, at, end)
            at = space.end() if space else at
            if at >= end:
                break
            match = item.match(data, at, end)
            if match is None:
                raise self._explain_bad(at, end)
            kind, at_end = match.lastgroup, match.end()
            if kind == "comma":
                if expect_value:
                    where = "between two commas" if here else "before `,`"
                    help_ = "use `_` for the fill value" if here else ""
                    raise self.stop("expected-value", f"a value is missing {where}", at, at + 1, help_)
                expect_value = True
            elif kind == "close":
                if not stack:
                    raise self.stop("expected-token", "expected `;` before `}`", previous, previous)
                if expect_value and here:
                    raise self.stop("expected-value", "a value is missing after `,`", at, at + 1)
                inner, opened = here, stack[-1][1]
                here = stack.pop()[0]
                here.append(Literal("list", inner, "", opened, at_end))
                expect_value = False
            elif not expect_value:
                raise self._adjacent(kind or "", at, at_end, here[-1])
            elif kind == "open":
                stack.append((here, at))
                here = []
            else:
                here.append(self._literal(kind or "", match.group(), at, at_end))
                at_end = self._call(here, at_end, end)
                expect_value = False
            previous = at = at_end
        if stack:
            opened = stack[-1][1]
            raise self.stop("expected-token", "expected `}`: this brace is not closed", opened, opened + 1)
        if expect_value and top:
            raise self.stop("expected-value", "a value is missing after `,`", end, end + 1)
        return top

    def _adjacent(self, kind: str, start: int, end: int, before: Literal) -> Stop:
        """Explain two values without a comma: a missing comma, semicolon, or quote at the end of a string."""
        previous = before.end
        if before.kind == "string" and kind != "string" and b"\n" in bytes(self.source.data[before.start : previous]):
            opened = before.start
            return self.stop("unterminated-string", "string is not closed", opened, opened + 1, 'close it with `"`')
        between = bytes(self.source.data[previous:start])
        if kind in ("word", "strange") and (b"\n" in between or b"\r" in between):
            return self.stop("expected-token", "expected `;` after the last value", previous, previous, missing=";")
        if kind == "string":
            message = "adjacent strings are not joined; put a comma between them"
            return self.stop("expected-token", message, start, end)
        help_ = ""
        if kind in ("word", "strange") and before.kind in ("name", "int", "float"):
            help_ = f'text needs quotes: write `"{self._words(before.start, end)}"`'
        return self.stop("expected-token", "expected `,` or `;` after the value", start, end, help_)

    def _words(self, start: int, end: int) -> str:
        """Return the rest of a value on its line, at least up to `end`."""
        rest = re.compile(rb"[^\r\n;,\"]*+").match(self.source.data, end)
        return self.source.text(start, rest.end() if rest else end).strip()

    def _explain_bad(self, at: int, end: int) -> Stop:
        """Return the error for characters that begin no value."""
        data = self.source.data
        first = bytes(data[at : at + 1])
        if first in (b"+", b"-"):
            return self.stop("bad-number", "a sign must be directly before its number", at, at + 1)
        if first == b"'":
            return self.stop("bad-char-constant", "character constant is not closed", at, at + 1)
        if first == b":":
            return self.stop("expected-token", "expected `;` before this attribute", at, at + 1)
        stop = at + 1
        while stop < end and first[0] >= 0xC0 and 0x80 <= data[stop] < 0xC0:
            stop += 1
        help_ = "write values without brackets, as in `1, 2, 3`" if first in (b"[", b"(", b"]", b")") else ""
        return self.stop("bad-character", names.bad_character(self.source.text(at, stop)), at, stop, help_)

    def _call(self, here: list[Literal], at: int, end: int) -> int:
        """Evaluate the only function, `time("2000-01-01")`, if `(` follows a word. Returns the next offset."""
        word = here[-1]
        space = _SPACE.match(self.source.data, at, end)
        opens = space.end() if space else at
        if word.kind != "name" or bytes(self.source.data[opens : opens + 1]) != b"(":
            return at
        close = bytes(self.source.data[opens:end]).find(b")") + opens
        if close < opens:
            raise self.stop("expected-token", "expected `)`: this parenthesis is not closed", opens, opens + 1)
        if word.value.lower() != "time":  # ncgen takes mixed case
            message = f'unknown function `{word.value}`; the only one is `time("2000-01-01")`'
            raise self.stop("bad-function", message, word.start, word.end)
        arguments = self._read(opens + 1, close)
        if len(arguments) != 1 or arguments[0].kind != "string":
            raise self.stop("bad-function", "`time` takes one string with a date", opens, close + 1)
        hours = _hours(arguments[0].value)
        if hours is None:
            message = "`time` takes a date such as `2000-01-01` or `2000-01-01 12:30`"
            raise self.stop("bad-function", message, arguments[0].start, arguments[0].end)
        here[-1] = Literal("float", hours, "double", word.start, close + 1)
        return close + 1

    def _literal(self, kind: str, text: bytes, start: int, end: int) -> Literal:
        match kind:
            case "int":
                return self.integer(text, start, end)
            case "float":
                return self.real(text, start, end)
            case "string":
                return Literal("string", self.unescape(text[1:-1], start + 1), "char", start, end)
            case "char":
                return self._char(text, start, end)
            case "hex":
                return self.hexadecimal(text, start, end)
            case "word":
                return self._word(text, start, end)
            case "signed":
                if text in SPECIAL_WORDS:
                    return Literal("float", *SPECIAL_WORDS[text], start, end)
                meant = _NUMBER_HELP.get(text[1:].decode("ascii", "replace").lower())
                sign = "-" if text[:1] == b"-" and meant != "NaN" else ""
                help_ = did_you_mean(f"{sign}{meant}") if meant else ""
                raise self.stop("bad-number", f"`{text.decode()}` is not a number", start, end, help_)
            case _:
                raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end)

    def _char(self, text: bytes, start: int, end: int) -> Literal:
        body = text[1:-1]
        if not body:
            raise self.stop("bad-char-constant", "empty character constant", start, end)
        short = re.fullmatch(rb"\\([0-7]{1,2})", body)  # `'\0'` is common; in a string it would be ambiguous
        value = bytes([int(short.group(1), 8)]) if short else self.unescape(body, start + 1)
        if len(value) != 1:
            shown = show(body)
            if len(shown) == 1:
                message = f"`{shown}` needs {len(value)} bytes in UTF-8 and does not fit a char"
                help_ = f"use a string, or an escape such as \\{body[0]:03o}"
            else:
                message, help_ = "a character constant must contain one character", f'use "{shown}" for a text'
            raise self.stop("bad-char-constant", message, start, end, help_)
        return Literal("char", value, "byte", start, end)  # ncgen gives a character constant the type byte

    def _word(self, text: bytes, start: int, end: int) -> Literal:
        if text == b"_":
            return Literal("fill", None, "", start, end)
        if text in _NIL:
            return Literal("nil", None, "string", start, end)
        if text in SPECIAL_WORDS:
            return Literal("float", *SPECIAL_WORDS[text], start, end)
        strange = None if text.isascii() else strange_character(self.source, start, end)
        if strange is not None:
            character, first, last = strange
            raise self.stop("bad-character", names.bad_character(character), first, last)
        return Literal("name", text.decode("utf-8", "replace"), "", start, end)

    def unescape(self, raw: bytes, start: int) -> bytes:
        """Return the bytes of a quoted text; `start`: its offset, for reports of bad escapes."""
        if b"\\" not in raw:
            return raw

        def plain(match: re.Match[bytes]) -> bytes:
            """Return the byte that an escape in a string stands for."""
            body, at = match.group(1), start + match.start()
            character = _SIMPLE_ESCAPES.get(body)
            if character is not None:
                return character
            if body[:1] == b"x" and len(body) == 3:  # ncgen 4.9.0 reads `\x41` as the byte FF and `1`
                return bytes([int(body[1:], 16)])
            if body[:1].isdigit() and body[0] < 0x38:
                return self._octal_escape(body, at, start + match.end())
            if body == b"x":
                self.error("bad-escape", "\\x needs two hexadecimal digits", at, at + 2)
            elif body in (b"\n", b"\r"):  # ncgen refuses this as well
                self.error(
                    "bad-escape",
                    "a backslash is not allowed at the end of a line",
                    at,
                    at + 1,
                    "write \\n, or close the string",
                )
            else:
                span = Span(self.source, at, at + 1 + len(body))
                message = f"unknown escape `{show(match.group())}` stands for `{show(body)}`"
                self.report.warning(
                    "unknown-escape", message, span, helps=[Fix("remove the backslash", extent=(at, at + 1))]
                )
            return body

        return _ESCAPE.sub(plain, raw)

    def _octal_escape(self, body: bytes, start: int, end: int) -> bytes:
        value = int(body, 8)
        if len(body) < 3:  # ncgen demands three digits in strings
            self.error("bad-escape", f"an octal escape needs three digits: \\{value:03o}", start, end)
        elif value > 0o377:  # ncgen wraps \400 to 0
            self.error("bad-escape", f"octal escape \\{body.decode()} does not fit one byte", start, end)
            value &= 0xFF
        return bytes([value])


def show(text: bytes) -> str:
    """Return source text for a message, shortened if long."""
    shown = text.decode("utf-8", "replace")
    return shown if len(shown) <= 40 else shown[:40] + "…"


_ITEM = (
    rb"(?P<int>[+-]?[0-9]++(?![.eExX]|[0-9])[A-Za-z_]*+)"
    rb'|(?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*")'
    rb"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)"
    rb"|(?P<hex>0[xX][0-9a-fA-F]++[A-Za-z0-9_]*+)"
    rb"|(?P<float>[+-]?(?:[0-9]++\.[0-9]*+|\.[0-9]*+)(?:[eE][+-]?[0-9]*+)?[A-Za-z0-9_]*+|[+-]?[0-9]++[eE][+-]?[0-9]++[A-Za-z_]*+)"
    rb"|(?P<strange>[+-]?[0-9]++[A-Za-z0-9_]++)"
    rb"|(?P<char>'[^'\\]*+(?:\\(?s:.)[^'\\]*+)*')"
    rb"|(?P<word>(?:/?(?:[A-Za-z_\x80-\xff]|\\[ -~])(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])*)+)"
    rb"|(?P<signed>[+-][A-Za-z]++)"
)
_SPACE = re.compile(rb"(?:[ \t\r\n\f]++|//[^\r\n]*+|/\*(?s:.*?)\*/)+")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|(?s:.))")
_SIMPLE_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v",
    b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",  # ncgen makes DEL of `\?`
}  # fmt: skip
SPECIAL_WORDS: dict[bytes, tuple[float, str]] = {
    b"NaN": (math.nan, "double"), b"nan": (math.nan, "double"),
    b"NaNf": (math.nan, "float"), b"nanf": (math.nan, "float"),
    b"Infinity": (math.inf, "double"), b"DoubleInf": (math.inf, "double"),  # not `Inf` or `inf`, as in ncgen
    b"Infinityf": (math.inf, "float"), b"Inff": (math.inf, "float"), b"FloatInf": (math.inf, "float"),
    b"-Infinity": (-math.inf, "double"), b"-Infinityf": (-math.inf, "float"), b"-Inff": (-math.inf, "float"),
}  # fmt: skip
_NIL = frozenset((b"NIL", b"nil", b"Nil"))
_NUMBER_HELP = {"nan": "NaN", "inf": "Infinity", "infinity": "Infinity", "inff": "Infinityf", "infinityf": "Infinityf"}


def _hours(text: bytes) -> float | None:
    """Return the hours from 1970-01-01 UTC to an ISO date, as ncgen's undocumented `time` does."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text.decode("ascii").strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 3600
