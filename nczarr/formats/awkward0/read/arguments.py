"""Checked arguments of one call, by parameter name. Errors carry the argument's position in the document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.awkward0.columns.nodes import BackReference, Column, Flat
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.workspace import FunctionOfDocument, Workspace
from nczarr.formats.awkward0.wire.blobs import PackedBlob, StoredBlob
from nczarr.formats.awkward0.wire.limits import LARGEST, At, UnreadableDocumentError, shown

Apply: TypeAlias = Callable[[FunctionOfDocument, tuple[Any, ...], dict[str, Any], At | None], Any]
"""Call of a function that a value names, with plain values as arguments."""


class Argument(NamedTuple):
    """A value and the position of its expression."""

    value: Any
    """The value."""
    at: At | None
    """Position of its expression."""


class Arguments:
    """Arguments by parameter. Methods raise UnreadableDocumentError."""

    def __init__(
        self, function: str, values: dict[str, Argument], at: At | None, workspace: Workspace, apply: Apply
    ) -> None:
        self.function = function
        self.workspace = workspace
        self.apply = apply
        self.at = at
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str, default: Any = None) -> Any:
        """Return an unchecked value, or the default if it is missing."""
        return self._values[name].value if name in self._values else default

    def refused(self, name: str, text: str, code: str = "bad-awkward-array") -> UnreadableDocumentError:
        """Return an error about an argument."""
        at = self._values[name].at if name in self._values else self.at
        return UnreadableDocumentError(code, f"{self.function}: {text}", at)

    @contextmanager
    def about(self, name: str) -> Iterator[None]:
        """Add this argument's position to each UnreadableDocumentError inside that has no position."""
        try:
            yield
        except UnreadableDocumentError as error:
            if error.at is not None:
                raise
            raise self.refused(name, f"`{name}`: {error.message}", error.code) from None

    def wrong(self, name: str, expected: str) -> UnreadableDocumentError:
        """Return an error about an argument of the wrong kind."""
        actual = array_values.described(self.value(name))
        return self.refused(name, f"`{name}` must be {expected}, not {actual}", "bad-awkward-expression")

    def column(self, name: str, dtype: str = "<f8", *, later: bool = False) -> Column:
        """Return an array; `dtype`: for bytes and empty lists. `later`: allow one that encloses this call."""
        return self.column_of(name, self.value(name), dtype, later=later)

    def column_of(self, name: str, value: Any, dtype: str = "<f8", *, later: bool = False) -> Column:
        """Return a value inside an argument as an array. Raises UnreadableDocumentError if it is not an array."""
        if isinstance(value, BackReference) and not later:
            raise self.refused(name, f"`{name}` is an array that encloses this call: its length would depend on itself")
        if isinstance(value, Column):
            return value
        with self.about(name):
            if isinstance(value, list | tuple):
                return self.workspace.listed(value, dtype)
            if isinstance(value, StoredBlob) and value.array is not None:
                return array_values.elements(value.array)
            if isinstance(value, StoredBlob | PackedBlob):
                data = self.workspace.blobs.bytes_of(value)
                if len(data) % np.dtype(dtype).itemsize:
                    raise UnreadableDocumentError(
                        "bad-blob", f"{len(data)} bytes are not a whole number of items of {dtype}"
                    )
                return Flat(np.frombuffer(data, dtype))
        raise self.wrong(name, "an array")

    def columns(self, name: str, *, later: bool = False) -> tuple[Column, ...]:
        """Return a list of arrays. Raises UnreadableDocumentError for other values."""
        values = self.value(name)
        if not isinstance(values, list | tuple):
            raise self.wrong(name, "a list of arrays")
        return tuple(self.column_of(name, value, later=later) for value in values)

    def integers(self, name: str) -> NDArray[Any]:
        """Return integers below 2^63: native dtype, one or more dimensions.

        Raises UnreadableDocumentError for other values.
        """
        column = self.column(name, "<i8")
        with self.about(name):
            numbers: NDArray[Any] = self.workspace.once(
                "integers", (column,), lambda: array_values.integers_of(self.plain(column))
            )
            return numbers

    def elements(self, name: str, dtype: str) -> NDArray[Any]:
        """Return elements as one NumPy array; `dtype`: for bytes and empty lists."""
        column = self.column(name, dtype)
        with self.about(name):
            return self.plain(column)

    def plain(self, column: Column) -> NDArray[Any]:
        """Return an element column as one NumPy array, in its dtype and the shape (items, …).

        Raises UnreadableDocumentError.
        """
        if isinstance(column, Flat):
            return column.values
        elements: NDArray[Any] = self.workspace.once(
            "elements", (column,), lambda: array_values.plain(column, self.plain)
        )
        return elements

    def bounds(self, numbers: NDArray[Any]) -> tuple[int, int]:
        """Return the minimum and maximum of integers of shape (items,); (0, -1) if empty."""
        if not len(numbers):
            return (0, -1)
        bounds: tuple[int, int] = self.workspace.once(
            "bounds", (numbers,), lambda: (int(numbers.min()), int(numbers.max()))
        )
        return bounds

    def flat_integers(self, name: str) -> NDArray[Any]:
        """Return integers below 2^63, shape (items,). Raises UnreadableDocumentError for other values."""
        numbers = self.integers(name)
        if numbers.ndim != 1:
            raise self.refused(name, f"`{name}` must have one dimension, not {numbers.ndim}")
        return numbers

    def integer(self, name: str, default: int | None = None) -> int | None:
        """Return an integer of 64 bits, or None if that is the default.

        Raises UnreadableDocumentError for other values.
        """
        value = self.value(name, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "an integer")
        if not -LARGEST <= value < LARGEST:
            raise self.refused(name, f"`{name}` does not fit 64 bits: {shown(value)}")
        return value

    def length(self, name: str) -> int:
        """Return a non-negative integer. Raises UnreadableDocumentError for other values."""
        number = self.integer(name)
        if number is None:
            raise self.wrong(name, "an integer")
        if number < 0:
            raise self.refused(name, f"`{name}` must not be negative: {number}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean; accepts 0 and 1. Raises UnreadableDocumentError for other values."""
        value = self.value(name, default)
        if value not in (False, True) or not isinstance(value, bool | int):
            raise self.wrong(name, "a boolean")
        return bool(value)
