"""The fast token source of CDL: bytes → tokens for the parser of `grammar/CDL.g4`.

Value lists become one VALUES token, runs of simple statements one SIMPLE token (both spans of the source,
read later); everything else comes as the plain tokens of the grammar. Texts are never decoded here. What no token can
begin with is reported and skipped; the parser always gets a well-formed stream that ends in EOF.

Invariant: the tree is the one that the grammar's own lexer would give (tests/unit/syntax proves it on every
corpus file); only the two virtual tokens are coarser.
"""

from __future__ import annotations

import re

from nczarr import names
from nczarr.diagnostics import Report
from nczarr.source import Buffer, Source, Span
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

MAX_GROUPS = 64
"""Groups nest this deep at most (ast.walk.MAX_DEPTH): the parser and the tree recurse."""

SPACE = re.compile(rb"(?:[ \t\r\n\f]++|//[^\r\n]*+|/\*(?s:.*?)\*/)*")

_HEADER = re.compile(rb"(?:netcdf|NETCDF|netCDF)(?![A-Za-z0-9_.@+\-])")
_SECTION_LINE = re.compile(rb"^[ \t]*(?:types|dimensions|variables|data|group):", re.MULTILINE)
_SECTIONS = {
    b"types": P.TYPES,
    b"dimensions": P.DIMENSIONS,
    b"variables": P.VARIABLES,
    b"data": P.DATA,
    b"group": P.GROUP,
}
_PUNCTUATION = {
    0x7B: P.LBRACE, 0x7D: P.RBRACE, 0x28: P.LPAREN, 0x29: P.RPAREN,
    0x3A: P.COLON, 0x3B: P.SEMICOLON, 0x2C: P.COMMA, 0x3D: P.EQUALS, 0x2A: P.STAR,
}  # fmt: skip

PRIMITIVES: dict[bytes, str] = {
    b"byte": "byte", b"char": "char", b"short": "short", b"int": "int", b"long": "int", b"integer": "int",
    b"float": "float", b"real": "float", b"double": "double", b"ubyte": "ubyte", b"ushort": "ushort",
    b"uint": "uint", b"ulong": "uint", b"uinteger": "uint", b"int64": "int64", b"uint64": "uint64",
    b"string": "string",
}  # fmt: skip
"""Spellings of the atomic types (cdl-language §4: `long` and `ulong` have 32 bits)."""

_WORDS: dict[bytes, int] = {
    **dict.fromkeys(PRIMITIVES, P.PRIMITIVE),
    **dict.fromkeys((b"netcdf", b"NETCDF", b"netCDF"), P.NETCDF),
    **dict.fromkeys((b"compound", b"struct", b"structure"), P.COMPOUND),
    **dict.fromkeys((b"unlimited", b"UNLIMITED"), P.UNLIMITED),
    **dict.fromkeys((b"NIL", b"nil", b"Nil"), P.NIL),
    **dict.fromkeys(
        (b"NaN", b"nan", b"NaNf", b"nanf", b"Infinity", b"Infinityf", b"Inff", b"DoubleInf", b"FloatInf"),
        P.SPECIAL_FLOAT,
    ),
    b"enum": P.ENUM,
    b"opaque": P.OPAQUE,
    b"_": P.FILL,
}

_START = rb"(?:[A-Za-z_\x80-\xff]|\\[A-Za-z0-9])"
_PART = rb"(?:[A-Za-z0-9_.@+%\-\x80-\xff]|\\[^\r\n])"
_PLAIN = re.compile(
    rb"(?P<word>%(start)s%(part)s*+)"
    rb"|(?P<path>(?:/%(start)s%(part)s*+)+|/)"
    rb"|(?P<hex>0[xX][0-9a-fA-F]++(?:[sS]|[lL][lL]?)?)"
    rb"|(?P<float>[+-]?(?:[0-9]++\.[0-9]*+|\.[0-9]*+)(?:[eE][+-]?[0-9]++)?[fFdDlL]?|[+-]?[0-9]++[eE][+-]?[0-9]++[fFdDlL]?)"
    rb"|(?P<int>[+-]?[0-9]++[A-Za-z_]*+)"
    rb"|(?P<special>-(?:Infinityf?|Inff))"
    rb'|(?P<string>"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*")'
    rb"|(?P<char>'[^'\\]*+(?:\\(?s:.)[^'\\]*+)*')"
    rb"|(?P<punctuation>[{}():;,=*])" % {b"start": _START, b"part": _PART}
)
_KIND = {
    "path": P.PATH,
    "hex": P.HEX,
    "float": P.FLOAT,
    "int": P.INT,
    "special": P.SPECIAL_FLOAT,
    "string": P.STRING,
    "char": P.CHAR,
}
_CAREFUL_CUT = re.compile(
    rb"""(?:[^;"'/\\]++|\\(?s:.)|"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*"|'(?:[^'\\]|\\(?s:.))?'|'"""
    rb"""|//[^\r\n]*+|/\*(?s:.*?)\*/|/(?!\*))*"""
)

# ---- simple statements: ASCII names without escapes, one declarator, values without strings or one plain string ----
NAME = rb"[A-Za-z_][A-Za-z0-9_.@+\-]*+"
_BLANK = rb"(?:[ \t\r\n\f]++|//[^\r\n]*+)*"
_NO_SECTION = rb"(?!(?i:types|dimensions|variables|data|group)[ \t]*+:)"
_ATTRIBUTE = (
    rb"(?:(?P<word1>%(name)s)(?:[ \t]++(?P<word2>%(name)s))?[ \t]*+)?:[ \t]*+(?P<attribute>%(name)s)[ \t]*+=[ \t]*+"
    rb"(?:\"(?P<text>[^\"\\\r\n]*+)\"[ \t]*+|(?P<other>[^;\"'/{}\\:\x80-\xff]*+));" % {b"name": NAME}
)
_VARIABLE = (
    rb"(?P<type>%(name)s)[ \t]++(?P<variable>%(name)s)[ \t]*+"
    rb"(?:\([ \t]*+(?P<dims>%(name)s[ \t]*+(?:,[ \t]*+%(name)s[ \t]*+)*)\)[ \t]*+)?;" % {b"name": NAME}
)
_DIMENSION = rb"(?P<dimension>%s)[ \t]*+=[ \t]*+(?P<size>0|[1-9][0-9]{0,18}|UNLIMITED|unlimited)[ \t]*+;" % NAME

STATEMENT = re.compile(rb"(?:%s|%s|%s)%s" % (_ATTRIBUTE, _VARIABLE, _DIMENSION, _BLANK))
"""One simple statement and the blanks behind it, taken apart; a SIMPLE token is a run of them."""


def _run(*statements: bytes) -> re.Pattern[bytes]:
    """Runs of simple statements of the given kinds, without groups: a repeated group would cost a capture a turn."""
    either = b"|".join(re.sub(rb"\?P<\w+>", b"?:", statement) for statement in statements)
    return re.compile(rb"(?:%s(?:%s)%s)+" % (_NO_SECTION, either, _BLANK))


_SIMPLE = {
    0: _run(_ATTRIBUTE),
    P.TYPES: _run(_ATTRIBUTE),
    P.DIMENSIONS: _run(_ATTRIBUTE, _DIMENSION),
    P.VARIABLES: _run(_ATTRIBUTE, _VARIABLE),
}


class FastTokens:
    """Scans one source into `tokens`; faults go to the report."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.tokens: list[Token] = []
        self.length = len(source.data)
        self.section = 0
        self.stack: list[int] = []  # the section each open group interrupted
        self.inner = 0  # open braces that are not of groups
        self.parentheses = 0
        self.sound = self.length  # offset up to which the tokens make sense: that of an unclosed string or comment

    def scan(self) -> list[Token]:
        """All tokens, EOF last."""
        check_bytes(self.source, self.report)
        at = scan_header(self.source, self.report, self.tokens)
        if at is not None:
            self._body(at)
        end = self.tokens[-1].stop + 1 if self.tokens and at is None else self.length
        self.tokens.append(Token(-1, max(end, self.length), self.length - 1))
        for number, token in enumerate(self.tokens):
            token.tokenIndex = number
        return self.tokens

    def _add(self, kind: int, start: int, end: int) -> None:
        self.tokens.append(Token(kind, start, end - 1))

    def _error(self, code: str, message: str, start: int, end: int, help_: str = "") -> None:
        self.report.error(code, message, Span(self.source, start, end), helps=[help_] if help_ else ())

    def _body(self, at: int) -> None:
        data, plain = self.source.data, _PLAIN.match
        fresh = True  # a statement may begin here
        while True:
            space = SPACE.match(data, at)
            at = space.end() if space else at
            if at >= self.length:
                return
            if fresh and not self.inner and (run := _SIMPLE.get(self.section)) is not None:
                match = run.match(data, at)
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
                self._add(_KIND[kind or ""], at, end)
                at = end
                continue
            code = data[at]
            self._add(_PUNCTUATION[code], at, end)
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
                    self._after(end)
                    return

    def _too_deep(self, what: str, end: int) -> bool:
        """Whether nesting is deeper than the parser may recurse: that ends the tokens."""
        if max(len(self.stack), self.inner, self.parentheses) <= MAX_GROUPS:
            return False
        self._error("too-deep-nesting", f"{what} nest deeper than {MAX_GROUPS}", end - 1, end)
        self.sound = end
        return True

    def _open(self) -> bool:
        """A brace was opened: by `group: name {`, or by a type definition. Whether a statement may follow."""
        if len(self.tokens) >= 3 and self.tokens[-3].type == P.GROUP:
            self.stack.append(self.section)
            self.section = 0
            return True
        self.inner += 1
        return False

    def _after(self, at: int) -> None:
        """The dataset is closed: only white space and comments may follow."""
        space = SPACE.match(self.source.data, at)
        at = space.end() if space else at
        if at < self.length and not _opens_comment(self.source, self.report, at):
            line = bytes(self.source.data[at : at + 40])
            if _HEADER.match(line):
                message = "a second dataset begins here; only one dataset per file"
            else:
                message = "text after the end of the dataset"
            self._error("trailing-text", message, at, at + 1, "remove it, or check the braces before it")

    def _word(self, text: bytes, at: int, end: int, *, fresh: bool) -> tuple[int, bool]:
        """A section, keyword or name. Returns where to go on (negative: stop) and whether a statement may begin."""
        section = _SECTIONS.get(text.lower())
        if section is not None:
            colon = self._section(section, text, at, end, fresh=fresh)
            if colon:
                self._add(section, at, colon)
                if section != P.GROUP:
                    self.section = section
                return colon, section != P.GROUP
        if not text.isascii():
            bad = self._strange(at, end)
            if bad is not None:
                end = bad
                if end == at:
                    return _skip_character(self.source.data, at), False
        self._add(_WORDS.get(text, P.NAME), at, end)
        return end, False

    def _section(self, section: int, text: bytes, at: int, end: int, *, fresh: bool) -> int:
        """Offset behind the colon if a section begins here, else 0; near misses (`DATA:`, `data :`) are reported."""
        data = self.source.data
        if text in _SECTIONS and end < self.length and data[end] == 0x3A:
            return 0 if self._is_variable(text, end) else end + 1
        blank = re.compile(rb"[ \t]*+:").match(data, end)
        if not fresh or blank is None or self._declared(text) or blank.end() == end:
            return 0
        right = text.decode().lower() + ":"
        if text in _SECTIONS:
            message, code = f"no space is allowed between `{right[:-1]}` and its colon", "keyword-space"
        else:
            message, code = f"section keywords are lower case: `{right}`", "keyword-case"
        self._error(code, message, at, blank.end(), f"write `{right}`")
        return blank.end()

    def _is_variable(self, word: bytes, colon: int) -> bool:
        """Whether `data:units = …` means a variable named `data`: no blank after the colon, and one is declared."""
        if word == b"group" or self.section not in (P.VARIABLES, P.DATA):
            return False
        data = self.source.data
        if re.compile(rb"%s[ \t]*=(?!=)" % NAME).match(data, colon + 1) is None:
            return False
        return self._declared(word)

    def _declared(self, word: bytes) -> bool:
        """Whether a variable of this name seems to be declared in the last variables section."""
        begin = next((token.start for token in reversed(self.tokens) if token.type == P.VARIABLES), None)
        if begin is None:
            return False
        declared = re.compile(rb"[\s,]%s\s*[(,;]" % word)
        return declared.search(self.source.data, begin, self.tokens[-1].stop + 1) is not None

    def _strange(self, at: int, end: int) -> int | None:
        """The offset of the first character that no name holds bare, if there is one; reported."""
        offset = at
        for character in self.source.text(at, end):
            if names.is_strange(character) and self.source.data[offset - 1 : offset] != b"\\":
                size = len(character.encode("utf-8", "surrogateescape"))
                self._bad_character(character, offset, offset + size)
                return offset
            offset += len(character.encode("utf-8", "surrogateescape"))
        return None

    def _bad_character(self, character: str, start: int, end: int) -> None:
        self._error("bad-character", names.bad_character(character), start, end, "remove it, or put a space there")

    def _bad(self, at: int) -> int:
        """Nothing begins with what stands here. Returns where to go on; negative: nowhere."""
        data = self.source.data
        first = data[at]
        if first == 0x22:
            self._unclosed_string(at)
            return -1
        if first == 0x27:
            self._error("bad-char-constant", "character constant is not closed", at, at + 1)
            return _line_end(data, at)
        if self._unclosed_comment(at):
            return -1
        if first == 0:
            return at + 1  # reported by check_bytes
        end = _skip_character(data, at)
        character = self.source.text(at, end)
        self._bad_character(character, at, end)
        return end

    def _unclosed_string(self, at: int) -> None:
        message = "string constant is not closed before the end of the file"
        self._error("unterminated-string", message, at, at + 1, 'close it with `"`')
        self.sound = at

    def _unclosed_comment(self, at: int) -> bool:
        opens = _opens_comment(self.source, self.report, at)
        if opens:
            self.sound = at
        return opens

    def _values(self, at: int) -> int:
        """After `=`: in `data:` and after `: name` the rest up to the semicolon is one value list."""
        tokens = self.tokens
        attribute = len(tokens) >= 3 and tokens[-3].type == P.COLON
        if not attribute and (self.section != P.DATA or self.inner):
            return at
        data = self.source.data
        end = cut(data, at)
        if end < self.length and data[end] != 0x3B:
            if data[end] == 0x22:
                self._unclosed_string(end)
                end = self.length
            elif self._unclosed_comment(end):
                end = self.length
        space = SPACE.match(data, at)
        if space is None or space.end() < end:
            self._add(P.VALUES, at, end)
        return end


def cut(data: Buffer, at: int) -> int:
    """Offset of the semicolon that ends the value list beginning at `at` (of the fault if there is none)."""
    end = _find(data, b";", at, len(data))
    here = at
    while True:  # lists of numbers, however long: hop from comment to comment
        slash = data.find(b"/", here, end)
        plain = end if slash < 0 else slash
        if any(data.find(special, here, plain) >= 0 for special in (b'"', b"'", b"\\")):
            match = _CAREFUL_CUT.match(data, here)
            return match.end() if match else here
        if slash < 0:
            return end
        opener = data[slash : slash + 2]
        if opener == b"/*":
            closed = data.find(b"*/", slash + 2)
            if closed < 0:
                return slash
            here = closed + 2
        elif opener == b"//":
            here = min(_find(data, b"\n", slash, len(data)), _find(data, b"\r", slash, len(data)))
        else:
            here = slash + 1
        if here > end:
            end = _find(data, b";", here, len(data))


def _find(data: Buffer, what: bytes, start: int, end: int) -> int:
    found = data.find(what, start, end)
    return end if found < 0 else found


def scan_header(source: Source, report: Report, tokens: list[Token]) -> int | None:
    """Cut `netcdf NAME {` out of the text into three tokens. Returns the offset behind it; None: hopeless."""
    data = source.data
    at = 3 if data[:3] == b"\xef\xbb\xbf" else 0
    space = SPACE.match(data, at)
    at = space.end() if space else at
    if at >= len(data):
        report.error("empty-input", "the file is empty; expected `netcdf NAME { … }`", Span(source, 0, 0))
        return None
    start = _HEADER.match(data, at)
    if start is None:
        if not _opens_comment(source, report, at):
            message = "a CDL file starts with `netcdf NAME {`"
            report.error("expected-token", message, Span(source, at, at + 1), helps=["write `netcdf NAME {` first"])
        return None
    tokens.append(Token(P.NETCDF, at, start.end() - 1))
    brace = data.find(b"{", start.end())
    section = _SECTION_LINE.search(data, start.end())
    if brace < 0 or (section is not None and section.start() < brace):
        return _no_brace(source, report, tokens, start.end())
    tokens.append(Token(P.DATASET_NAME, start.end(), brace - 1))
    tokens.append(Token(P.LBRACE, brace, brace))
    return brace + 1


def _no_brace(source: Source, report: Report, tokens: list[Token], at: int) -> int:
    """`netcdf NAME` without a brace: say so where it should stand, and go on as if it did."""
    word = re.compile(rb"[ \t]*[^\s{};:]*").match(source.data, at)
    end = word.end() if word else at
    space = SPACE.match(source.data, end)
    here = space.end() if space else end
    report.error("expected-token", "expected `{` after the dataset name", Span(source, here, here + 1))
    tokens.append(Token(P.DATASET_NAME, at, end - 1))
    tokens.append(Token(P.LBRACE, end, end - 1))
    return end


def check_bytes(source: Source, report: Report, slab: int = 1 << 20) -> None:
    """Report NUL bytes and what is not UTF-8, wherever they stand. Raises nothing; at most 20 of each."""
    data, found = source.data, 0
    at = data.find(b"\0")
    while at >= 0 and found < 20:
        report.error(
            "nul-byte", "NUL byte in the source text", Span(source, at, at + 1), helps=[r"write \000 in a string"]
        )
        at, found = data.find(b"\0", at + 1), found + 1
    at = 0
    found = 0
    while at < len(data) and found < 20:
        piece = bytes(data[at : at + slab])
        if piece.isascii():
            at += slab
            continue
        try:
            piece.decode("utf-8")
            at += slab
        except UnicodeDecodeError as error:
            if error.start + 4 > len(piece) and at + len(piece) < len(data) and error.start > 0:
                at += error.start  # a character cut by the slab's end
                continue
            bad = at + error.start
            _invalid(source, report, bad)
            at, found = at + max(error.end, error.start + 1), found + 1


def _invalid(source: Source, report: Report, at: int) -> None:
    """Report a byte that is not UTF-8: text in another encoding, or (0x80 .. 0x9F, no letter of Latin-1) raw data."""
    byte = source.data[at]
    message = f"byte 0x{byte:02X} is not valid UTF-8"
    if byte < 0xA0:
        help_ = f"it is kept as it is; write \\{byte:03o} to say that a raw byte is meant"
        report.warning("raw-byte", message, Span(source, at, at + 1), helps=[help_])
    else:
        help_ = f"save the file as UTF-8, or write \\{byte:03o} for a raw byte in char data"
        report.error("invalid-utf8", message, Span(source, at, at + 1), helps=[help_])


def _opens_comment(source: Source, report: Report, at: int) -> bool:
    """Report a block comment that begins here and has no end (SPACE has taken all the others)."""
    if bytes(source.data[at : at + 2]) != b"/*":
        return False
    message = "block comment is not closed before the end of the file"
    report.error("unterminated-comment", message, Span(source, at, at + 2), helps=["close it with `*/`"])
    return True


def _skip_character(data: Buffer, at: int) -> int:
    end = at + 1
    while end < len(data) and data[at] >= 0xC0 and 0x80 <= data[end] < 0xC0:
        end += 1
    return end


def _line_end(data: Buffer, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end
