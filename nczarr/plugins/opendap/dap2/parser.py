"""DDS and DAS → declarations and attribute entries, without meaning.

One regular expression makes the tokens of the lexer of `grammars/DAP2.g4` (a test compares them) for its parser.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from antlr4.error.ErrorStrategy import DefaultErrorStrategy

from nczarr.diagnostics.report import Source, Span
from nczarr.plugins.opendap._generated.DAP2Parser import DAP2Parser as P
from nczarr.plugins.opendap.dap2.dialect import decode_name
from nczarr.syntax.tokens import ListStream, Token

MOST_BRACES = 64
"""Maximum nesting of braces."""

MOST_TOKENS = 1 << 22

_TOKEN = re.compile(
    rb"(?:[ \t\r\n]|#[^\r\n]*+)*(?:"
    rb'("(?:\\.|[^"\\])*")'  # 1 text
    rb"|([{}\[\];,=])"  # 2 mark
    rb'|((?i:array|maps)(?:[ \t\r\n]+:|:(?![^ \t\r\n{}\[\];,="])))'  # 3 array, maps
    rb'|([^ \t\r\n{}\[\];,="]+)'  # 4 word
    rb"|(.)"  # 5 anything else
    rb"|\Z)",
    re.DOTALL,
)
_MARKS = {
    b"{": P.LBRACE, b"}": P.RBRACE, b"[": P.LBRACKET, b"]": P.RBRACKET, b";": P.SEMI, b",": P.COMMA, b"=": P.EQUAL,
}  # fmt: skip
_WORDS = {
    b"dataset": P.DATASET, b"attributes": P.ATTRIBUTES, b"structure": P.STRUCTURE, b"sequence": P.SEQUENCE,
    b"grid": P.GRID,
}  # fmt: skip


class TextFaultError(ValueError):
    """A fault of a DDS or DAS; `start` and `end` are byte offsets."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.start, self.end = start, end


def scan(source: Source, start: int, stop: int) -> list[Token]:
    """Return the tokens of a part of a source, EOF last. Raises TextFaultError."""
    data = source.data
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(data, start, stop):
        group = match.lastindex
        if group is None:
            break
        first, end = match.span(group)
        word = match[group]
        if group == 1:
            kind = P.TEXT
        elif group == 2:
            kind = _MARKS[word]
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth > MOST_BRACES:
                raise TextFaultError(f"braces are nested more than {MOST_BRACES} deep", first, end)
        elif group == 3:
            kind = P.ARRAY if word[:1] in b"aA" else P.MAPS
        elif group == 4:
            kind = _WORDS.get(word.lower(), P.WORD)  # the keywords of DAP2 have any case
        else:
            raise TextFaultError("a text is not closed", first, end)
        if len(tokens) > MOST_TOKENS:
            raise TextFaultError(f"the text has more than {MOST_TOKENS} words", first, end)
        tokens.append(Token(kind, first, end - 1))
    tokens.append(Token(P.EOF, stop, stop - 1))
    for index, token in enumerate(tokens):
        token.tokenIndex = index
    return tokens


MOST_DIGITS = 18

_ESCAPE = re.compile(r"\\(?:([\"\\])|x([0-9A-Fa-f]{2}))")

Kind = Literal["plain", "structure", "sequence", "grid"]

_KINDS: dict[type[Any], Kind] = {
    P.PlainContext: "plain",
    P.StructureContext: "structure",
    P.SequenceContext: "sequence",
}


class Dim(NamedTuple):
    """Dimension of an array."""

    name: str | None
    """Name; None for an anonymous one."""
    size: int
    """Length."""


class Declaration(NamedTuple):
    """Declaration of a variable or member."""

    kind: Kind
    type: str
    """Word of the atomic type; empty for others."""
    name: str
    """Name of the model."""
    written: str
    """Name as the server writes it."""
    dims: tuple[Dim, ...]
    """Dimensions."""
    members: tuple[Declaration, ...]
    """Members; of a grid the array, then its maps."""
    span: Span
    """Place of the name."""


class Dds(NamedTuple):
    """A DDS."""

    name: str
    variables: tuple[Declaration, ...]
    """Variables in their order in the data."""


class DasEntry(NamedTuple):
    """Attribute or container of a DAS."""

    name: str
    """Name of the model."""
    type: str
    """Word of the type; empty for a container."""
    values: tuple[str, ...]
    """Texts of the values, without quotes."""
    entries: tuple[DasEntry, ...]
    """Entries of a container."""
    span: Span
    """Place of the name."""


def parse_dds(source: Source, start: int, stop: int) -> Dds:
    """Return the declarations of a DDS. Raises TextFaultError."""
    reader = _TextReader(source, start, stop)
    tree = reader.parser.dds()
    return Dds("" if tree.name() is None else reader.name(tree.name()), reader.declarations(tree.declaration()))


def parse_das(source: Source) -> tuple[DasEntry, ...]:
    """Return the entries of a DAS. Raises TextFaultError."""
    reader = _TextReader(source, 0, len(source.data))
    return reader.entries(reader.parser.das().entry())


class _Strict(DefaultErrorStrategy):  # type: ignore[misc]
    """Error strategy that raises TextFaultError at the first unexpected token."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def recover(self, recognizer: Any, e: Any) -> None:
        """Raise for a token that begins no alternative."""
        raise self._make_fault(recognizer)

    reportError = recover  # noqa: N815

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Raise for a token other than the expected one."""
        raise self._make_fault(recognizer)

    def sync(self, recognizer: Any) -> None:
        """Leave faults to the next match."""

    def _make_fault(self, recognizer: Any) -> TextFaultError:
        """Return the error for the token at hand, with the words that could stand there."""
        token = recognizer.getCurrentToken()
        literals = [P.literalNames[kind] if kind < len(P.literalNames) else "" for kind in _list_types(recognizer)]
        words = sorted({word.strip("'") for word in literals if word and word != "<INVALID>"})
        expected = " or ".join(f"`{word}`" for word in words) if words else "another word"
        text = self._source.text(token.start, token.end)[:40]
        text = f"`{text}` is unexpected" if token.type != P.EOF else "the text ends too early"
        return TextFaultError(f"{text}: {expected} must follow", token.start, max(token.end, token.start))


def _list_types(recognizer: Any) -> list[int]:
    """Return the types of expected tokens."""
    kinds: list[int] = []
    for interval in recognizer.getExpectedTokens().intervals or ():
        kinds += [kind for kind in interval if kind > 0]
    return kinds


class _TextReader:
    """State of one text."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self.source = source
        self.parser = P(ListStream(scan(source, start, stop)))
        self.parser.removeErrorListeners()
        self.parser._errHandler = _Strict(source)

    def read_text(self, context: Any) -> str:
        """Return the text of a name or value, without quotes."""
        token = context.start if hasattr(context, "start") else context.symbol
        text = self.source.text(token.start, token.end)
        return _ESCAPE.sub(_unescape, text[1:-1]) if token.type == P.TEXT else text

    def name(self, context: Any) -> str:
        """Return a name without its escapes."""
        return decode_name(self.read_text(context))  # names in documents are percent-encoded

    def span(self, context: Any) -> Span:
        """Return the place of a name."""
        return Span(self.source, context.start.start, context.start.end)

    def declarations(self, contexts: Any) -> tuple[Declaration, ...]:
        """Return declarations. Raises TextFaultError."""
        return tuple(self.declaration(context.getChild(0)) for context in contexts)

    def declaration(self, context: Any) -> Declaration:
        """Return one declaration. Raises TextFaultError."""
        name, kind = context.name(), _KINDS.get(type(context), "grid")
        word = self.read_text(context.WORD()) if kind == "plain" else ""
        dims = self.dims(context) if kind != "grid" else ()
        members = self.declarations(context.declaration()) if kind != "plain" else ()
        return Declaration(kind, word, self.name(name), self.read_text(name), dims, members, self.span(name))

    def dims(self, context: Any) -> tuple[Dim, ...]:
        """Return the dimensions of an array. Raises TextFaultError."""
        dims = []
        for dimension in context.dimension():
            size = dimension.WORD()
            written = self.read_text(dimension.name() if size is None else size)
            if not (written.isascii() and written.isdigit() and len(written) <= MOST_DIGITS):
                where = self.span(dimension.name())
                raise TextFaultError(f"`{written[:40]}` is not the length of a dimension", where.start, where.end)
            dims.append(Dim(None if size is None else self.name(dimension.name()), int(written)))
        return tuple(dims)

    def entries(self, contexts: Any) -> tuple[DasEntry, ...]:
        """Return the entries of a container."""
        entries = []
        for entry in contexts:
            first = entry.name(0)
            if entry.LBRACE() is not None:
                entries.append(DasEntry(self.name(first), "", (), self.entries(entry.entry()), self.span(first)))
                continue
            values = tuple(self.read_text(value.name()) for value in entry.value())
            entries.append(
                DasEntry(self.name(entry.name(1)), self.read_text(first), values, (), self.span(entry.name(1)))
            )
        return tuple(entries)


def _unescape(match: re.Match[str]) -> str:
    return match[1] or bytes.fromhex(match[2]).decode("ascii", "surrogateescape")
