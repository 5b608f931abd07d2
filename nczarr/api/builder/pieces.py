"""Pending declarations of a builder, each with the position of its call."""

import linecache
import operator
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nczarr import names
from nczarr.api.builder.dtypes import NAMES
from nczarr.ast import ATOMIC, Dimension, Storage, UserType
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source, Span, suggest
from nczarr.names.records import frozen

_PACKAGE = "nczarr."
"""The modules between a program and the builder."""


class Script(Source):
    """A Python file as source; the offsets `2 * line` and `2 * line + 1` are the first word and the end of a line.

    The text comes from `linecache`, which also knows the code of notebooks.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, b"")

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of the first word, or of the end of the line."""
        line, end = divmod(offset, 2)
        text = self.line_text(line)
        return line, (len(text) if end else len(text) - len(text.lstrip())) + 1

    def line_text(self, line: int) -> str:
        """Return the text of a line, empty if unknown."""
        return linecache.getline(self.name, line).rstrip()


def caller() -> Span:
    """Return the span of the current statement outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    line = frame.f_lineno
    return Span(Script(frame.f_code.co_filename), 2 * line, 2 * line + 1)


NO_FILL_VALUE = "declare the variable with a `fill_value` that does not occur in the data, or fill the array"
"""Remedy if no fill value can be chosen."""


class UnsuitedValueError(ValueError):
    """A value that does not fit its type: diagnostic code and message."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        self.code = code
        self.remedy = remedy
        super().__init__(message)


def block_error(code: str, text: str, remedy: str = "") -> CompileError:
    """Return the error of a block whose values are unsuitable; `remedy` is empty without one."""
    return CompileError([Diagnostic(code, Severity.ERROR, f"a dask array: {text}", helps=(remedy,) if remedy else ())])


@contextmanager
def in_block() -> Iterator[None]:
    """Raise the error of a dask block for values that are refused in the context."""
    try:
        yield
    except UnsuitedValueError as refused:
        raise block_error(refused.code, str(refused), refused.remedy) from None


@frozen
class DeclaredDimension:
    """A declared dimension, for `variable(…, dimensions=[…])`."""

    path: str
    """Fully qualified name."""
    declared: Dimension
    """The declaration."""


@frozen
class TypeHandle:
    """A declared type, usable in place of a type name."""

    path: str
    """Fully qualified name."""
    declared: UserType
    """The declaration."""


@dataclass(slots=True, eq=False)
class PendingAttribute:
    """An attribute whose value becomes a constant once all types are known."""

    name: str
    """Name of the attribute."""
    value: Any
    """Value as given by the caller."""
    type: str | None
    """Name of the type; None: inferred from the value."""
    span: Span
    """Position of the call."""


@dataclass(slots=True, eq=False)
class PendingVariable:
    """A variable with unresolved references."""

    name: str
    """Name of the variable."""
    path: str
    """Fully qualified name."""
    type: str
    """Type reference as written."""
    dimensions: tuple[str | int, ...]
    """Dimension references as written; an integer is an anonymous dimension."""
    storage: Storage
    """Requested storage."""
    span: Span
    """Position of the call."""
    attributes: list[PendingAttribute] = field(default_factory=list)
    """Attributes in order of declaration."""


def look_up(written: str, group: str, table: Container[str]) -> str | None:
    """Return the FQN that a name or path means in a group: that of the innermost declaration; None without one."""
    if written.startswith("/"):
        return written if written in table else None
    parts = names.split(group)
    for depth in range(len(parts), -1, -1):
        path = names.join(names.fqn(parts[:depth]), written)
        if path in table:
            return path
    return None


UNRESTRICTED = frozenset({"the dataset", "an attribute", "a field", "a constant"})
"""Items whose names may be illegal in netCDF."""


class Site:
    """Report of one builder, with checks of plain arguments."""

    def __init__(self) -> None:
        self.report = Report()
        self.collects = False
        """True: `finish` raises the errors of all calls, and names may be used before they are declared."""
        self.declared: dict[str, dict[str, Span]] = {}
        """Positions of declarations by FQN, by what they declare: `dimension`, `type`, `variable`, …."""
        self.survey: Callable[[], Any] = dict
        """Returns the declarations so far: `BuilderScope`."""
        self.dimensions: dict[str, Dimension] = {}
        """Declared dimensions by FQN."""
        self.types: set[str] = set()
        """Names of the declared types."""
        self.dtypes: set[str] = set()
        """Names of NumPy's dtypes that were used as types."""

    @contextmanager
    def call(self, what: str, path: str, here: Span) -> Iterator[None]:
        """Raise the errors of a call, whose declaration counts only without them; its warnings stay in the report.

        `path`: FQN of what it declares, empty without a name; `here`: position of the call. Raises CompileError.
        """
        if self.collects:
            yield
            return
        from nczarr.semantics.check_names import clash

        kept, self.report = self.report, Report()
        try:
            for other, places in self.declared.items():
                alike = other == what or ("attribute" not in (what, other) and clash(what, other))
                if path in places and alike:
                    others = [Label(places[path], "first declared here")]
                    self.report.error("duplicate-name", f"{other} `{path}` is already declared", here, others=others)
            yield
        finally:
            own, self.report = self.report, kept
        if own.errors:
            raise CompileError(own.list_sorted())
        for diagnostic in own.list_sorted():
            kept.add(diagnostic)
        if path:
            self.declared.setdefault(what, {})[path] = here

    @property
    def judges(self) -> bool:
        """True if a declaration is judged at its call: so far it has no error."""
        return not (self.collects or self.report.errors)

    def require_type(self, written: str, group: str) -> None:
        """Report a type that is neither atomic nor declared so far."""
        if written not in ATOMIC:
            self.require("undefined-type", "type", written, group, (*ATOMIC, *NAMES))

    def require(self, code: str, what: str, written: str, group: str, others: Iterable[str] = ()) -> None:
        """Report a name or path that means nothing declared so far."""
        table = self.declared.get(what, {})
        if not self.collects and look_up(written, group, table) is None:
            known = [path if written.startswith("/") else names.split(path)[-1] for path in table]
            helps = suggest(written, [*known, *others])
            self.report.error(code, f"{what} `{written}` is not declared", caller(), helps=helps)

    def error(self, code: str, message: str, span: Span | None = None, helps: Iterable[str] = ()) -> None:
        """Record an error at the caller's line, or at an earlier one."""
        self.report.error(code, message, span or caller(), helps=helps)

    def name(self, name: object, what: str) -> str:
        """Return a name in NFC; reports one that is not a text, or illegal in netCDF."""
        if isinstance(name, str) and name:
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                self.error("invalid-utf8", f"the name {name!r} of {what} contains a lone surrogate")
                return name.encode("utf-8", "replace").decode("utf-8")
            wrong = None if self.collects or what in UNRESTRICTED else names.problem(names.normal(name))
            if wrong is not None:
                self.error(*wrong)
            return names.normal(name)
        self.error("bad-name", f"{name!r} is not a name for {what}" if name != "" else f"the name of {what} is empty")
        return f"_{self.report.errors}"  # no other name is this one, so no duplicate is reported

    def count(self, number: object, low: int, code: str, what: str) -> int:
        """Return an integer from `low` to 2**63 - 1; reports other values and returns a valid one."""
        try:
            value = None if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
        except TypeError:
            value = None
        if value is None:
            self.error(code, f"{what} is {number!r}, which is not an integer")
            return max(low, 1)
        if not low <= value < 2**63:
            self.error(code, f"{what} is {value}; it must be between {low} and {2**63 - 1}")
            return max(low, 1)
        return value
