"""What builder calls leave behind until `finish`: declarations with the place of each call."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nczarr import names
from nczarr.api.builder.position import caller
from nczarr.ast import Dimension, Storage, UserType
from nczarr.diagnostics.report import Report
from nczarr.source import Span


class RefusedError(ValueError):
    """A value that does not suit its type: a diagnostic code and a message; the caller knows the position."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        self.code = code
        self.remedy = remedy
        super().__init__(message)


@dataclass(frozen=True, slots=True, eq=False)
class DimensionHandle:
    """A declared dimension, to be used in `variable(…, dimensions=[…])`."""

    path: str
    declared: Dimension


@dataclass(frozen=True, slots=True, eq=False)
class TypeHandle:
    """A declared type, to be used wherever a type is named."""

    path: str
    declared: UserType


@dataclass(slots=True, eq=False)
class PendingAttribute:
    """An attribute whose value becomes a constant when all types are known."""

    name: str
    value: Any
    type: str | None
    span: Span


@dataclass(slots=True, eq=False)
class PendingVariable:
    """A variable before its references are looked up."""

    name: str
    path: str
    type: str
    dimensions: tuple[str | int, ...]
    storage: Storage
    span: Span
    attributes: list[PendingAttribute] = field(default_factory=list)


class Site:
    """The report of one builder, and the checks that every call makes of its plain arguments."""

    def __init__(self) -> None:
        self.report = Report()

    def error(self, code: str, message: str, span: Span | None = None, helps: Iterable[str] = ()) -> None:
        """Keep one mistake at the caller's line, or at an earlier one."""
        self.report.error(code, message, span or caller(), helps=helps)

    def name(self, name: object, what: str) -> str:
        """The name in NFC; one that is no text at all is reported, the rest is the business of the passes."""
        if isinstance(name, str) and name:
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                self.error("invalid-utf8", f"the name {name!r} of {what} holds a lone surrogate")
                return name.encode("utf-8", "replace").decode("utf-8")
            return names.normal(name)
        self.error("bad-name", f"{name!r} is no name for {what}" if name != "" else f"the name of {what} is empty")
        return "_"

    def count(self, number: object, low: int, code: str, what: str) -> int:
        """An integer from `low` to 2**63 - 1; anything else is reported, and something legal returned."""
        try:
            value = None if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
        except TypeError:
            value = None
        if value is None:
            self.error(code, f"{what} is {number!r}, which is no integer")
            return max(low, 1)
        if not low <= value < 2**63:
            self.error(code, f"{what} is {value}; it must be between {low} and {2**63 - 1}")
            return max(low, 1)
        return value
