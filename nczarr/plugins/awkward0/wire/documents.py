"""Persistence documents as validated values.

    {"awkward0": "0.15.5", "prefix": "v-", "schema": {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [
      {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "1"}, {"dtype": "int64"}, {"json": 2}], "id": 1},
      {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "3"}, {"dtype": "float64"}, {"json": 3}], "id": 3}
    ], "id": 0}}

Every expression has a kind, which is its identifying key; unknown members are
ignored. Nothing is looked up, called or read here, but
every `ref` has an `id`, and ids are unique.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.awkward0.wire.limits import At, Limits, show
from nczarr.syntax.json.positions import Faults, kind
from nczarr.syntax.json.tolerant import RepeatedError, check_unrepeated, lone_surrogate, reason


class Expression(NamedTuple):
    """An expression of a document."""

    kind: str
    """Identifying key."""
    members: Mapping[str, Any]
    """Checked members by name, the identifying one among them; subexpressions in tuples and dictionaries."""
    at: At
    """Position in the document."""

    @property
    def value(self) -> Any:
        """Member with the identifying key."""
        return self.members[self.kind]

    @property
    def id(self) -> int | None:
        """Id for references."""
        return self.members.get("id")


Faulty = Iterator[tuple[tuple[int, ...], str]]
"""Faults of a member: the place in it, and what it must be."""


def _check(type_: Any, words: str, least: int | None = None) -> Callable[[Any], Faulty]:
    """Return a check that yields (path in the value, message) unless a value has the type and is at least `least`."""

    def faults(value: Any) -> Faulty:
        if not isinstance(value, type_) or (isinstance(value, bool) and type_ is int):
            yield (), words
        elif least is not None and value < least:
            yield (), "must not be negative"

    return faults


def _texts(value: Any) -> Faulty:
    if not isinstance(value, tuple) or not value:
        yield (), "must be a list" if not isinstance(value, tuple) else "must not be empty"
        return
    yield from (((place,), "must be a string") for place, text in enumerate(value) if not isinstance(text, str))


_SEVERAL, _NAMED = _check(tuple, "must be a list"), _check(dict, "must be an object")
_TEXT, _FLAG = _check(str, "must be a string"), _check(bool, "must be true or false")
_NUMBER, _ANY = _check(int, "must be an integer", 0), _check(object, "")

KINDS: dict[str, dict[str, Callable[[Any], Faulty]]] = {
    "call": {"call": _texts, "args": _SEVERAL, "kwargs": _NAMED, "cacheable": _FLAG, "whitelistable": _FLAG},
    "read": {"read": _TEXT, "absolute": _FLAG},
    "list": {"list": _SEVERAL},
    "tuple": {"tuple": _SEVERAL},
    "dict": {"dict": _NAMED},
    "pairs": {"pairs": _SEVERAL},
    "dtype": {"dtype": _ANY},
    "function": {"function": _texts},
    "json": {"json": _ANY},
    "python": {"python": _ANY},
    "ref": {"ref": _NUMBER},
}
"""Kinds of expressions by identifying key, and the checks of their members. Others are ignored."""


class AwkwardDocument(NamedTuple):
    """A document."""

    schema: Expression
    prefix: str
    """Prefix of blob names."""
    ids: dict[int, Expression]
    """Expressions by id."""


def read(source: Source, report: Report, limits: Limits) -> AwkwardDocument | None:
    """Return the document of a source, None after a reported error."""
    faults = Faults(source, report)
    before = report.errors
    loaded = _load(faults, limits)
    if loaded is None:
        return None
    top = loaded[0]
    if not isinstance(top, dict):
        faults.error("bad-awkward-document", f"the document must be an object, not {kind(top)}")
        return None
    if "awkward0" not in top and "awkward" not in top:  # awkward0 looks for these names alone, whatever their values
        text = "the document has no signature: neither a member `awkward0` nor `awkward`"
        faults.error("bad-awkward-document", text)
    prefix = top.get("prefix", "")
    if not isinstance(prefix, str):
        faults.error("bad-awkward-document", f"`prefix` must be a string, not {kind(prefix)}", ("prefix",))
    if "schema" not in top:
        faults.error("bad-awkward-document", "the document has no member `schema`")
        return None
    reader = _ExpressionReader(faults, limits)
    schema = reader.expression(top["schema"], At(None, "schema"), 1)
    reader.check_references()
    if report.errors > before or schema is None:
        return None
    return AwkwardDocument(schema, prefix, reader.ids)


def _load(faults: Faults, limits: Limits) -> tuple[Any] | None:
    """Return the JSON value in a tuple, None after a reported error."""
    data = bytes(faults.source.data)
    if len(data) > limits.document:
        text = f"the document has {len(data)} bytes, more than the limit, {limits.document}"
        faults.error("oversized-awkward", text)
        return None
    count = sum(map(data.count, (b",", b"[", b"{")))
    if count > limits.values:
        text = f"the document has {count} commas and brackets, more than the limit, {limits.values}"
        faults.error("oversized-awkward", text)
        return None
    try:
        text = str(data, "utf-8-sig")  # awkward0 writes ASCII, and fails on all else
        if lone_surrogate(text) is None:
            return (json.loads(text, object_pairs_hook=check_unrepeated),)
        fault = "a string contains a lone surrogate"
    except json.JSONDecodeError as error:
        fault = f"{reason(error)} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not valid UTF-8"
    except RecursionError:
        fault = "it is nested too deeply"
    except RepeatedError as error:
        fault = f"an object has two members {show(error.args[0])}"
    except ValueError:  # Python refuses integers of thousands of digits
        fault = "a number has thousands of digits"
    faults.error("bad-awkward-document", f"invalid document of an array: {fault}")
    return None


class _ExpressionReader:
    """Converter of JSON values to expressions; reports invalid ones."""

    def __init__(self, faults: Faults, limits: Limits) -> None:
        self.ids: dict[int, Expression] = {}
        self._refs: list[Expression] = []
        self._count = 0
        self._faults = faults
        self._limits = limits

    def expression(self, value: Any, at: At, depth: int) -> Any:
        """Return the expression of a value, None after a reported error."""
        self._count += 1
        if self._count > self._limits.arrays:
            if self._count == self._limits.arrays + 1:
                text = f"there are more expressions than the limit, {self._limits.arrays}"
                self._faults.error("oversized-awkward", text, at.path())
            return None
        if not isinstance(value, dict):
            text = f"an expression must be an object, not {kind(value)}"
            self._faults.error("bad-awkward-expression", text, at.path())
            return None
        if depth > self._limits.nesting:
            text = f"expressions are nested deeper than the limit, {self._limits.nesting}"
            self._faults.error("oversized-awkward", text, at.path())
            return None
        keys = [key for key in KINDS if key in value]
        if len(keys) != 1:  # awkward0 silently takes the first key in its own order
            has = f"has {len(keys)}, {' and '.join(f'`{key}`' for key in keys)}" if keys else "has none"
            text = f"an expression must have one identifying key, but this one {has}"
            self._faults.error("bad-awkward-expression", text, at.path(), [f"identifying keys are {', '.join(KINDS)}"])
            return None
        return self._make(keys[0], value, at, depth)

    def _make(self, key: str, value: dict[str, Any], at: At, depth: int) -> Expression | None:
        """Make an expression of kind `key`, such as "call", from JSON; None after reporting invalid members."""
        checks = {"id": _NUMBER, **KINDS[key]}
        before = self._faults.report.errors
        members = {name: self._member(name, value[name], At(at, name), depth + 1) for name in checks if name in value}
        if self._faults.report.errors > before:
            return None
        if members.get("id", 0) is None:
            del members["id"]
        for name, member in members.items():
            for steps, words in checks[name](member):
                place = At(at, name) if not steps else At(At(at, name), steps[0])
                what = "an item" if steps else f"`{name}`"
                self._faults.error("bad-awkward-expression", f"{what} {words}", place.path())
        if self._faults.report.errors > before:
            return None
        expression = Expression(key, members, at)
        if expression.id is not None and expression.id in self.ids:  # in awkward0 the later one wins
            self._faults.error("bad-awkward-expression", f"id {show(expression.id)} occurs twice", At(at, "id").path())
        elif expression.id is not None:
            self.ids[expression.id] = expression
        if key == "ref":
            self._refs.append(expression)
        return expression

    def _member(self, name: str, value: Any, at: At, depth: int) -> Any:
        """Convert a member; values of the wrong kind stay, for its check."""
        if name in ("call", "function"):
            return tuple(value) if isinstance(value, list) else value
        if name in ("args", "list", "tuple") and isinstance(value, list):
            return tuple(self.expression(item, At(at, number), depth) for number, item in enumerate(value))
        if name in ("kwargs", "dict") and isinstance(value, dict):
            return {member: self.expression(item, At(at, member), depth) for member, item in value.items()}
        if name == "pairs" and isinstance(value, list):
            return tuple(self._pair(item, At(at, number), depth) for number, item in enumerate(value))
        if name in ("json", "dtype") and _nests(value, self._limits.nesting):
            text = f"brackets are nested deeper than the limit, {self._limits.nesting}"
            self._faults.error("oversized-awkward", text, at.path())
        return value

    def _pair(self, value: Any, at: At, depth: int) -> Any:
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            return (value[0], self.expression(value[1], At(at, 1), depth))
        text = "a pair must be a list of a string and an expression"
        self._faults.error("bad-awkward-expression", text, at.path())
        return None

    def check_references(self) -> None:
        """Report unresolved references, unless other errors may have caused missing ids."""
        if self._faults.report.errors:
            return
        for reference in self._refs:
            if reference.value not in self.ids:  # awkward0 fails only where it is used
                text = f"there is no expression with the id {show(reference.value)}"
                self._faults.error("bad-awkward-expression", text, At(reference.at, "ref").path())


def _nests(value: Any, deepest: int) -> bool:
    """Return whether a JSON value nests deeper than `deepest`."""
    level = [value]
    for _ in range(deepest):
        level = [
            inner
            for item in level
            if isinstance(item, list | dict)
            for inner in (item.values() if isinstance(item, Mapping) else item)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return False
    return True
