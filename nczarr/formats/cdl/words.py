"""Names of CDL: from the text of a token to the name that is meant, and back to faults in it."""

from __future__ import annotations

import re

from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.source import Source, Span

QUANTIZE = {
    "_QuantizeBitGroomNumberOfSignificantDigits": "bitgroom",
    "_QuantizeGranularBitRoundNumberOfSignificantDigits": "granularbitround",
    "_QuantizeBitRoundNumberOfSignificantDigits": "bitround",
    "_QuantizeBitRoundNumberOfSignificantBits": "bitround",
}
"""Special attributes of quantization and their algorithms; of two names of one the last is written."""

RESERVED = frozenset(
    {
        *("char", "byte", "short", "int", "float", "double", "real", "long", "integer"),
        *("compound", "struct", "structure", "enum", "opaque", "unlimited", "UNLIMITED", "netcdf", "NETCDF", "netCDF"),
        *("NaN", "nan", "NaNf", "nanf", "Infinity", "Infinityf", "Inff", "DoubleInf", "FloatInf", "NIL", "nil", "Nil"),
        "_",
    }
)
"""Words that cannot name a dimension, type, variable or group without a backslash before them.

`string`, `ubyte`, `uint64` and the like are not among them: classic files use them as names.
"""

_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_PATH_PIECE = re.compile(rb"/([^\\/]*+(?:\\.[^\\/]*+)*)", re.DOTALL)
_MAY_ESCAPE = frozenset(names.CDL_SPECIAL.encode())


class Words:
    """Reads names out of one source."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def name(self, start: int, end: int) -> str:
        """The name that a token of this range means: unescaped, in NFC. Faults are reported, and a name results."""
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
        def plain(match: re.Match[bytes]) -> bytes:
            escaped, at = match.group(1), start + match.start()
            if escaped == b"/":
                message = 'a netCDF name cannot contain "/"'
                self.report.error(
                    "slash-in-name", message, Span(self.source, at, at + 2), helps=["use another character"]
                )
                return b"_"
            first = match.start() == 0 and escaped.isalnum()
            if escaped[0] not in _MAY_ESCAPE and not first and escaped[0] < 0x80:
                message = f"`\\{escaped.decode('ascii', 'replace')}` is not an escape in a name"
                span = Span(self.source, at, at + 2)
                self.report.error("bad-escape", message, span, helps=["only special characters take a backslash"])
            return escaped

        return _ESCAPE.sub(plain, raw)

    def declared(self, start: int, end: int, what: str) -> str:
        """The name in a definition of `what` (`variable`, `dimension` …): reserved words and paths are refused."""
        raw = bytes(self.source.data[start:end])
        if raw.startswith(b"/"):
            message = f"a path cannot name a {what}: definitions take a simple name"
            self.report.error("slash-in-name", message, Span(self.source, start, end))
            raw = raw.rpartition(b"/")[2] or b"_"
            return names.normal(raw.decode("utf-8", "replace"))
        name = self.name(start, end)
        if raw.isascii() and raw.decode() in RESERVED:
            message = f"`{name}` is a reserved word and cannot be a {what} name"
            help_ = f"write `\\{name}` if this is the name you want, or choose another"
            help_ = help_ if name != "_" else "choose another name"
            self.report.error("reserved-word", message, Span(self.source, start, end), helps=[help_])
        return name

    def reference(self, start: int, end: int) -> str:
        """A use of a name: a simple name as it is meant, or a path as a FQN."""
        raw = bytes(self.source.data[start:end])
        if not raw.startswith(b"/"):
            return self.name(start, end)
        pieces = _PATH_PIECE.finditer(raw)
        return names.fqn(self.name(start + piece.start(1), start + piece.end(1)) for piece in pieces)
