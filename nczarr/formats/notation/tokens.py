r"""Lexer of the notation: bytes → tokens for the parser of `NCZarr.g4` (syntax/grammars), and spelling of names.

One regular expression makes the tokens of the grammar's own lexer (a test
compares them). Invalid tokens are reported, and replaced by their probable
meaning for the parser.

Names follow the specification: `\/`, `\\` and `\ ` are slash, backslash and
blank. Further escapes make every name writable: a backslash before punctuation
or a first digit, and `\xHH` for control characters. Texts are bytes: UTF-8
unchanged, others as `\xHH`.
"""

import re
from collections.abc import Iterable
from typing import Any

from antlr4.atn.ATNState import ATNState
from antlr4.error.Errors import InputMismatchException

from nczarr import names
from nczarr.diagnostics.report import Report, Source, Span, did_you_mean
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import FaultAnswer, ListStream, Recovery, SyntaxFault, Token

MAX_BRACES = 200
"""Maximum nesting of braces: 64 groups, and constants of types nested 64 deep."""

_CHARACTER = rb"(?:[!#-.0-\[\]-z|~\x80-\xff]|\\[ -~])"
_TOKEN = re.compile(
    rb"(?:[ \t\r\n]|//[^\r\n]*+)*(?:"
    rb"((?:[!#-*,:-?A-\[\]-z|~\x80-\xff]|\\[ -~])" + _CHARACTER + rb"*+)"  # 1 word
    rb"|([{}])"  # 2 brace
    rb"|([-+.@0-9]" + _CHARACTER + rb"*+)"  # 3 number
    rb'|("(?:\\[^\r\n]|[^"\\\r\n])*"?)'  # 4 text
    rb"|((?:/" + _CHARACTER + rb"++)+|/)"  # 5 path
    rb"|(.)"  # 6 anything else
    rb"|\Z)",
    re.DOTALL,
)
_NUMBER = re.compile(
    rb"([0-9]++)|([+-][0-9]++)|([0-9]+\.[0-9]+\.[0-9]+)|(0[xX][0-9a-fA-F]+)|(@[0-9]+)|(-Infinity)"
    rb"|([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[0-9]+[eE][+-]?[0-9]+)"
)
_NUMBER_TYPES: tuple[int, ...] = (0, P.SIZE, P.INTEGER, P.ZARRVERSION, P.HEX, P.OFFSET, P.INFINITY, P.FLOAT)

WORDS: dict[bytes, int] = {
    literal.strip("'").encode("ascii"): kind
    for kind, literal in enumerate(P.literalNames)
    if literal.strip("'").isalnum() and literal != "<INVALID>"
} | {b"Infinity": P.INFINITY}
"""Keywords of the language and their token types."""


def scan(source: Source, report: Report) -> list[Token]:
    """Return all tokens, EOF last.

    Reports `invalid-utf8`, `nul-byte`, `bad-character`, `bad-number`,
    `unterminated-string`, and `too-deep-nesting` beyond `MAX_BRACES`, where the
    tokens end.
    """
    data = source.data
    start = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    _check_utf8(source, report)
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(data, start):
        group = match.lastindex
        if group is None:
            break
        first, end = match.span(group)
        if group == 1:
            kind = WORDS.get(match[1], P.NAME)
        elif group == 2:
            opens = match[2] == b"{"
            kind = P.LBRACE if opens else P.RBRACE
            depth += 1 if opens else -1
            if depth > MAX_BRACES:
                text = f"braces are nested more than {MAX_BRACES} deep"
                report.error("too-deep-nesting", text, Span(source, first, end))
                break
        elif group == 3:
            kind = _read_number(source, first, end, match[3], report)
        elif group == 4:
            kind = P.STRING
            if end - first < 2 or data[end - 1 : end] != b'"' or _ends_escaped(match[4]):
                where = Span(source, first, end)
                report.error("unterminated-string", "string is not closed before the end of its line", where)
        elif group == 5:
            kind = P.FQN
        else:
            _report_bad_character(source, first, match[6], report)
            continue
        tokens.append(Token(kind, first, end - 1))
    tokens.append(Token(P.EOF, len(data), len(data) - 1))
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    return tokens


def _ends_escaped(text: bytes) -> bool:
    """Return whether the final quote is escaped, so that the text continues."""
    body = text[1:-1]
    return (len(body) - len(body.rstrip(b"\\"))) % 2 == 1


def _read_number(source: Source, first: int, end: int, text: bytes, report: Report) -> int:
    """Return a number's token type; an invalid one is reported and treated as a size."""
    match = _NUMBER.fullmatch(text)
    if match is not None and match.lastindex is not None:
        return _NUMBER_TYPES[match.lastindex]
    shown = text[:40].decode("utf-8", "replace")
    helps = [] if text[:1] not in b"0123456789" else [f"write a name that starts with a digit as `\\{shown}`"]
    if text.endswith(b";"):
        helps = ["remove the `;`: blanks and ends of lines separate the words of the notation"]
    if text.endswith(b","):
        helps = ["write values one after another, with blanks between them"]
    if text.lstrip(b"+-").lower() in (b"inf", b"infinity", b"nan"):
        helps = ["write `NaN`, `Infinity` or `-Infinity`"]
    report.error("bad-number", f"`{shown}` is not a number", Span(source, first, end), helps=helps)
    return _NUMBER_TYPES[1]


def _report_bad_character(source: Source, at: int, character: bytes, report: Report) -> None:
    where = Span(source, at, at + 1)
    if character == b"\0":
        report.error("nul-byte", "a NUL byte is not allowed in the notation", where)
    elif character == b"\\":
        report.error("bad-character", "a backslash does not escape anything here", where)
    else:
        report.error("bad-character", f"character {character.decode('latin-1')!r} is not allowed here", where)


def _check_utf8(source: Source, report: Report) -> None:
    """Report the first byte of each run of invalid UTF-8, at most twenty."""
    data = bytes(source.data)
    at = 0
    for _ in range(20):
        try:
            data[at:].decode("utf-8") if at else data.decode("utf-8")
        except UnicodeDecodeError as fault:
            at += fault.start
            text = f"byte 0x{data[at]:02X} is not UTF-8"
            helps = ["write bytes of a string that are not UTF-8 as `\\xHH`"]
            report.error("invalid-utf8", text, Span(source, at, at + 1), helps=helps)
            at += max(1, fault.end - fault.start)
        else:
            return


_NAME_NEEDS = re.compile(r'[\x00-\x1f\x7f "/\\{}]')
_FIRST_NEEDS = re.compile(r"[-+.@0-9]")
_NAME_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_TEXT_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_TEXT_NEEDS = re.compile('["\\\\\x00-\x1f\x7f\udc80-\udcff]')
_PLAIN = re.compile(r"[^\x00-\x20\x7f\"/\\{}]*")

_TEXT_LETTERS = {
    b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v", b"a": b"\a",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_TEXT_SPELT = {
    bytes_.decode("ascii"): "\\" + letter.decode("ascii") for letter, bytes_ in _TEXT_LETTERS.items()
}  # fmt: skip


class EscapeError(ValueError):
    """An invalid escape; `.at` is its offset in the given text."""

    def __init__(self, escape: str, at: int) -> None:
        self.escape = escape
        self.at = at
        super().__init__(escape)


def write_name(name: str) -> str:
    """Return the NAME token of a name; empty for the empty name, which has no token."""
    text = name if _PLAIN.fullmatch(name) else _NAME_NEEDS.sub(_escape, name)
    return "\\" + text if _FIRST_NEEDS.match(text) else text


def read_name(text: str) -> str:
    """Return the name of a NAME token in NFC. Raises EscapeError."""
    return names.normal(_NAME_ESCAPE.sub(_interpret, text) if "\\" in text else text)


def write_fqn(path: str) -> str:
    """Return the token of a FQN."""
    return "/" + "/".join(_NAME_NEEDS.sub(_escape, part) for part in names.split(path))


def read_fqn(text: str) -> str:
    """Return the FQN of a token in the form of `names.fqn`. Raises EscapeError."""
    if "\\" not in text:
        return names.normal(text)
    return names.fqn(read_name(part) for part in re.findall(r"/((?:[^\\/]|\\.)*)", text, re.DOTALL))


def write_text(data: bytes) -> str:
    """Return the STRING token of bytes."""
    text = data.decode("utf-8", "surrogateescape")
    return f'"{_TEXT_NEEDS.sub(_text_escaped, text)}"'


def read_text(content: bytes) -> bytes:
    """Return the bytes of a STRING token's content. Raises EscapeError."""
    return _TEXT_ESCAPE.sub(_text_meant, content) if b"\\" in content else content


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return "\\" + character if character > "\x1f" and character != "\x7f" else f"\\x{ord(character):02x}"


def _interpret(match: re.Match[str]) -> str:
    r"""Return the character that an escape in a name stands for: `\xHH`, or an ASCII character that is no letter."""
    escape = match.group(1)
    if len(escape) == 3:
        return chr(int(escape[1:], 16))
    if escape.isalpha() or ord(escape) < 0x20 or ord(escape) > 0x7E:
        raise EscapeError(match.group(), match.start())
    return escape


def _text_escaped(match: re.Match[str]) -> str:
    character = match.group()
    spelled = _TEXT_SPELT.get(character)
    return spelled if spelled is not None else f"\\x{ord(character) & 0xFF:02x}"


def _text_meant(match: re.Match[bytes]) -> bytes:
    r"""Return the byte that an escape in a string stands for: `\xHH`, or a letter such as `\n`."""
    escape = match.group(1)
    if len(escape) == 3:
        return bytes((int(escape[1:], 16),))
    if escape not in _TEXT_LETTERS:
        raise EscapeError(match.group().decode("utf-8", "replace"), match.start())
    return _TEXT_LETTERS[escape]


_SPOKEN = {
    P.NAME: "a name", P.SIZE: "a size", P.FQN: "a path such as `/time`", P.ZARRVERSION: "a version such as `2.0.0`",
    P.LBRACE: "`{`", P.RBRACE: "`}`", P.EOF: "the end of the text", P.STRING: "a text", P.INTEGER: "an integer",
}  # fmt: skip
_SPELT = {kind: word.decode("ascii") for word, kind in WORDS.items()}
_ATOMIC = frozenset(range(P.BYTE_T, P.DOUBLE_T + 1))
_DECLARATIONS = frozenset((P.DIMENSION, P.VARIABLE, P.ATTRIBUTE, P.GROUP, P.COMPOUND, P.OPAQUE, P.ENUM, P.VLEN))
_CONSTANTS = frozenset((P.FLOAT, P.HEX, P.STRING, P.NIL))


class NotationRecovery(Recovery):
    """Recovery strategy of all parsers here, restricted to deleting and skipping."""

    UNITS = (
        P.DimensionContext, P.VariableContext, P.AttributeContext, P.CompoundContext, P.OpaqueContext, P.EnumContext,
        P.VlenContext, P.FieldContext, P.PropertyContext,
    )  # fmt: skip
    NAME = P.NAME

    def follows(self, recognizer: Any, found: Token, finding: FaultAnswer) -> bool:
        """Also treat text after the last brace as consequence of a fault that consumed a brace."""
        return super().follows(recognizer, found, finding) or (finding.code == "trailing-text" and self.count > 1)

    def finish(self, stream: ListStream) -> set[str]:
        """Silence the contents of faulty statements and return the names in them."""
        written = super().finish(stream)
        return {names.normal(names.unescape_cdl(name)) for name in written}

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Drop one token if the next is expected, else raise InputMismatchException.

        Braces are never dropped: they structure the text.
        """
        brace = recognizer.getTokenStream().LA(1) in (P.LBRACE, P.RBRACE)
        expected: Token | None = None if brace else self.singleTokenDeletion(recognizer)
        if expected is not None:
            recognizer.consume()
            return expected
        raise InputMismatchException(recognizer)

    def sync(self, recognizer: Any) -> None:
        """Skip tokens at a loop's first iteration too, as the runtime does later, instead of ending the rule."""
        if self.fits(recognizer):
            return
        state = recognizer._interp.atn.states[recognizer.state]
        entering = state.stateType == ATNState.STAR_LOOP_ENTRY and not self.inErrorRecoveryMode(recognizer)
        if entering and self.is_unwanted(recognizer, state):
            self.skip(recognizer)
        else:
            super().sync(recognizer)

    def consumeUntil(self, recognizer: Any, set_: Iterable[int]) -> None:  # noqa: N802
        """Skip to a token of the set; skip braced blocks whole."""
        depth = 0
        stream = recognizer.getTokenStream()
        while (kind := stream.LA(1)) != P.EOF and (depth > 0 or kind == P.LBRACE or kind not in set_):
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth < 0:
                return
            recognizer.consume()


def _is_attribute(stream: ListStream, token: Token) -> bool:
    """Return whether a name stands where an attribute may, and before its value, as in CDL."""
    return token.type == P.NAME and stream.get(token.tokenIndex + 1).type in _CONSTANTS


class NotationExplainer:
    """Messages and help for faults."""

    def __init__(self, source: Source, stream: ListStream) -> None:
        self._source = source
        self._stream = stream

    def __call__(self, fault: SyntaxFault) -> FaultAnswer:
        """Return `expected-token` with expected and found tokens, or `trailing-text`."""
        wrong = fault.found
        text = self._source.text(wrong.start, min(wrong.end, wrong.start + 60))
        shown = "the end of the text" if wrong.type == P.EOF else f"`{text.encode('utf-8', 'replace').decode()}`"
        if fault.expected == {P.EOF}:
            return FaultAnswer("trailing-text", f"{shown} follows the dataset's closing brace")
        message = f"expected {describe_expected(set(fault.expected))}, found {shown}"
        return FaultAnswer("expected-token", message, helps=tuple(self._helps(fault, text)))

    def _helps(self, fault: SyntaxFault, text: str) -> Iterable[str]:
        """Yield a help for a name or number where another token is expected."""
        if text.startswith(("#", ";")):
            yield (
                "a comment begins with `//`"
                if text[0] == "#"
                else "remove the `;`: blanks and ends of lines separate words"
            )
        elif P.ATTRIBUTE in fault.expected and _is_attribute(self._stream, fault.found):
            yield f"write `attribute {text} …`"
        elif text.startswith("("):
            yield "write dimensions without parentheses, as in `variable v int /y /x`"
        elif fault.found.type == P.NAME and P.NAME not in fault.expected:
            meant = names.closest(text.lower(), (_SPELT[kind] for kind in fault.expected if kind in _SPELT))
            if meant is not None:
                yield did_you_mean(meant)
            elif self._heading(fault.found) == P.VARIABLE:
                yield f"write the path of a dimension: `/{text}` if the root declares it"
        elif fault.found.type == P.SIZE and P.NAME in fault.expected:
            yield f"write a name that starts with a digit as `\\{text}`"

    def _heading(self, token: Token) -> int:
        """Return the keyword of the declaration heading around a token; 0 after a brace."""
        for index in range(token.tokenIndex - 1, max(token.tokenIndex - 64, -1), -1):
            kind = self._stream.get(index).type
            if kind in _DECLARATIONS:
                return kind
            if kind in (P.LBRACE, P.RBRACE):
                break
        return 0


def describe_expected(expected: set[int]) -> str:
    """Describe a set of token types: known classes by their meaning, the rest one by one."""
    parts: list[str] = []
    rest = set(expected)
    if P.NAME in rest and P.DATASET in rest:  # the rule `name`: every word is in it
        parts.append("a name")
        rest &= {P.RBRACE, P.LBRACE, P.SIZE, P.ZARRVERSION, P.OFFSET}
    if rest >= _CONSTANTS:
        parts.append("a constant")
        rest -= _CONSTANTS | {P.SIZE, P.INTEGER, P.NAN, P.INFINITY, P.LBRACE, P.NAME}
    if rest >= _ATOMIC:
        parts.append("a type")
        rest -= _ATOMIC | {P.NAME, P.FQN}
    if rest >= _DECLARATIONS:
        parts.append("a declaration")
        rest -= _DECLARATIONS
    if P.CHUNKS in rest and P.CODEC in rest:
        parts.append("an attribute or a property")
        rest -= {P.ATTRIBUTE, P.FILL, P.CHUNKS, P.CODEC, P.LAYOUT, P.ENDIAN, P.QUANTIZE}
    parts += [_SPOKEN.get(kind) or f"`{_SPELT.get(kind, '@')}`" for kind in sorted(rest)]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}" if parts else "something else"
