"""Fast token source of CDL: bytes → tokens for the parser of `syntax/grammars/CDLParser.g4`.

A value list becomes one VALUES token, a run of simple statements one SIMPLE
token (spans, parsed later); all else the grammar's tokens. String constants are
not decoded. Characters that begin no token are reported and skipped; the stream
is always well-formed and ends in EOF.

Invariant: the tree equals that of the grammar's own lexer (tests/core/syntax
proves it on every corpus file).
"""

import re

from nczarr import names
from nczarr.diagnostics.report import Buffer, Fix, Label, Report, Source, Span, did_you_mean
from nczarr.formats.cdl.read.patterns import (
    BRACES,
    CAREFUL_CUT,
    HAND_TYPED,
    HEADER,
    KIND,
    MAX_GROUPS,
    NAME,
    NEXT_DATA,
    NEXT_STATEMENT,
    PLAIN,
    PUNCTUATION,
    SECTIONS,
    SPACE,
    WORDS,
    check_bytes,
    find_unclosed_string,
    line_end,
    match_simple_run,
    opens_comment,
    scan_header,
    skip_character,
)
from nczarr.formats.cdl.spelling import strange_character
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

_INSTEAD = {
    **dict.fromkeys("[]", "write a length alone, as in `x = 4`, and dimensions in parentheses, as in `int v(x)`"),
    "#": "a comment begins with `//`",
}
"""Advice for characters of other languages."""


class FastTokens:
    """Scanner of one source into `tokens`; faults go to the report. `simple`: make SIMPLE tokens."""

    def __init__(self, source: Source, report: Report, *, simple: bool = True) -> None:
        self.source = source
        self.simple = simple
        self.report = report
        self.tokens: list[Token] = []
        self.length = len(source.data)
        self.section = 0
        self.stack: list[int] = []  # the section each open group interrupted
        self.inner = 0  # open braces that are not of groups
        self.parentheses = 0
        self.refused: list[int] = []  # offsets of characters that were reported and left out
        self.sound = self.length  # offset up to which the tokens make sense: that of an unclosed string or comment

    def scan(self) -> list[Token]:
        """Return all tokens, EOF last."""
        check_bytes(self.source, self.report)
        at = scan_header(self.source, self.report, self.tokens)
        if at is not None:
            self._read_body(at)
        end = self.tokens[-1].stop + 1 if self.tokens and at is None else self.length
        self.tokens.append(Token(-1, max(end, self.length), self.length - 1))
        for number, token in enumerate(self.tokens):
            token.tokenIndex = number
        return self.tokens

    def _add(self, kind: int, start: int, end: int) -> None:
        self.tokens.append(Token(kind, start, end - 1))

    def _error(self, code: str, message: str, start: int, end: int, help_: str = "") -> None:
        self.report.error(code, message, Span(self.source, start, end), helps=[help_] if help_ else ())

    def _read_body(self, at: int) -> None:
        """Split the text from an offset into tokens; stop at its end, or after a fault that hides the rest."""
        data, plain = self.source.data, PLAIN.match
        fresh = True  # a statement may begin here
        while True:
            space = SPACE.match(data, at)
            at = space.end() if space else at
            if at >= self.length:
                return
            if self.simple and fresh and not self.inner:
                match = match_simple_run(data, at, self.section)
                if match is not None:
                    self._add(P.SIMPLE, at, match.end())
                    at = match.end()
                    continue
            match = plain(data, at) if data[at : at + 2] != b"/*" else None
            if match is None:
                at = self._bad(at)
                if at < 0:
                    return
                continue
            end = match.end()
            kind = match.lastgroup
            if kind == "word":
                at, fresh = self._word(match.group(), at, end, fresh=fresh and not self.inner)
                if at < 0:
                    return
                continue
            fresh = False
            if kind != "punctuation":
                self._add(KIND[kind or ""], at, end)
                at = end
                continue
            code = data[at]
            self._add(PUNCTUATION[code], at, end)
            at = end
            if code == 0x3D:  # =
                at = self._values(end)
            elif code == 0x3B:  # ;
                fresh = True
            elif code == 0x7B:  # {
                fresh = self._open()
                if self._too_deep("groups" if len(self.stack) > MAX_GROUPS else "braces", end):
                    return
            elif code == 0x28:  # (
                self.parentheses += 1
                if self._too_deep("parentheses", end):
                    return
            elif code == 0x29:  # )
                self.parentheses = max(0, self.parentheses - 1)
            elif code == 0x7D:  # }
                fresh = True
                if self.inner:
                    self.inner -= 1
                elif self.stack:
                    self.stack.pop()
                    self.section = 0
                else:
                    self._report_text_after(end)
                    return

    def _too_deep(self, what: str, end: int) -> bool:
        """Return whether nesting exceeds the parser's recursion limit, which ends the tokens."""
        if max(len(self.stack), self.inner, self.parentheses) <= MAX_GROUPS:
            return False
        self._error("too-deep-nesting", f"{what} are nested deeper than {MAX_GROUPS}", end - 1, end)
        self.sound = end
        return True

    def _open(self) -> bool:
        """Record an opened brace (group or type definition); return whether a statement may follow."""
        if len(self.tokens) >= 3 and self.tokens[-3].type == P.GROUP:
            self.stack.append(self.section)
            self.section = 0
            return True
        self.inner += 1
        return False

    def _report_text_after(self, at: int) -> None:
        """Report text after the dataset other than white space and comments."""
        space = SPACE.match(self.source.data, at)
        at = space.end() if space else at
        if at < self.length and not opens_comment(self.source, self.report, at):
            if HEADER.match(bytes(self.source.data[at : at + 40])):
                message = "a second dataset begins here; only one dataset per file"
            else:
                message = "text after the end of the dataset"
            self._error("trailing-text", message, at, at + 1, "remove it, or check the braces before it")

    def _word(self, text: bytes, at: int, end: int, *, fresh: bool) -> tuple[int, bool]:
        """Add a section, keyword or name.

        Returns the next offset (negative: stop) and whether a statement may begin.
        """
        section = SECTIONS.get(text.lower())
        if section is None and fresh and self.source.data[end : end + 1] == b":":
            section = self._misspelt_section(text, at, end)
            if section is not None:
                self._add(section, at, end + 1)
                self.section = section
                return end + 1, True
        if section is not None:
            colon = self._section(text, at, end, fresh=fresh)
            if colon:
                self._add(section, at, colon)
                if section != P.GROUP:
                    self.section = section
                return colon, section != P.GROUP
        strange = None if text.isascii() else strange_character(self.source, at, end)
        if strange is not None:
            self._report_bad_character(*strange)
            end = strange[1]
            if end == at:
                return skip_character(self.source.data, at), False
        self._add(WORDS.get(text, P.NAME), at, end)
        return end, False

    def _section(self, text: bytes, at: int, end: int, *, fresh: bool) -> int:
        """Return the offset after a section's colon, else 0; reports near misses (`DATA:`, `data :`)."""
        data = self.source.data
        if text in SECTIONS and end < self.length and data[end] == 0x3A:
            return 0 if self._is_variable(text, end) else end + 1
        blank = re.compile(rb"[ \t]*+:").match(data, end)
        if not fresh or blank is None or self._is_declared(text):
            return 0
        if text in SECTIONS and not data[blank.end() : blank.end() + 1].isspace():
            return 0  # `data :a = 1` is an attribute of a type or variable of this name
        right = text.decode().lower() + ":"
        if text in SECTIONS:
            message, code = f"no space is allowed between `{right[:-1]}` and its colon", "keyword-space"
        else:
            message, code = f"section keywords are lower case: `{right}`", "keyword-case"
        self._error(code, message, at, blank.end(), Fix(f"write `{right}`", right))
        return blank.end()

    def _misspelt_section(self, text: bytes, at: int, end: int) -> int | None:
        """Return the section that a word with a colon before a blank means, with a report."""
        if re.compile(rb":(?:\s|//)").match(self.source.data, end) is None or self._is_declared(text):
            return None
        sections = [section_word.decode() for section_word in SECTIONS if section_word != b"group"]
        word = text.decode("utf-8", "replace")
        meant = names.closest(word.lower(), sections)
        if meant is None:
            return None
        self._error("expected-token", f"`{word}:` is not a section", at, end + 1, did_you_mean(f"{meant}:", f"{word}:"))
        section: int = SECTIONS[meant.encode()]
        return section

    def _is_variable(self, word: bytes, colon: int) -> bool:
        """Return whether `data:units = …` means a declared variable `data`: there is no blank after the colon."""
        if word == b"group" or self.section not in (P.VARIABLES, P.DATA):
            return False
        if re.compile(rb"%s[ \t]*=(?!=)" % NAME).match(self.source.data, colon + 1) is None:
            return False
        return self._is_declared(word)

    def _is_declared(self, word: bytes) -> bool:
        """Return whether the last variables section seems to declare a variable of this name."""
        begin = next((token.start for token in reversed(self.tokens) if token.type == P.VARIABLES), None)
        if begin is None:
            return False
        declared = re.compile(rb"[\s,]%s\s*[(,;]" % re.escape(word))
        return declared.search(self.source.data, begin, self.tokens[-1].stop + 1) is not None

    def _report_bad_character(self, character: str, start: int, end: int) -> None:
        """Report an invalid character, only the first per statement, because they often come in groups."""
        ended = next((token.end for token in reversed(self.tokens) if token.type in (P.SEMICOLON, P.SIMPLE)), 0)
        is_reported = bool(self.refused) and self.refused[-1] >= ended
        if character != "#":  # which hides the rest of its line, and nothing follows from it
            self.refused.append(start)
        if is_reported:
            return
        help_ = _INSTEAD.get(character, "remove it, or put a space there")
        self._error("bad-character", names.bad_character(character), start, end, help_)

    def _bad(self, at: int) -> int:
        """Report input that begins no token. Returns the next offset; negative: stop."""
        data = self.source.data
        first = data[at]
        if first == 0x22:
            self._report_unclosed_string(at)
            return -1
        if first == 0x27:
            self._error("bad-char-constant", "character constant is not closed", at, at + 1)
            return line_end(data, at)
        if self._is_unclosed_comment(at):
            return -1
        if first == 0:
            return at + 1  # reported by check_bytes
        end = skip_character(data, at)
        character = self.source.text(at, end)
        self._report_bad_character(character, at, end)
        return line_end(data, at) if character == "#" else end

    def _report_unclosed_string(self, at: int) -> None:
        """Report the string that lacks its closing quote: an earlier one if text follows what closes that."""
        opened, closed = find_unclosed_string(self.source.data, at)
        others = () if closed is None else (Label(Span(self.source, closed, closed + 1), "this quote closes it"),)
        place = Span(self.source, opened, opened + 1)
        helps = ['close it with `"`']
        self.report.error("unterminated-string", "string is not closed", place, others=others, helps=helps)
        self.sound = opened

    def _is_unclosed_comment(self, at: int) -> bool:
        opens = opens_comment(self.source, self.report, at)
        if opens:
            self.sound = at
        return opens

    def _values(self, at: int) -> int:
        """Add the value list after `=` in `data:` or after `: name`. Returns its end."""
        tokens = self.tokens
        attribute = len(tokens) >= 3 and tokens[-3].type == P.COLON
        if not attribute and (self.section != P.DATA or self.inner):
            return at
        data = self.source.data
        end = cut(data, at)
        if end < self.length and data[end] != 0x3B:
            if data[end] == 0x22:
                self._report_unclosed_string(end)
                end = self.length
            elif self._is_unclosed_comment(end):
                end = self.length
        space = SPACE.match(data, at)
        if space is None or space.end() < end:
            if self.sound == self.length:
                end = self._before_statement(at, end, attribute=attribute)
            self._add(P.VALUES, at, end)
        return end

    def _before_statement(self, at: int, end: int, *, attribute: bool) -> int:
        """Return the end of a value list without semicolon: before a line that seems to begin a statement.

        A guess, so only for lists of hand-typed size; the parser then reports
        the semicolon.
        """
        if end - at > HAND_TYPED:
            return end
        data = self.source.data
        depth = 0
        for match in re.compile(BRACES).finditer(data, at, end):
            depth += {b"{": 1, b"}": -1}.get(match.group(), 0)
            if depth < 0:  # the brace of a group or of the dataset
                end = match.start()
                end -= len(bytes(data[at:end])) - len(bytes(data[at:end]).rstrip())
                break
        for match in re.compile(NEXT_STATEMENT if attribute else NEXT_DATA).finditer(data, at, end):
            before = bytes(data[at : match.start()])
            if before.count(b'"') % 2 == 0 and before.rstrip()[-1:] not in (b"", b",", b"{"):
                return at + len(before.rstrip())
        return end


def cut(data: Buffer, at: int) -> int:
    """Return the offset of the semicolon that ends the value list at `at`, or of the fault."""
    end = _find(data, b";", at, len(data))
    start = at
    while True:  # lists of numbers, however long: hop from comment to comment
        slash = data.find(b"/", start, end)
        plain = end if slash < 0 else slash
        if any(data.find(special, start, plain) >= 0 for special in (b'"', b"'", b"\\")):
            match = re.compile(CAREFUL_CUT).match(data, start)
            return match.end() if match else start
        if slash < 0:
            return end
        opener = data[slash : slash + 2]
        if opener == b"/*":
            closed = data.find(b"*/", slash + 2)
            if closed < 0:
                return slash
            start = closed + 2
        elif opener == b"//":
            start = min(_find(data, b"\n", slash, len(data)), _find(data, b"\r", slash, len(data)))
        else:
            start = slash + 1
        if start > end:
            end = _find(data, b";", start, len(data))


def _find(data: Buffer, what: bytes, start: int, end: int) -> int:
    position = data.find(what, start, end)
    return end if position < 0 else position
