"""Prepared generator: any block of its entries as columns or JSON, on demand.

Entries count from 0 and are not stored. Faults are RefusedTextErrors with the
place of the member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.limits import shorten
from nczarr.formats.reference.wire import Generator, range_fault
from nczarr.plugins.refs.templates.columns import Column, Context, axes, constant, join, numbers
from nczarr.plugins.refs.templates.evaluation import NameScope
from nczarr.plugins.refs.templates.expressions import Hole, Name, RefusedTextError, check_length
from nczarr.plugins.refs.templates.jinja import pieces
from nczarr.syntax.json.positions import Path

if TYPE_CHECKING:
    Integers = NDArray[np.int64]


BLOCK = 1024
"""Entries made at once. With texts of maximum length, a block takes about 200 MB."""


class GeneratorFamily:
    """Entries of a generator that has at least one."""

    def __init__(self, generator: Generator, number: int, scope: NameScope) -> None:
        """Prepare the generator with this number. Raises RefusedTextError."""
        self._place = ("gen", number)
        self.count = generator.entries
        self.block = BLOCK
        self._context = Context(axes(generator.dimensions), scope)
        self._limits = scope.limits
        self._key = _Text((*self._place, "key"), generator.key, self._context)
        self._url = _Text((*self._place, "url"), generator.url, self._context)
        self._range: tuple[_Number, _Number] | None = None
        if generator.offset is not None and generator.length is not None:
            self._range = (
                _Number((*self._place, "offset"), generator.offset, self._context),
                _Number((*self._place, "length"), generator.length, self._context),
            )

    def keys(self, start: int, stop: int) -> list[str]:
        """Return keys as JSON, with quotes. Raises RefusedTextError."""
        return self._key.lines(_entries(start, stop))

    def values(self, start: int, stop: int) -> list[str]:
        """Return references as JSON. Raises RefusedTextError."""
        entries = _entries(start, stop)
        urls = self._url.lines(entries)
        if self._range is None:
            return [f"[{url}]" for url in urls]
        ranges = self.ranges(start, stop)
        return [f"[{url},{offset},{length}]" for url, offset, length in zip(urls, *ranges, strict=True)]

    def lines(self, start: int, stop: int) -> list[str]:
        """Return keys and references as members of an object. Raises RefusedTextError."""
        entries = _entries(start, stop)
        form = f"{self._key.form}:[{self._url.form}"
        columns = [*self._key.columns(entries), *self._url.columns(entries)]
        if self._range is not None:
            form += ",%d,%d"
            columns += self.ranges(start, stop)
        if self._key.bound + self._url.bound > self._limits.text:
            self._key.lines(entries), self._url.lines(entries)
        return _fill(form + "]", columns, len(entries))

    def urls(self, start: int, stop: int) -> list[str]:
        """Return URLs as JSON; only one if all entries share it. Raises RefusedTextError."""
        return self._url.lines(_entries(start, stop if self._url.varies else start + 1))

    def reference(self, entry: int) -> tuple[str, int, int | None]:
        """Return URL, offset and length of an entry. Raises RefusedTextError."""
        (url,) = self._url.lines(_entries(entry, entry + 1))
        if self._range is None:
            return json.loads(url), 0, None
        (offset,), (length,) = self.ranges(entry, entry + 1)
        return json.loads(url), offset, length

    @property
    def least(self) -> int:
        """Minimum size of all entries in version 0, in bytes; 0 if keys may be equal."""
        return self.count * (self._key.least + self._url.least) if self.pattern() is not None else 0

    def pattern(self) -> tuple[str, re.Pattern[str]] | None:
        """Return prefix and regular expression of the keys if they are certainly distinct; else None.

        They are if every dimension is in the key unchanged, and no digit of a
        text can join a number.
        """
        parts, axes = self._key.parts, self._context.axes
        shown = {part.expression.text for part in parts if isinstance(part, Hole) and isinstance(part.expression, Name)}
        for part, behind in zip(parts, [*parts[1:], "/"], strict=True):
            if isinstance(part, str):
                continue
            if not isinstance(part.expression, Name) or part.expression.text not in axes:
                return None
            if not isinstance(behind, str) or behind[0].isdigit():
                return None
        for name, axis in axes.items():
            if (axis.length > 1 and name not in shown) or not isinstance(axis.values, range):
                return None
        form = "".join(re.escape(part) if isinstance(part, str) else "-?[0-9]+" for part in parts)
        return (parts[0] if parts and isinstance(parts[0], str) else ""), re.compile(form)

    def ranges(self, start: int, stop: int) -> tuple[list[int], list[int]]:
        """Return checked offsets and lengths; none for whole targets. Raises RefusedTextError."""
        if self._range is None:
            return [], []
        entries = _entries(start, stop)
        offsets, lengths = (number.column(entries) for number in self._range)
        if min(offsets) < 0 or min(lengths) < 0 or max(offsets) + max(lengths) >= 2**63:
            for entry, byte_range in enumerate(zip(offsets, lengths, strict=True), start):
                wrong = range_fault(*byte_range)
                if wrong is not None:
                    key = json.loads(self.keys(entry, entry + 1)[0])
                    raise RefusedTextError("bad-reference", f"`{key}`: {wrong}", (*self._place, "offset"))
        return offsets, lengths


def _entries(start: int, stop: int) -> Integers:
    return np.arange(start, stop, dtype=np.int64)


def _fill(form: str, columns: list[list[Any]], count: int) -> list[str]:
    """Return a `%s` format with the values of columns, `count` times."""
    return [form % row for row in zip(*columns, strict=True)] if columns else [form % ()] * count


@contextmanager
def _name_member(place: Path) -> Iterator[None]:
    """Give faults the place of a generator's member."""
    try:
        yield
    except RefusedTextError as error:
        error.place = place
        raise


class _Text:
    """Key or URL of every entry: `form` is JSON with `%s` for each column."""

    def __init__(self, place: Path, text: str, context: Context) -> None:
        self._place = place
        self._limits = context.scope.limits
        with _name_member(place):
            self.parts = pieces(text, self._limits, context.scope.account)
            form, self._columns = join(self.parts, context, lambda text: json.dumps(text)[1:-1])
        self.form = f'"{form}"'
        self.bound = len(form)
        self.least = len(form.replace("%%", "%")) - 2 * len(self._columns)
        self.varies = bool(self._columns)

    def columns(self, entries: Integers) -> list[list[Any]]:
        """Return the column of each `%s`, and set `bound` to the maximum text length.

        `entries`: int64, shape (entries,); a column has one item for each.
        """
        with _name_member(self._place):
            columns = [column(entries) for column in self._columns]
        longest = (
            max(map(len, column_values)) if isinstance(column_values[0], str) else 20 for column_values in columns
        )
        self.bound = len(self.form) + sum(longest)
        return columns

    def lines(self, entries: Integers) -> list[str]:
        """Return the texts as JSON, one for each entry. `entries`: int64, shape (entries,)."""
        texts = _fill(self.form, self.columns(entries), len(entries))
        if self.bound > self._limits.text:
            with _name_member(self._place):
                check_length(max(len(json.loads(line)) for line in texts), self._limits)
        return texts


class _Number:
    """Offset or length of every entry: rendered, then parsed by Python's `int`."""

    def __init__(self, place: Path, written: int | str, context: Context) -> None:
        self._place = place
        self._fast: Callable[[Integers], Integers] | None = None
        self._form, self._columns = str(written), list[Column]()
        if isinstance(written, str):
            with _name_member(place):
                parts = pieces(written, context.scope.limits, context.scope.account)
                self._form, self._columns = join(parts, context, str)
            if self._form.strip() == "%s":
                holes = (part for part in parts if not isinstance(part, str) and not constant(part, context))
                self._fast = numbers(next(holes), context)
        self._fixed = None if self._columns else self._integer(self._form % ())

    def column(self, entries: Integers) -> list[int]:
        """Return the numbers, one for each entry, which may be negative. `entries`: int64, shape (entries,)."""
        if self._fixed is not None:
            return [self._fixed] * len(entries)
        if self._fast is not None:
            numbers: list[int] = self._fast(entries).tolist()
            return numbers
        with _name_member(self._place):
            columns = [column(entries) for column in self._columns]
        return [self._integer(form) for form in _fill(self._form, columns, len(entries))]

    def _integer(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            message = f"`{self._place[-1]}` renders to `{shorten(text, 40)}`, which is not an integer"
            raise RefusedTextError("bad-generator", message, self._place) from None
