r"""CDL spelling of names, texts and single numbers, and names of a text with reports of their faults.

Spellings are ncdump's if exact, else the nearest exact ones: more digits for
floats, `-0.` with its point, `\013` for a vertical tab.
"""

import math
import re
from collections.abc import Collection
from functools import cache

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.ast.types import Atomic
from nczarr.ast.values import single
from nczarr.diagnostics.report import Fix, Report, Source, Span

QUANTIZE = {
    "_QuantizeBitGroomNumberOfSignificantDigits": "bitgroom",
    "_QuantizeGranularBitRoundNumberOfSignificantDigits": "granularbitround",
    "_QuantizeBitRoundNumberOfSignificantDigits": "bitround",
    "_QuantizeBitRoundNumberOfSignificantBits": "bitround",
}
"""Algorithm by special attribute of quantization; the last name of an algorithm is written."""

GLOBAL = frozenset({"_Format", "_NCProperties", "_IsNetcdf4", "_SuperblockVersion"})
"""Special attributes of the root group; all but `_Format` describe a dump's source file and are ignored."""

SPECIAL = GLOBAL | QUANTIZE.keys() | {
    "_Storage", "_ChunkSizes", "_ChunkLengths", "_DeflateLevel", "_Shuffle", "_Fletcher32", "_NoFill", "_Endianness",
    "_Filter", "_Codecs",
}  # fmt: skip
"""Names of special attributes, never stored (`_FillValue` is stored, so it is not included)."""

RESERVED = frozenset({
    "char", "byte", "short", "int", "float", "double", "real", "long", "integer",
    "compound", "struct", "structure", "enum", "opaque", "unlimited", "UNLIMITED", "netcdf", "NETCDF", "netCDF",
    "NaN", "nan", "NaNf", "nanf", "Infinity", "Infinityf", "Inff", "DoubleInf", "FloatInf", "NIL", "nil", "Nil", "_",
})  # fmt: skip
"""Words that need a backslash as names of dimensions, types, variables and groups.

`string`, `ubyte`, `uint64` etc. are not included, because classic files use
them as names.
"""

_ESCAPE = rb"(?s:\\(.))"  # these patterns are compiled on first use: a small run needs none
_PATH_PIECE = rb"(?s:/([^\\/]*+(?:\\.[^\\/]*+)*))"
_MAY_ESCAPE = frozenset(names.CDL_SPECIAL.encode())


class Words:
    """Reader of names in one source."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def name(self, start: int, end: int) -> str:
        """Return the name in a token range, unescaped and in NFC. Reports faults, but always returns a name."""
        raw = bytes(self.source.data[start:end])
        if b"\\" in raw:
            raw = self._unescape(raw, start)
        try:
            return names.normal(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            message = f"byte 0x{raw[error.start]:02X} in a name is not valid UTF-8"
            at = start + bytes(self.source.data[start:end]).find(raw[error.start : error.start + 1])
            if (
                0x80 <= raw[error.start] < 0xA0
            ):  # the others are errors wherever they stand (formats/cdl/read/tokens.py)
                self.report.error("invalid-utf8", message, Span(self.source, at, at + 1))
            return names.normal(raw.decode("utf-8", "replace"))

    def _unescape(self, raw: bytes, start: int) -> bytes:
        """Return a name without its backslashes; report wrong ones."""

        def plain(match: re.Match[bytes]) -> bytes:
            """Return the character that an escape stands for."""
            escaped, at = match.group(1), start + match.start()
            if escaped == b"/":  # CDL has no `\/`: for ncgen, the name ends before it
                message = 'a netCDF name cannot contain "/"'
                self.report.error(
                    "slash-in-name", message, Span(self.source, at, at + 2), helps=["use another character"]
                )
                return b"_"
            first = match.start() == 0 and (escaped.isalnum() or escaped in b".@+-%")
            if escaped[0] not in _MAY_ESCAPE and not first and escaped[0] < 0x80:
                message = f"`\\{escaped.decode('ascii', 'replace')}` is not an escape in a name"
                span = Span(self.source, at, at + 2)
                self.report.error(
                    "bad-escape", message, span, helps=["write a backslash only before special characters"]
                )
            return escaped

        return re.sub(_ESCAPE, plain, raw)

    def declare(self, start: int, end: int, what: str) -> str:
        """Return the name in a definition of `what` (`variable`, `dimension` …); reports reserved words and paths."""
        raw = bytes(self.source.data[start:end])
        if raw.startswith(b"/"):
            message = f"a path cannot name a {what}; definitions use simple names"
            self.report.error("slash-in-name", message, Span(self.source, start, end))
            raw = raw.rpartition(b"/")[2] or b"_"
            return names.normal(raw.decode("utf-8", "replace"))
        name = self.name(start, end)
        if raw.isascii() and raw.decode() in RESERVED:
            message = f"`{name}` is a reserved word and cannot be a {what} name"
            escaped = Fix(f"write `\\{name}` to use this name, or choose another one", f"\\{name}")
            help_ = escaped if name != "_" else "choose another name"
            self.report.error("reserved-word", message, Span(self.source, start, end), helps=[help_])
        return name

    def reference(self, start: int, end: int) -> str:
        """Return a referenced name, or a path as FQN."""
        raw = bytes(self.source.data[start:end])
        if not raw.startswith(b"/"):
            return self.name(start, end)
        pieces = re.finditer(_PATH_PIECE, raw)
        return names.fqn(self.name(start + piece.start(1), start + piece.end(1)) for piece in pieces)


def strange_character(source: Source, start: int, end: int) -> tuple[str, int, int] | None:
    """Return the first character of a range that needs an escape in names, and its bytes; None if no character does."""
    offset = start
    for character in source.text(start, end):
        after = offset + len(character.encode("utf-8", "surrogateescape"))
        if names.is_strange(character) and source.data[offset - 1 : offset] != b"\\":
            return character, offset, after
        offset = after
    return None


TYPE_WORDS = frozenset(ATOMIC) | {"long", "integer", "real", "ulong", "uinteger"}
"""Names of primitive types."""

SECTIONS = frozenset(("types", "dimensions", "variables", "data", "group"))
"""Words that begin a section if a colon follows."""

_SHORT = {
    "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"', "'": "\\'",
}  # fmt: skip
_SUFFIXES = {
    "byte": "b", "ubyte": "UB", "short": "s", "ushort": "US", "int": "", "uint": "U", "int64": "LL", "uint64": "ULL",
}  # fmt: skip


def identifier(name: str) -> str:
    """Return a name as an identifier. Reserved words, bare in ncdump, get a backslash that our reader accepts."""
    return "\\" + name if name in RESERVED else names.escape_cdl(name)


def attribute_owner(name: str) -> str:
    """Return a variable's name before the colon of an attribute; section words need a blank (`data :units`)."""
    return name + " " if name in SECTIONS else identifier(name)


def path(fqn: str) -> str:
    """Return a FQN as a path of identifiers."""
    return "".join("/" + names.escape_cdl(part) for part in names.split(fqn))


def reference(fqn: str, scope: str, declared: Collection[str], *, words: Collection[str] = ()) -> str:
    """Return the name of an item inside the group `scope`: bare if that resolves to it, else its path.

    `declare`: FQNs of all items of its kind; names in `words` are never bare.
    """
    name = names.last(fqn)
    while (resolved := names.join(scope, name)) not in declared and scope != "/":
        scope = names.parent(scope)
    return identifier(name) if resolved == fqn and resolved in declared and name not in words else path(fqn)


def quote(data: bytes) -> str:
    """Return bytes as a string constant: UTF-8 unchanged, control characters and other bytes escaped."""
    text = data.decode("utf-8", "surrogateescape")
    return f'"{_special().sub(_escape, text)}"'


@cache
def _special() -> re.Pattern[str]:
    """Return the pattern of characters that are escaped in strings; what only reads needs none."""
    return re.compile("[\\\\\"'\x00-\x1f\x7f\udc80-\udcff]")


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\{ord(character) & 0xFF:03o}"  # three digits: ncgen takes no fewer


def plain_float(value: float, atomic: Atomic) -> str:
    """Return a float or double as data: ncdump's `%.7g` or `%.15g`, with more digits if these are inexact."""
    if not math.isfinite(value):
        suffix = "f" if atomic.code == "f" else ""
        return ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity") + suffix
    if value == 0:
        return "-0." if math.copysign(1, value) < 0 else "0"  # ncgen reads `-0` as an integer, without its sign
    if atomic.code == "f":
        for digits in (7, 8):
            text = f"{value:.{digits}g}"
            if single(float(text)) == value:
                return text
        return f"{value:.9g}"
    text = f"{value:.15g}"
    if float(text) == value:
        return text
    text = repr(value)
    return text.removesuffix(".0")


def add_suffix(value: int | float, atomic: Atomic) -> str:
    """Return a number as an attribute value with type suffix; floats always have a point or exponent."""
    if isinstance(value, int):
        return f"{value}{_SUFFIXES[atomic.name]}"
    text = plain_float(value, atomic)
    if not math.isfinite(value):
        return text
    if "." not in text:  # without a point it would be an integer
        mantissa, mark, exponent = text.partition("e")
        text = f"{mantissa}.{mark}{exponent}"
    return text + ("f" if atomic.code == "f" else "")
