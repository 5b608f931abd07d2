"""Filters, tests and methods for jinja2 texts, with the semantics of jinja2 and `str`.

They check the length of results beforehand. Arguments are scalars or lists of
them; invalid ones raise TypeError or ValueError, oversized results
RefusedTextError.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from nczarr.formats.reference.limits import Limits
from nczarr.plugins.refs.templates.evaluation import Undefined, apply_filter, apply_format
from nczarr.plugins.refs.templates.expressions import Account, RefusedTextError, check_length

HELD = 64 << 20
"""Approximate memory limit for the values of one text, in bytes."""

STEPS = 1_000_000
"""Maximum number of steps for one text: some tenths of a second."""

SPAN = 256
"""Bytes of a value that cost one step."""


@dataclass(slots=True, eq=False)
class Rendering:
    """Rendering of one text."""

    limits: Limits
    """Limits of the reader."""
    account: Account
    """Resources used for the document."""
    missing: dict[str, None]
    """Undefined names."""
    held: int = 0
    """Characters in memory."""
    steps: int = 0
    """Steps so far."""

    def spend(self, value: Any, steps: int = 1) -> Any:
        """Count a new value and return it. Raises RefusedTextError."""
        size = 4 * len(value) if isinstance(value, str) else 64 * len(value) if isinstance(value, list | tuple) else 0
        self.held += size
        self.step(steps + size // SPAN)
        if self.held > HELD:
            raise RefusedTextError("oversized-expansion", f"the values of a string need more than {HELD} bytes")
        return value

    def look(self, value: Any) -> None:
        """Count a compared value. Raises RefusedTextError."""
        size = len(value) if isinstance(value, str) else 64 * len(value) if isinstance(value, list | tuple) else 0
        self.step(1 + size // SPAN)

    def step(self, steps: int) -> None:
        """Count steps. Raises RefusedTextError."""
        self.steps += steps
        if self.steps > STEPS:
            raise RefusedTextError("oversized-expansion", f"a string needs more than {STEPS} steps of jinja2")
        self.account.spend(steps)

    def scalar(self, value: Any) -> Any:
        """Return a scalar value unchanged. Raises RefusedTextError for others."""
        if not is_scalar(value):
            raise RefusedTextError(
                "bad-expression", "a list, loop or template is used where a string or number is required"
            )
        return value

    def text(self, value: Any) -> str:
        """Return a scalar as text, empty for an undefined name, which is noted. Raises RefusedTextError."""
        if isinstance(value, Undefined) and value.name is not None:
            self.missing[value.name] = None
        return str(self.scalar(value))

    def join(self, values: Iterable[Any], between: str = "") -> str:
        """Join texts. Raises RefusedTextError."""
        texts = list(map(self.text, values))
        check_length(sum(map(len, texts)) + len(between) * len(texts), self.limits)
        return between.join(texts)


def is_scalar(value: Any) -> bool:
    """Return whether a value is a text, number, boolean, None or undefined."""
    return value is None or isinstance(value, str | int | float)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "lteq": operator.le, "gt": operator.gt,
    "gteq": operator.ge, "in": lambda left, right: left in right, "notin": lambda left, right: left not in right,
}  # fmt: skip


def same(comparison: str, left: Any, right: Any) -> bool:
    """Return whether a comparison of jinja2 holds. Raises TypeError; RefusedTextError for an undefined name."""
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        if comparison not in ("eq", "ne"):
            raise RefusedTextError("bad-expression", "an undefined name is not allowed in a comparison")
        return (type(left) is type(right)) is (comparison == "eq")
    return bool(_COMPARISONS[comparison](left, right))


def fits(count: int, most: int, what: str) -> None:
    """Check a count against a limit. Raises RefusedTextError."""
    if count > most:
        raise RefusedTextError(
            "oversized-expansion", f"{count if count < 2**62 else 'too many'} {what}, but at most {most} are allowed"
        )


def _width(run: Rendering, value: Any) -> int:
    check_length(int(value), run.limits)
    return int(value)


def _replace(run: Rendering, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    text, old, new = run.text(value), run.text(old), run.text(new)
    places = text.count(old) if count is None or count < 0 else min(text.count(old), count)
    check_length(len(text) + places * max(len(new) - len(old), 0), run.limits)
    return text.replace(old, new, -1 if count is None else count)


def _default(run: Rendering, value: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if isinstance(value, Undefined) or (boolean and not value) else value


def _round(run: Rendering, value: Any, precision: int = 0, method: str = "common") -> Any:
    if method not in ("common", "ceil", "floor") or abs(precision) > 300:
        raise ValueError("`round` does not suit its arguments")
    if method == "common":
        return round(value, precision)
    scale = 10**precision
    return (math.ceil if method == "ceil" else math.floor)(value * scale) / scale


def _indent(run: Rendering, value: Any, width: Any = 4, first: bool = False, blank: bool = False) -> str:
    before = " " * _width(run, width) if not isinstance(width, str) else width
    text = run.text(value) + "\n"
    check_length(len(text) + len(before) * text.count("\n"), run.limits)
    begin, *lines = text.splitlines()
    rest = [before + line if line or blank else line for line in lines]
    return "\n".join([before + begin if first else begin, *rest])


def _values(value: Any) -> list[Any]:
    if not isinstance(value, str | list | tuple | range):
        raise TypeError("a list is required")
    return list(value)


def _order(run: Rendering, value: Any, reverse: bool = False, case_sensitive: bool = False) -> list[Any]:
    run.step(4 * len(value))
    return sorted(_values(value), key=_fold(case_sensitive), reverse=reverse)


def _fold(exactly: bool) -> Callable[[Any], Any]:
    return lambda value: value if exactly or not isinstance(value, str) else value.lower()


def _unique(run: Rendering, value: Any, case_sensitive: bool = False) -> list[Any]:
    firsts: dict[Any, Any] = {}
    for item in _values(value):
        firsts.setdefault(_fold(case_sensitive)(item), item)
    return list(firsts.values())


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda run, value, exactly=False: choose(_values(value), key=_fold(exactly))


def _title(run: Rendering, value: Any) -> str:
    from jinja2.filters import do_title

    return do_title(run.text(value))


def _compute(name: str) -> Callable[..., Any]:
    return lambda run, value, *arguments: apply_filter(
        name, [run.scalar(value), *map(run.scalar, arguments)], run.limits
    )


def _element(place: int) -> Callable[..., Any]:
    return lambda run, value: _values(value)[place]


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: _compute(name) for name in ("upper", "lower", "string")},
    "int": lambda run, value, default=0: apply_filter("int", [_number(run, value), default], run.limits),
    "format": lambda run, value, *arguments: apply_format(
        run.text(value), tuple(map(run.scalar, arguments)), run.limits
    ),
    "float": lambda run, value, default=0.0: _real(value, default),
    "abs": lambda run, value: abs(value),
    "round": _round,
    "capitalize": lambda run, value: run.text(value).capitalize(),
    "title": _title,
    "trim": lambda run, value, chars=None: run.text(value).strip(chars),
    "center": lambda run, value, width=80: run.text(value).center(_width(run, width)),
    "indent": _indent,
    "replace": _replace,
    "default": _default,
    "d": _default,
    "join": lambda run, value, d="": run.join(_values(value), run.text(d)),
    "length": lambda run, value: len(_values(value)),
    "count": lambda run, value: len(_values(value)),
    "list": lambda run, value: _values(value),
    "first": _element(0),
    "last": _element(-1),
    "min": _extreme(min),
    "max": _extreme(max),
    "sum": lambda run, value, start=0: sum(_values(value), start),
    "sort": _order,
    "unique": _unique,
    "reverse": lambda run, value: value[::-1] if isinstance(value, str) else _values(value)[::-1],
}
"""Filters by name; arguments: run, value, arguments."""


def _number(run: Rendering, value: Any) -> Any:
    return value if isinstance(value, int | float) else run.text(value)


def _real(value: Any, default: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default


def _plain(name: str) -> Callable[..., Any]:
    """Return a method of `str` whose result is no longer than its text."""
    method = getattr(str, name)
    return lambda run, text, *arguments: method(text, *map(run.scalar, arguments))


def _pad(name: str) -> Callable[..., Any]:
    method = getattr(str, name)
    return lambda run, text, width, *fill: method(text, _width(run, width), *map(run.scalar, fill))


def _split(name: str) -> Callable[..., Any]:
    method = getattr(str, name)
    return lambda run, text, *arguments: list(method(text, *map(run.scalar, arguments)))


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _plain(name) for name in (
        "upper", "lower", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip", "startswith",
        "endswith", "find", "rfind", "index", "rindex", "count", "isdigit", "isalpha", "isalnum", "isnumeric",
        "isdecimal", "isupper", "islower", "isspace", "removeprefix", "removesuffix",
    )},
    **{name: _pad(name) for name in ("zfill", "ljust", "rjust", "center")},
    **{name: _split(name) for name in ("split", "rsplit", "splitlines", "partition", "rpartition")},
    "replace": _replace,
    "join": lambda run, text, values: run.join(_values(values), text),
}  # fmt: skip
"""Text methods by name; arguments: run, text, arguments."""


def _remainder(divisor: int, expected: int) -> Callable[[Any], bool]:
    return lambda value: _integer(value) % divisor == expected


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("an integer is required")
    return value


_SPELLINGS = {"eq": "eq == equalto", "ne": "ne !=", "lt": "lt < lessthan", "lteq": "le <=",
              "gt": "gt > greaterthan", "gteq": "ge >="}  # fmt: skip

TESTS: dict[str, Callable[..., bool]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": lambda value: isinstance(value, Undefined),
    "none": lambda value: value is None,
    "boolean": lambda value: value is True or value is False,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, float),
    "number": lambda value: isinstance(value, int | float),
    "string": lambda value: isinstance(value, str) and not isinstance(value, Undefined),
    "odd": _remainder(2, 1),
    "even": _remainder(2, 0),
    "divisibleby": lambda value, divisor: _integer(value) % _integer(divisor) == 0,
    **{name: functools.partial(same, sign) for sign, names in _SPELLINGS.items() for name in names.split()},
    "in": functools.partial(same, "in"),
}
"""Tests by name; values are already counted."""
