"""Base of the contexts of all generated parsers."""

from __future__ import annotations

from typing import Any

from antlr4 import ParserRuleContext


class RuleContext(ParserRuleContext):  # type: ignore[misc]
    """One application of a rule."""

    __slots__ = ("parser",)

    def __init__(self, parser: Any, parent: Any = None, invoking_state: int = -1) -> None:
        super().__init__(parent, invoking_state)
        self.parser = parser

    def getRuleIndex(self) -> int:  # noqa: N802  (a method of the runtime)
        """Return the number of the rule, which has the name of the class."""
        name = type(self).__name__.removesuffix("Context")
        number: int = self.parser.ruleNames.index(name[:1].lower() + name[1:])
        return number
