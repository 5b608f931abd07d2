"""`Code`: what is known of one kind of diagnostic, for `explain`, docs/CODES.md and the test of examples."""

from __future__ import annotations

from dataclasses import dataclass

from nczarr.diagnostics.report import Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Code:
    """A stable name for one kind of defect, and the page that explains it.

    `example` is the smallest input that is reported with this code and no other: CDL, notation or AST JSON,
    told apart by content; or commands, one a line after `$ `, with their standard input below. Bytes that are
    no UTF-8 stand as surrogates. Only a code that no input can provoke has no example.
    """

    name: str
    severity: Severity
    meaning: str
    example: str
    remedy: str

    @property
    def summary(self) -> str:
        """The first sentence of the meaning, with its point."""
        return self.meaning.split(". ")[0].rstrip(".") + "."
