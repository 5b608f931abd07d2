"""DDS and DAS → declarations and attribute entries, without meaning."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from antlr4.error.ErrorStrategy import DefaultErrorStrategy

from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.dap2.read.tokens import TextFaultError, scan
from nczarr.formats.opendap.dap2.spelling import decoded_name
from nczarr.syntax._generated.DAP2Parser import DAP2Parser as P
from nczarr.syntax.tokens import ListStream, Token

MOST_DIGITS = 18

_ESCAPE = re.compile(r"\\(?:([\"\\])|x([0-9A-Fa-f]{2}))")

Kind = Literal["plain", "structure", "sequence", "grid"]


class Dim(NamedTuple):
    """Dimension of an array."""

    name: str | None
    """Name; None for an anonymous one."""
    size: int
    """Length."""


class Declaration(NamedTuple):
    """Declaration of a variable or member."""

    kind: Kind
    """Kind of the declaration."""
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
    """Name of the dataset."""
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
        self._fail(recognizer)

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Raise for a token other than the expected one."""
        raise self._fault(recognizer)

    def sync(self, recognizer: Any) -> None:
        """Leave faults to the next match."""

    def reportError(self, recognizer: Any, e: Any) -> None:  # noqa: N802
        """Raise for a token that begins no alternative."""
        self._fail(recognizer)

    def _fail(self, recognizer: Any) -> None:
        raise self._fault(recognizer)

    def _fault(self, recognizer: Any) -> TextFaultError:
        token = recognizer.getCurrentToken()
        wanted = [P.literalNames[kind] if kind < len(P.literalNames) else "" for kind in _types(recognizer)]
        words = sorted({word.strip("'") for word in wanted if word and word != "<INVALID>"})
        expected = " or ".join(f"`{word}`" for word in words) if words else "another word"
        found = self._source.text(token.start, token.end)[:40]
        text = f"`{found}` is unexpected" if token.type != P.EOF else "the text ends too early"
        return TextFaultError(f"{text}: {expected} must follow", token.start, max(token.end, token.start))


def _types(recognizer: Any) -> list[int]:
    """Return the types of expected tokens."""
    found: list[int] = []
    for interval in recognizer.getExpectedTokens().intervals or ():
        found += [kind for kind in interval if kind > 0]
    return found


class _TextReader:
    """State of one text."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self.source = source
        self.parser = P(ListStream(scan(source, start, stop)))
        self.parser.removeErrorListeners()
        self.parser._errHandler = _Strict(source)

    def written(self, context: Any) -> str:
        """Return the text of a name or value, without quotes."""
        token = context.start if hasattr(context, "start") else context.symbol
        text = self.source.text(token.start, token.end)
        return _ESCAPE.sub(_unescaped, text[1:-1]) if token.type == P.TEXT else text

    def name(self, context: Any) -> str:
        """Return a name without its escapes."""
        return decoded_name(self.written(context))

    def span(self, context: Any) -> Span:
        """Return the place of a name."""
        return Span(self.source, context.start.start, context.start.end)

    def declarations(self, contexts: Any) -> tuple[Declaration, ...]:
        """Return declarations. Raises TextFaultError."""
        return tuple(self.declaration(each.getChild(0)) for each in contexts)

    def declaration(self, context: Any) -> Declaration:
        """Return one declaration. Raises TextFaultError."""
        name = context.name()
        common = (self.name(name), self.written(name))
        match context:
            case P.PlainContext():
                word = self.written(context.WORD())
                return Declaration("plain", word, *common, self.dims(context), (), self.span(name))
            case P.StructureContext():
                members = self.declarations(context.declaration())
                return Declaration("structure", "", *common, self.dims(context), members, self.span(name))
            case P.SequenceContext():
                members = self.declarations(context.declaration())
                return Declaration("sequence", "", *common, self.dims(context), members, self.span(name))
            case _:
                return Declaration("grid", "", *common, (), self.declarations(context.declaration()), self.span(name))

    def dims(self, context: Any) -> tuple[Dim, ...]:
        """Return the dimensions of an array. Raises TextFaultError."""
        found = []
        for each in context.dimension():
            size = each.WORD()
            written = self.written(each.name() if size is None else size)
            if not (written.isascii() and written.isdigit() and len(written) <= MOST_DIGITS):
                where = self.span(each.name())
                raise TextFaultError(f"`{written[:40]}` is not the length of a dimension", where.start, where.end)
            found.append(Dim(None if size is None else self.name(each.name()), int(written)))
        return tuple(found)

    def entries(self, contexts: Any) -> tuple[DasEntry, ...]:
        """Return the entries of a container."""
        found = []
        for each in contexts:
            first = each.name(0)
            if each.LBRACE() is not None:
                found.append(DasEntry(self.name(first), "", (), self.entries(each.entry()), self.span(first)))
                continue
            values = tuple(self.written(value.name()) for value in each.value())
            found.append(DasEntry(self.name(each.name(1)), self.written(first), values, (), self.span(each.name(1))))
        return tuple(found)


def _unescaped(found: re.Match[str]) -> str:
    return found[1] or bytes.fromhex(found[2]).decode("ascii", "surrogateescape")
