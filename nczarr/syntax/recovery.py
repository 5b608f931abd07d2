"""What a generated parser does when it meets a token it cannot use: say so kindly, and go on.

Comes in: the parser's state at a fault. Goes out: one diagnostic of code `expected-token` (or one that a
grammar's own `explain` knows better), at the place where the missing token should stand; then the runtime's
usual recovery: insert, delete, or skip to a token that an enclosing rule can use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from antlr4.atn.ATNState import ATNState
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.IntervalSet import IntervalSet

from nczarr.diagnostics import Label, Report
from nczarr.source import Source, Span
from nczarr.syntax.tokens import Token

EPSILON = -2
"""The runtime's mark, in a set of tokens, that the rule may end here."""


class Fault(NamedTuple):
    """What an `explain` function is told: the rule being parsed, what may come, and the tokens around the fault."""

    rule: str
    expected: frozenset[int]
    found: Token
    previous: Token | None
    context: Any


class Finding(NamedTuple):
    """What it answers: code and message, at the found token; or behind the previous one (`after`), or at a `place`."""

    code: str
    message: str
    after: bool = False
    helps: tuple[str, ...] = ()
    others: tuple[Label, ...] = ()
    place: Span | None = None


class Recovery(DefaultErrorStrategy):  # type: ignore[misc]
    """Error strategy of all our parsers."""

    def __init__(
        self, source: Source, report: Report, explain: Callable[[Fault], Finding], sound: int | None = None
    ) -> None:
        """`sound`: offset up to which the tokens make sense; faults beyond it are consequences, and not said."""
        super().__init__()
        self.sound = sound
        self.source = source
        self.report = report
        self.explain = explain
        self.count = 0

    def reportError(self, recognizer: Any, e: Any) -> None:  # noqa: N802
        """A rule met a token that none of its alternatives can begin with."""
        self._say(recognizer, e.offendingToken)

    def reportUnwantedToken(self, recognizer: Any) -> None:  # noqa: N802
        """The runtime is about to delete the current token."""
        self._say(recognizer, recognizer.getCurrentToken())

    def reportMissingToken(self, recognizer: Any) -> None:  # noqa: N802
        """The runtime is about to insert a token before the current one."""
        self._say(recognizer, recognizer.getCurrentToken())

    def getMissingSymbol(self, recognizer: Any) -> Token:  # noqa: N802
        """The token that was inserted: empty, of the expected type."""
        kind = next(iter(_types(self.getExpectedTokens(recognizer))), 0)
        here = recognizer.getCurrentToken()
        return Token(kind, here.start, here.start - 1)

    def sync(self, recognizer: Any) -> None:
        """Meet the runtime's own `sync`, with a copy of a set.

        At the end of a loop the runtime (4.13.2) adds to the set of tokens that the grammar's automaton keeps for
        all later parses: after one faulty text, another would be recovered from in another way.
        """
        state = recognizer._interp.atn.states[recognizer.state]
        following = recognizer.atn.nextTokens(state)
        kind = recognizer.getTokenStream().LA(1)
        loops = (ATNState.PLUS_LOOP_BACK, ATNState.STAR_LOOP_BACK)
        if self.inErrorRecoveryMode(recognizer) or state.stateType not in loops or kind in following or EPSILON in following:
            super().sync(recognizer)
        else:
            self.reportUnwantedToken(recognizer)
            wanted = IntervalSet()
            wanted.addSet(recognizer.getExpectedTokens())
            wanted.addSet(self.getErrorRecoverySet(recognizer))
            self.consumeUntil(recognizer, wanted)

    def _say(self, recognizer: Any, found: Token) -> None:
        if self.inErrorRecoveryMode(recognizer):
            return
        self.beginErrorCondition(recognizer)
        self.count += 1
        if self.sound is not None and found.start >= self.sound and self.sound < len(self.source.data):
            return
        context = recognizer._ctx
        index = found.tokenIndex
        fault = Fault(
            recognizer.ruleNames[context.getRuleIndex()] if context is not None else "",
            frozenset(_types(self.getExpectedTokens(recognizer))),
            found,
            recognizer._input.get(index - 1) if index > 0 else None,
            context,
        )
        finding = self.explain(fault)
        if finding.place is not None:
            span = finding.place
        elif finding.after and fault.previous is not None:
            span = Span(self.source, fault.previous.end, fault.previous.end)
        else:
            span = Span(self.source, found.start, max(found.end, found.start))
        self.report.error(finding.code, finding.message, span, helps=finding.helps, others=finding.others)


def _types(expected: Any) -> list[int]:
    return [kind for interval in expected.intervals or () for kind in interval]
