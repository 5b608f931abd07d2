"""The text behind the parse tree: spans, names, paths and sizes of its rules and terminals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nczarr.diagnostics.report import Report
from nczarr.formats.notation import spelling
from nczarr.source import Source, Span
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

_LARGEST = 2**63 - 1


class Written:
    """A source under reading and where its faults go. Parse tree contexts may be incomplete after a syntax error."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def span(self, context: Any) -> Span:
        """The place of a rule's text."""
        stop = context.stop or context.start
        return Span(self.source, context.start.start, max(stop.end, context.start.start))

    def spelt(self, context: Any) -> str:
        """The text of a rule or of a terminal as it was written; bytes that are not UTF-8 as U+FFFD."""
        first = context.symbol if hasattr(context, "symbol") else context.start
        last = context.symbol if hasattr(context, "symbol") else context.stop or first
        return bytes(self.source.data[first.start : last.end]).decode("utf-8", "replace")

    def name(self, context: Any) -> str | None:
        """The name behind a rule `name`, or None (reported) if there is none."""
        if context is None or not context.getChildCount():
            return None
        return self._unescaped(self.spelt(context), self.span(context), spelling.read_name)

    def path(self, text: str, span: Span) -> str | None:
        """The FQN behind a token's text, or None (reported)."""
        return self._unescaped(text, span, spelling.read_fqn)

    def _unescaped(self, text: str, span: Span, read_: Callable[[str], str]) -> str | None:
        try:
            return read_(text)
        except spelling.EscapeError as fault:
            helps = ["a backslash stands before `/`, `\\`, a blank, other punctuation or a first digit, or is `\\xHH`"]
            self.report.error("bad-escape", f"unknown escape `{fault.escape}` in a name", span, helps=helps)
            return None

    def size(self, terminal: Any, code: str = "bad-dimension-size") -> int | None:
        """The number of a SIZE token, or None (reported) where it is not one that a file could have."""
        text = self.spelt(terminal).lstrip("@")
        if not text.isdecimal():
            return None  # a bad number: the token source has reported it
        if len(text) > 30 or int(text) > _LARGEST:
            token = terminal.symbol
            where = Span(self.source, token.start, token.end)
            self.report.error(code, f"size {text[:30]} is larger than {_LARGEST}", where)
            return None
        return int(text)

    def sizes(self, context: Any, code: str = "bad-dimension-size") -> tuple[int, ...]:
        """The SIZE tokens directly below a rule; those that were reported are left out."""
        found = (self.size(terminal, code) for terminal in context.getTokens(P.SIZE))
        return tuple(size for size in found if size is not None)


def declarations(context: Any) -> Iterator[Any]:
    """The rules of the declarations directly in a group or dataset."""
    for child in context.getTypedRuleContexts(P.DeclarationContext):
        if child.getChildCount():
            yield child.getChild(0)
