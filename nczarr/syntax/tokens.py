"""Tokens, token streams, contexts and error recovery for generated parsers with our own scanners.

The ANTLR runtime needs only lookahead, consumption and seeking. A list provides
these several times faster than the runtime's buffered streams. Offsets are
bytes of a `Source`; the runtime's lines and columns are unused.

From the parser's state at a fault, recovery makes one diagnostic `expected-token`
(or a more specific one from the grammar's `explain`) at the place of the missing
token. Then the runtime's usual recovery follows: insert, delete, or skip to a
token of an enclosing rule.
"""

from collections.abc import Callable
from typing import Any

from antlr4 import ParserRuleContext
from antlr4.atn.ATNState import ATNState
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.IntervalSet import IntervalSet

from nczarr.diagnostics.report import Label, Report, Source, Span
from nczarr.names.records import NamedTuple


class RuleContext(ParserRuleContext):  # type: ignore[misc]
    """One application of a rule: base of the contexts of all generated parsers."""

    __slots__ = ("parser",)

    def __init__(self, parser: Any, parent: Any = None, invoking_state: int = -1) -> None:
        super().__init__(parent, invoking_state)
        self.parser = parser

    def getRuleIndex(self) -> int:  # noqa: N802  (a method of the runtime)
        """Return the number of the rule, which has the name of the class."""
        name = type(self).__name__.removesuffix("Context")
        number: int = self.parser.ruleNames.index(name[:1].lower() + name[1:])
        return number


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
        return self.tokens[self.index].type if offset == 1 else self.LT(offset).type

    def LT(self, offset: int) -> Token:  # noqa: N802
        """Return the token `offset` places ahead (from 1) or back (negative)."""
        if offset == 1:
            return self.tokens[self.index]
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


EOF = -1
EPSILON = -2
"""The runtime's marker of a rule that may end here."""


class SyntaxFault(NamedTuple):
    """Input of an `explain` function."""

    rule: str
    """Name of the current grammar rule."""
    expected: frozenset[int]
    """Expected token types."""
    found: Token
    previous: Token | None
    """Token before it."""
    context: Any
    """Parser context."""


class FaultAnswer(NamedTuple):
    """Answer of an `explain` function."""

    code: str
    """Diagnostic code."""
    message: str
    """Message of the diagnostic."""
    after: bool = False
    """True if the place is the end of the previous token; otherwise it is the found token, or `place`."""
    helps: tuple[str, ...] = ()
    """Remedies."""
    others: tuple[Label, ...] = ()
    """Related positions."""
    place: Span | None = None
    """Position that replaces the found token."""
    missing: str = ""
    """Text that is missing at the position."""


class Recovery(DefaultErrorStrategy):  # type: ignore[misc]
    """Error strategy of all our parsers.

    Each mistake is reported once: a second fault of one statement is a
    consequence of the first. Declarations of faulty statements are recorded.
    """

    UNITS: tuple[Any, ...] = ()
    """Contexts of rules that report at most one fault: statements, or parts of them."""
    NAME = 0
    """Token type of names."""

    def __init__(
        self, source: Source, report: Report, explain: Callable[[SyntaxFault], FaultAnswer], sound: int | None = None
    ) -> None:
        """Initialize; faults after the offset `sound` are unreported consequences of earlier ones."""
        super().__init__()
        self.sound = sound
        self.source = source
        self.report = report
        self.explain = explain
        self.count = 0
        self.faulty: list[tuple[int, int]] = []
        """Ranges of tokens, by number: of each faulty statement, from its begin to where the parser went on."""
        self._expected: dict[int, frozenset[int]] = {}  # types of tokens that can come next, by state
        self._open: int | None = None  # where the faulty statement under way begins
        self._last = -1  # where the last faulty statement began

    def sync(self, recognizer: Any) -> None:
        """Skip tokens that cannot begin another loop iteration.

        The runtime's own code adds the recovery set to the parser tables'
        expected tokens, which later parses share: their diagnostics would
        depend on earlier input.
        """
        if self.fits(recognizer):
            return
        state = recognizer._interp.atn.states[recognizer.state]
        turning = state.stateType in (ATNState.STAR_LOOP_BACK, ATNState.PLUS_LOOP_BACK)
        if turning and not self.inErrorRecoveryMode(recognizer) and self.is_unwanted(recognizer, state):
            self.skip(recognizer)
        else:
            super().sync(recognizer)

    def fits(self, recognizer: Any) -> bool:
        """Return whether the current token can come next in this state, outside of a recovery.

        This is how the runtime's own method begins, in a third of its time.
        """
        if self.errorRecoveryMode:
            return False
        number = recognizer._stateNumber
        expected = self._expected.get(number)
        if expected is None:
            atn = recognizer._interp.atn
            expected = self._expected[number] = frozenset(_list_types(atn.nextTokens(atn.states[number])))
        stream = recognizer._input
        if stream.tokens[stream.index].type not in expected:
            return False
        self.nextTokensContext = None
        return True

    def is_unwanted(self, recognizer: Any, state: ATNState) -> bool:
        """Return whether the current token can neither continue from a state nor end its rule."""
        follow = recognizer.atn.nextTokens(state)
        return recognizer.getTokenStream().LA(1) not in follow and EPSILON not in follow

    def skip(self, recognizer: Any) -> None:
        """Report the current token, and skip to one expected here or after an enclosing rule."""
        self.reportUnwantedToken(recognizer)
        wanted = IntervalSet().addSet(recognizer.getExpectedTokens())
        self.consumeUntil(recognizer, wanted.addSet(self.getErrorRecoverySet(recognizer)))

    def reportError(self, recognizer: Any, e: Any) -> None:  # noqa: N802
        """Report a token that begins no alternative of a rule."""
        self._report_fault(recognizer, e.offendingToken)

    def reportUnwantedToken(self, recognizer: Any) -> None:  # noqa: N802
        """Report the current token, which the runtime is about to delete."""
        self._report_fault(recognizer, recognizer.getCurrentToken())

    def reportMissingToken(self, recognizer: Any) -> None:  # noqa: N802
        """Report a token that the runtime is about to insert before the current one."""
        self._report_fault(recognizer, recognizer.getCurrentToken())

    def getMissingSymbol(self, recognizer: Any) -> Token:  # noqa: N802
        """Return the inserted token: empty, of the expected type."""
        kind = next(iter(_list_types(self.getExpectedTokens(recognizer))), 0)
        here = recognizer.getCurrentToken()
        return Token(kind, here.start, here.start - 1)

    def _report_fault(self, recognizer: Any, found: Token) -> None:
        """Report a syntax fault, unless it follows from an earlier one or from text that the lexer left."""
        if self.inErrorRecoveryMode(recognizer):
            return
        self.beginErrorCondition(recognizer)
        self.count += 1
        if self.sound is not None and found.start >= self.sound and self.sound < len(self.source.data):
            return
        context = recognizer._ctx
        index = found.tokenIndex
        fault = SyntaxFault(
            recognizer.ruleNames[context.getRuleIndex()] if context is not None else "",
            frozenset(_list_types(self.getExpectedTokens(recognizer))),
            found,
            recognizer._input.get(index - 1) if index > 0 else None,
            context,
        )
        finding = self.explain(fault)
        if self.follows(recognizer, found, finding):
            return
        if finding.place is not None:
            span = finding.place
        elif finding.after and fault.previous is not None:
            span = Span(self.source, fault.previous.end, fault.previous.end)
        else:
            span = Span(self.source, found.start, max(found.end, found.start))
        self.report.error(
            finding.code, finding.message, span, helps=finding.helps, others=finding.others, missing=finding.missing
        )

    def follows(self, recognizer: Any, found: Token, finding: FaultAnswer) -> bool:
        """Return whether a fault is an unreported consequence of another."""
        stream = recognizer.getTokenStream()
        context = recognizer._ctx
        while context is not None and not isinstance(context, self.UNITS):
            context = context.parentCtx
        start = found.tokenIndex if context is None else min(context.start.tokenIndex, found.tokenIndex)
        is_told = start == self._last or self.goes_on(context, stream.get(max(start - 1, 0)), stream.get(start), found)
        if is_told or not finding.after or found.type == EOF:  # where only an end is missing, the statement is whole
            self._open = self._last = start
            self.handle_damage(context)
        return is_told

    def goes_on(self, context: Any, before: Token, first: Token, found: Token) -> bool:
        """Return whether text after the token `before` continues a faulty construct."""
        return False

    def handle_damage(self, context: Any) -> None:
        """Handle a fault in a unit (None: between units)."""

    def reportMatch(self, recognizer: Any) -> None:  # noqa: N802
        """Handle a matching token, which ends a faulty statement."""
        if self._open is not None:
            self._close(recognizer.getTokenStream().index)
        super().reportMatch(recognizer)

    def _close(self, index: int) -> None:
        if self._open is not None:
            self.faulty.append((self._open, index))
        self._open = None

    def finish(self, stream: ListStream) -> set[str]:
        """Suppress reports in faulty statements, and return the names in them as written."""
        self._close(len(stream.tokens) - 1)
        found: set[str] = set()
        for start, end in self.faulty:
            tokens = stream.tokens[start:end]
            if tokens:
                self.report.hush(Span(self.source, tokens[0].start, max(token.end for token in tokens)))
            found.update(self.source.text(token.start, token.end) for token in tokens if token.type == self.NAME)
        return found


def _list_types(expected: Any) -> list[int]:
    return [kind for interval in expected.intervals or () for kind in interval]
