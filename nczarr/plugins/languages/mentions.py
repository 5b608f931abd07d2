"""Names of a text with their roles, from the tokens of a format's scanner.

Each token becomes one letter, and patterns of letters say where the names of a
statement stand. After a fault the walk goes on with the next token, so that the
names of other statements keep their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from nczarr import names
from nczarr.diagnostics.report import Source
from nczarr.plugins.languages.language import Mention, Role, SectionStart, TextMap
from nczarr.syntax.tokens import Token

ATOMIC_LETTER = "a"
"""Letter of atomic types."""


class StatementPatterns(NamedTuple):
    """Statements of a language in letters."""

    letters: Mapping[int, str]
    """Letter of each type of token; others are `?`."""
    names: frozenset[str]
    """Letters of names and paths."""
    sections: Mapping[str, str]
    """Sections by the letter of the token that begins them."""
    statements: Mapping[str, tuple[re.Pattern[str], ...]]
    """Patterns of each section and kind of block; `` for others.

    A group has the role of the name that is declared there, with `use_` before
    it the role of names that are used. `value` are the tokens of the value,
    `extent` those of the declaration if they are not all, and `open_KIND` is
    the brace of a block. A comma goes on with the statement before it.
    """


class Block(NamedTuple):
    """An open brace."""

    kind: str
    """Name of its statements; `body` for a group."""
    name: str
    """Name of the variable or type with the brace; empty for a group."""
    start: int
    """First byte of the item."""
    mention: int
    """Number of its declaration; -1 without one."""
    outside: SectionStart
    """Section that goes on after the block."""


class MentionReader:
    """Walk through the tokens of one text; the last one is its end."""

    def __init__(
        self,
        source: Source,
        tokens: Sequence[Token],
        patterns: StatementPatterns,
        read_name: Callable[[Token, Role], str],
    ) -> None:
        self.source = source
        self.tokens = tokens
        self.patterns = patterns
        self.letters = "".join(patterns.letters.get(token.type, "?") for token in tokens)
        self.read_name = read_name
        self.map = TextMap([], [SectionStart(0, "", "/")], [])
        self.blocks: list[Block] = []
        self.statement = 0, ""
        """First byte and type of the last statement."""

    def read(self) -> TextMap:
        """Return the names of the text."""
        at = 0
        while at < len(self.tokens) - 1:
            at = self._read_statement(at)
        sections = len(self.map.sections)
        while self.blocks:
            self._close(self.tokens[-1].end)
        del self.map.sections[sections:]  # what is typed at the end belongs to the blocks that are open there
        return self.map

    def _read_statement(self, at: int) -> int:
        """Read what begins with the token `at`; return the number of the token after it."""
        letter = self.letters[at]
        if letter == "}":
            at += self.letters[at + 1] == ";"
            self._close(self.tokens[at].end)
            return at + 1
        section = self.patterns.sections.get(letter)
        if section is not None:
            while self.blocks and self.blocks[-1].kind != "body":
                self._close(self.tokens[at - 1].end)
            self._begin(self.tokens[at].start, section, self.map.sections[-1].scope)
        kind = self.blocks[-1].kind if self.blocks else "body"
        statements = self.patterns.statements
        for pattern in statements.get(self.map.sections[-1].section if kind == "body" else kind, statements[""]):
            match = pattern.match(self.letters, at)
            if match is not None:
                self._note(match)
                return match.end()
        return at + 1

    def _begin(self, start: int, section: str, scope: str, kind: str = "body") -> None:
        """Begin a section; blocks of types stand in one section of a language that names sections."""
        if kind == "body" or not self.patterns.sections:
            self.map.sections.append(SectionStart(start, section, scope))

    def _close(self, end: int) -> None:
        """Close the innermost block, if there is one."""
        if not self.blocks:
            return
        kind, _, start, number, outside = self.blocks.pop()
        if number >= 0:
            self.map.mentions[number] = self.map.mentions[number]._replace(extent=(start, end))
        self.map.blocks.append((start, end))
        self._begin(end, outside.section, outside.scope, kind)

    def _bytes(self, start: int, stop: int) -> tuple[int, int]:
        """Return the bytes of some tokens; of no tokens, the end of the one before."""
        end = self.tokens[stop - 1].end
        return (self.tokens[start].start if start < stop else end), end

    def _note(self, match: re.Match[str]) -> None:
        """Add the names of a statement, and open its block."""
        place, mentions = self.map.sections[-1], self.map.mentions
        spans = {group: span for group, span in zip(match.re.groupindex, match.regs[1:], strict=True) if span[0] >= 0}
        value = self._bytes(*spans.pop("value")) if "value" in spans else None
        stop = spans.pop("extent", match.regs[0])[1]
        if self.letters[match.start()] != ",":
            type_at = spans.get("use_type")
            type_name = "" if type_at is None else self._read(type_at[0], "use_type")[1]
            self.statement = self.tokens[match.start()].start, type_name
        start, type_name = self.statement
        holder = owner = self.blocks[-1].name if self.blocks else ""
        number, name = -1, ""
        for group, (begin, end) in spans.items():
            kind, _, rest = group.rpartition("_")
            if kind == "open":
                is_group = number >= 0 and mentions[number].role == "group"
                scope = names.join(place.scope, name.rpartition("/")[2] or "_") if is_group else place.scope
                self.blocks.append(Block(rest, "" if rest == "body" else name, start, number, place))
                self._begin(self.tokens[begin].end, rest, scope, rest)
                continue
            for at in range(begin, end):
                if self.letters[at] not in self.patterns.names:
                    continue
                token, (role, word) = self.tokens[at], self._read(at, group)
                if not kind:
                    number, name = len(mentions), word
                    extent = start, self.tokens[stop - 1].end
                    mention = Mention(token.start, token.end, role, word, place.scope, owner, type_name, extent, value)
                else:
                    of = name if role == "dimension" else holder if role == "attribute" else ""
                    mention = Mention(token.start, token.end, role, word, place.scope, of)
                    owner = word if role in ("variable", "owner") else owner
                mentions.append(mention)
        if number < 0 and value is not None:
            mentions[-1] = mentions[-1]._replace(value=value)

    def _read(self, at: int, group: str) -> tuple[Role, str]:
        """Return the role and the name of a token in a group."""
        is_atomic = group == "use_type" and self.letters[at] == ATOMIC_LETTER
        role = "atomic" if is_atomic else cast("Role", group.removeprefix("use_"))
        return role, self.read_name(self.tokens[at], role)
