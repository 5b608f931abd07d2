"""Tokens and token streams for generated parsers with our own scanners.

The ANTLR runtime needs only lookahead, consumption and seeking. A list provides
these several times faster than the runtime's buffered streams. Offsets are
bytes of a `Source`; the runtime's lines and columns are unused.
"""

from __future__ import annotations

from typing import Any


class Token:
    """Token: `type` in the grammar, `start` and `stop` (inclusive) as byte offsets."""

    __slots__ = ("channel", "column", "line", "start", "stop", "text", "tokenIndex", "type")

    def __init__(self, kind: int, start: int, stop: int) -> None:
        self.type = kind
        self.start = start
        self.stop = stop
        self.text = ""
        self.tokenIndex = -1
        self.channel = 0
        self.line = 0
        self.column = 0

    @property
    def end(self) -> int:
        """Offset after the token."""
        return self.stop + 1


class ListStream:
    """Token list as a parser's input stream. The last token is EOF (type -1)."""

    __slots__ = ("index", "tokens")

    tokenSource = None  # noqa: N815  (the runtime's name; asked only by error strategies that make tokens)

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0

    def LA(self, offset: int) -> int:  # noqa: N802
        """Return the type of the token `offset` places ahead, from 1."""
        return self.LT(offset).type

    def LT(self, offset: int) -> Token:  # noqa: N802
        """Return the token `offset` places ahead (from 1) or back (negative)."""
        at = self.index + offset - 1 if offset > 0 else self.index + offset
        return self.tokens[min(max(at, 0), len(self.tokens) - 1)]

    def consume(self) -> None:
        """Advance by one token, but not past EOF."""
        if self.index < len(self.tokens) - 1:
            self.index += 1

    def mark(self) -> int:
        """Return the current position."""
        return self.index

    def release(self, marker: int) -> None:
        """Do nothing, because nothing is buffered."""

    def seek(self, index: int) -> None:
        """Move to a token by number."""
        self.index = index

    def get(self, index: int) -> Token:
        """Return a token by number."""
        return self.tokens[index]

    def move(self, index: int, to: int) -> None:
        """Move a token to the number `to`, for faults in token order."""
        self.tokens.insert(to, self.tokens.pop(index))
        for number in range(min(index, to), max(index, to) + 1):
            self.tokens[number].tokenIndex = number

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.tokens)


def words_of(context: Any) -> list[Token]:
    """Return the words directly below a statement, without those that have an error."""
    return [token for word in context.word() if (token := token_of(word)) is not None]


def token_of(context: Any) -> Token | None:
    """Return the only token of a `name`, `word`, `size` or `dimref` context, None if it has an error."""
    if context is None or getattr(context, "exception", None) is not None:
        return None
    while context.getChildCount():
        context = context.children[0]
    token: Token | None = getattr(context, "symbol", None)
    return token if token is not None and token.tokenIndex >= 0 else None
