"""Persistence documents as validated values.

    {"awkward0": "0.15.5", "prefix": "v-", "schema": {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [
      {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "1"}, {"dtype": "int64"}, {"json": 2}], "id": 1},
      {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "3"}, {"dtype": "float64"}, {"json": 3}], "id": 3}
    ], "id": 0}}

Every expression has a model of its own, selected by its identifying key;
unknown members are ignored. Nothing is looked up, called or read here, but
every `ref` has an `id`, and ids are unique.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.awkward0.wire.limits import At, Limits, shown
from nczarr.syntax.json.positions import Faults, kind


class Expression(BaseModel):
    """Base of all expressions."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", populate_by_name=True)
    kind: str
    """Kind of the expression."""

    id: NonNegativeInt | None = None
    """Id for references."""
    at: Annotated[Any, Field(exclude=True, repr=False)] = None
    """Position in the document; not part of the value."""


class FunctionCall(Expression):
    """Application of a table function."""

    kind: Literal["call"] = "call"
    call: Annotated[tuple[str, ...], Field(min_length=1)]
    args: tuple[AnyExpression, ...] = ()
    named: Annotated[dict[str, AnyExpression], Field(alias="kwargs")] = {}
    cacheable: bool = False
    whitelistable: bool = False


class Read(Expression):
    """A blob by name; `absolute`: without the document's prefix."""

    kind: Literal["read"] = "read"
    read: str
    absolute: bool = False


class ListOf(Expression):
    """A list of values."""

    kind: Literal["list"] = "list"
    items: Annotated[tuple[AnyExpression, ...], Field(alias="list")]


class TupleOf(Expression):
    """A tuple of values."""

    kind: Literal["tuple"] = "tuple"
    items: Annotated[tuple[AnyExpression, ...], Field(alias="tuple")]


class DictOf(Expression):
    """Values by name."""

    kind: Literal["dict"] = "dict"
    items: Annotated[dict[str, AnyExpression], Field(alias="dict")]


class Pairs(Expression):
    """Names and values in order."""

    kind: Literal["pairs"] = "pairs"
    pairs: tuple[tuple[str, AnyExpression], ...]


class Dtype(Expression):
    """An element description (`dtypes.py`)."""

    kind: Literal["dtype"] = "dtype"
    dtype: Any


class FunctionName(Expression):
    """A function that is named, not called."""

    kind: Literal["function"] = "function"
    function: Annotated[tuple[str, ...], Field(min_length=1)]


class JsonExpression(Expression):
    """An unchanged JSON value."""

    kind: Literal["json"] = "json"
    value: Annotated[Any, Field(alias="json")]


class Python(Expression):
    """A pickled object, which is never unpickled."""

    kind: Literal["python"] = "python"
    python: Any


class Ref(Expression):
    """The value of the expression with this id."""

    kind: Literal["ref"] = "ref"
    ref: NonNegativeInt


AnyExpression: TypeAlias = Annotated[
    FunctionCall | Read | ListOf | TupleOf | DictOf | Pairs | Dtype | FunctionName | JsonExpression | Python | Ref,
    Field(discriminator="kind"),
]
"""An expression of any kind."""

for _each in (FunctionCall, ListOf, TupleOf, DictOf, Pairs):
    _each.model_rebuild()

MODELS: dict[str, type[Expression]] = {
    model.model_fields["kind"].default: model
    for model in (FunctionCall, Read, ListOf, TupleOf, DictOf, Pairs, Dtype, FunctionName, JsonExpression, Python, Ref)
}
"""Expression kinds by identifying key."""

_MEMBERS = {
    key: tuple(field.alias or name for name, field in model.model_fields.items() if name not in ("at", "kind"))
    for key, model in MODELS.items()
}
"""Permitted members by identifying key."""

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape; the group is an unpaired surrogate, which is no character."""

_SEVERAL = {"args", "list", "tuple"}
_NAMED = {"kwargs", "dict"}
_WORDS = {
    "tuple_type": "must be a list",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "bool_type": "must be true or false",
    "int_type": "must be an integer",
    "greater_than_equal": "must not be negative",
    "too_short": "must not be empty",
    "missing": "is missing",
}


class AwkwardDocument(NamedTuple):
    """A document."""

    schema: AnyExpression
    """Expression of the array."""
    prefix: str
    """Prefix of blob names."""
    ids: dict[int, AnyExpression]
    """Expressions by id."""


class _TwiceError(ValueError):
    """An object with duplicate members."""


def read(source: Source, report: Report, limits: Limits) -> AwkwardDocument | None:
    """Return the document of a source, None after a reported error."""
    faults = Faults(source, report)
    before = report.errors
    loaded = _loaded(faults, limits)
    if loaded is None:
        return None
    top = loaded[0]
    if not isinstance(top, dict):
        faults.error("bad-awkward-document", f"the document must be an object, not {kind(top)}")
        return None
    if "awkward0" not in top and "awkward" not in top:
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


def _loaded(faults: Faults, limits: Limits) -> tuple[Any] | None:
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
        text = str(data, "utf-8-sig")
        if "\\u" not in text or not any(match[1] for match in _ESCAPE.finditer(text)):
            return (json.loads(text, object_pairs_hook=_members),)
        fault = "a string contains a lone surrogate"
    except json.JSONDecodeError as error:
        fault = f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not valid UTF-8"
    except RecursionError:
        fault = "it is nested too deeply"
    except _TwiceError as error:
        fault = str(error)
    except ValueError:  # Python refuses integers of thousands of digits
        fault = "a number has thousands of digits"
    faults.error("bad-awkward-document", f"invalid document of an array: {fault}")
    return None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _TwiceError(f"an object has two members {shown(twice)}")
    return members


class _ExpressionReader:
    """Converter of JSON values to expressions; reports invalid ones."""

    def __init__(self, faults: Faults, limits: Limits) -> None:
        self.ids: dict[int, AnyExpression] = {}
        self._refs: list[Ref] = []
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
        keys = [key for key in MODELS if key in value]
        if len(keys) != 1:
            has = f"has {len(keys)}, {' and '.join(f'`{key}`' for key in keys)}" if keys else "has none"
            text = f"an expression must have one identifying key, but this one {has}"
            self._faults.error("bad-awkward-expression", text, at.path(), [f"identifying keys are {', '.join(MODELS)}"])
            return None
        return self._made(keys[0], value, at, depth)

    def _made(self, key: str, value: dict[str, Any], at: At, depth: int) -> Any:
        members: dict[str, Any] = {"at": at}
        before = self._faults.report.errors
        for name in _MEMBERS[key]:
            if name in value:
                members[name] = self._member(name, value[name], At(at, name), depth + 1)
        if self._faults.report.errors > before:
            return None
        try:
            expression: Any = MODELS[key].model_validate(members)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_input=False):
                self._wrong(fault["loc"], fault["type"], fault["msg"], at)
            return None
        if expression.id is not None and expression.id in self.ids:
            self._faults.error("bad-awkward-expression", f"id {shown(expression.id)} occurs twice", At(at, "id").path())
        elif expression.id is not None:
            self.ids[expression.id] = expression
        if isinstance(expression, Ref):
            self._refs.append(expression)
        return expression

    def _member(self, name: str, value: Any, at: At, depth: int) -> Any:
        """Convert a member for its model, which reports values of the wrong kind."""
        if name in ("call", "function"):
            return tuple(value) if isinstance(value, list) else value
        if name in _SEVERAL and isinstance(value, list):
            return tuple(self.expression(item, At(at, number), depth) for number, item in enumerate(value))
        if name in _NAMED and isinstance(value, dict):
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

    def _wrong(self, steps: tuple[str | int, ...], code: str, words: str, at: At) -> None:
        for step in steps:
            at = At(at, step)
        text = f"`{steps[0]}` {_WORDS.get(code, words)}" if len(steps) == 1 else f"an item {_WORDS.get(code, words)}"
        self._faults.error("bad-awkward-expression", text, at.path())

    def check_references(self) -> None:
        """Report unresolved references, unless other errors may have caused missing ids."""
        if self._faults.report.errors:
            return
        for reference in self._refs:
            if reference.ref not in self.ids:
                text = f"there is no expression with the id {shown(reference.ref)}"
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
