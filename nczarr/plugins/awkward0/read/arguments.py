"""Checked arguments of one call by parameter name, memory accounting, and results that calls of a document share.

Errors carry the argument's position in the document.

The caller of the reader may add functions by name, for documents that call others; documents cannot add any. What
such a function returns is checked: an array of a known layout, or the bytes of a blob, as a decompressor returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.diagnostics.report import Report
from nczarr.plugins.awkward0.columns.nodes import ArrayPieces, BackReference, Column, Flat, Sparse
from nczarr.plugins.awkward0.read import array_values
from nczarr.plugins.awkward0.read.array_values import ValueCost
from nczarr.plugins.awkward0.wire import dtypes
from nczarr.plugins.awkward0.wire.blobs import Blobs, PackedBlob, StoredBlob
from nczarr.plugins.awkward0.wire.limits import LARGEST, At, Limits, UnreadableDocumentError, show

MOST_OF_GIVEN = 16
"""Maximum ratio of array bytes to input bytes: offsets of one-byte counts take eight."""


class FunctionOfDocument(NamedTuple):
    """Name of a function in a document."""

    parts: tuple[str, ...]
    """Parts of the name."""


def _find_oversized(text: str, at: At | None = None) -> UnreadableDocumentError:
    return UnreadableDocumentError("oversized-awkward", text, at)


class Workspace:
    """Blobs, limits and intermediate results of one document. Methods raise UnreadableDocumentError."""

    def __init__(self, blobs: Blobs, limits: Limits) -> None:
        self.blobs = blobs
        self.limits = limits
        self.measures: dict[int, tuple[Any, ValueCost]] = {}
        """Measure of each value by its identity; the value is held so that the identity stays its own."""
        self.checks: list[tuple[BackReference, Callable[[int], None]]] = []
        """Checks of lengths that wait for the end of the evaluation."""
        self._charged = 0
        self._made_bytes = 0
        self._counted: dict[int, Any] = {}
        self._once: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._lists: dict[int, tuple[Any, Column]] = {}

    def when_known(self, column: Column, check: Callable[[int], None]) -> None:
        """Pass a column's length to a check, at once or, for an unfinished column, at the end."""
        if isinstance(column, BackReference):
            self.checks.append((column, check))
        else:
            check(len(column))

    def once(self, what: str, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the result of `make`, cached for these objects; counts its bytes."""
        key = (what, *map(id, of))
        if key not in self._once:
            value = make()
            self._once[key] = (of, value)
            self._count(*(value if isinstance(value, tuple) else (value,)))
        return self._once[key][1]

    def _count(self, *values: Any) -> None:
        """Count the bytes of arrays, each once. Raises UnreadableDocumentError if they far exceed the input."""
        for value in values:
            if hasattr(value, "nbytes") and id(value) not in self._counted:
                self._counted[id(value)] = value
                self._made_bytes += value.nbytes
        size = self.blobs.given
        if self._made_bytes > MOST_OF_GIVEN * size + self.limits.expanded:
            text = f"all arrays together have {show(self._made_bytes)} bytes, far more than the input, {size}"
            raise _find_oversized(text)

    def charge(self, count: int) -> None:
        """Count bytes without input. Raises UnreadableDocumentError if they exceed the limit."""
        self._charged += count
        if self._charged > self.limits.expanded:
            raise _find_oversized(f"items without bytes exceed the limit, {self.limits.expanded}")

    def list_column(self, values: list[Any] | tuple[Any, ...], dtype: str) -> Column:
        """Return a list of numbers or texts as a column, cached by list object."""
        cached = self._lists.get(id(values))
        if cached is None or not values:
            cached = self._lists[id(values)] = (values, array_values.array_of_list(values, dtype))
        return cached[1]

    def finish(self, value: Any) -> Any:
        """Replace remaining blobs by their bytes, or by arrays of the storage."""

        def change(value: Any) -> Any:
            """Return the contents of a blob, or the name of a function; other values unchanged."""
            match value:
                case StoredBlob(array=array) if array is not None:
                    return array_values.elements(array)
                case StoredBlob() | PackedBlob():
                    return bytes(self.blobs.bytes_of(value))
                case FunctionOfDocument():
                    return value.parts
                case _:
                    return value

        return array_values.replace(value, change)

    def measure(self, value: Any, at: At | None) -> ValueCost:
        """Return the cost of a value. Raises UnreadableDocumentError if it, or the total so far, is too large."""
        cached = self.measures.get(id(value))
        if cached is not None:
            return cached[1]
        below = [self.measure(child, at) for child in array_values.children(value)]
        arrays = array_values.own(value)
        size = array_values.measure_bytes(value) + sum(array.nbytes for array in arrays)
        cost = ValueCost(
            size + sum(inner.bytes for inner in below),
            1 + sum(inner.arrays for inner in below),
            1 + max((inner.depth for inner in below), default=0),
        )
        if isinstance(value, Column | list | tuple | dict):
            self.measures[id(value)] = (value, cost)
        self._count(*arrays)
        limits = self.limits
        if cost.depth > 2 * limits.nesting:
            raise _find_oversized(f"arrays are nested deeper than {2 * limits.nesting}", at)
        if cost.arrays > limits.arrays:
            raise _find_oversized(f"the arrays and values, counted at each use, exceed the limit, {limits.arrays}", at)
        if isinstance(value, ArrayPieces | Sparse) and cost.bytes > self.blobs.given + limits.expanded:
            raise _find_oversized(f"the array has {show(cost.bytes)} bytes, {limits.expanded} more than the input", at)
        return cost


Apply: TypeAlias = Callable[[FunctionOfDocument, tuple[Any, ...], dict[str, Any], At | None], Any]
"""Call of a function that a value names, with plain values as arguments."""


class Argument(NamedTuple):
    """A value and the position of its expression."""

    value: Any
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

    def refuse(self, name: str, text: str, code: str = "bad-awkward-array") -> UnreadableDocumentError:
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
            raise self.refuse(name, f"`{name}`: {error.message}", error.code) from None

    def wrong(self, name: str, expected: str) -> UnreadableDocumentError:
        """Return an error about an argument of the wrong kind."""
        actual = array_values.describe(self.value(name))
        return self.refuse(name, f"`{name}` must be {expected}, not {actual}", "bad-awkward-expression")

    def column(self, name: str, dtype: str = "<f8", *, later: bool = False) -> Column:
        """Return an array; `dtype`: for bytes and empty lists. `later`: allow one that encloses this call."""
        return self.column_of(name, self.value(name), dtype, later=later)

    def column_of(self, name: str, value: Any, dtype: str = "<f8", *, later: bool = False) -> Column:
        """Return a value inside an argument as an array. Raises UnreadableDocumentError if it is not an array."""
        if isinstance(value, BackReference) and not later:
            raise self.refuse(name, f"`{name}` is an array that encloses this call: its length would depend on itself")
        if isinstance(value, Column):
            return value
        with self.about(name):
            if isinstance(value, list | tuple):
                return self.workspace.list_column(value, dtype)
            if isinstance(value, StoredBlob) and value.array is not None:
                return array_values.elements(value.array)
            if isinstance(value, StoredBlob | PackedBlob):
                data = self.workspace.blobs.bytes_of(value)
                if len(data) % np.dtype(dtype).itemsize:
                    text = f"{len(data)} bytes are not a whole number of items of {dtype}"
                    raise UnreadableDocumentError("bad-blob", text)
                return Flat(np.frombuffer(data, dtype))
        raise self.wrong(name, "an array")

    def columns(self, name: str, *, later: bool = False) -> tuple[Column, ...]:
        """Return a list of arrays. Raises UnreadableDocumentError for other values."""
        values = self.value(name)
        if not isinstance(values, list | tuple):
            raise self.wrong(name, "a list of arrays")
        return tuple(self.column_of(name, value, later=later) for value in values)

    def integers(self, name: str) -> NDArray[Any]:
        """Return integers below 2^63: native dtype, one or more dimensions."""
        column = self.column(name, "<i8")
        with self.about(name):
            numbers: NDArray[Any] = self.workspace.once(
                "integers", (column,), lambda: array_values.integers_of(self.plain(column))
            )
            return numbers

    def flat_integers(self, name: str) -> NDArray[Any]:
        """Return integers below 2^63, shape (items,)."""
        numbers = self.integers(name)
        if numbers.ndim != 1:
            raise self.refuse(name, f"`{name}` must have one dimension, not {numbers.ndim}")
        return numbers

    def elements(self, name: str, dtype: str) -> NDArray[Any]:
        """Return elements as one NumPy array; `dtype`: for bytes and empty lists."""
        column = self.column(name, dtype)
        with self.about(name):
            return self.plain(column)

    def plain(self, column: Column) -> NDArray[Any]:
        """Return an element column as one NumPy array, in its dtype and the shape (items, …)."""
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

    def integer(self, name: str, default: int | None = None) -> int | None:
        """Return an integer of 64 bits, or None if that is the default."""
        value = self.value(name, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "an integer")
        if not -LARGEST <= value < LARGEST:
            raise self.refuse(name, f"`{name}` does not fit 64 bits: {show(value)}")
        return value

    def length(self, name: str) -> int:
        """Return a non-negative integer."""
        number = self.integer(name)
        if number is None:
            raise self.wrong(name, "an integer")
        if number < 0:
            raise self.refuse(name, f"`{name}` must not be negative: {number}")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean; accepts 0 and 1."""
        value = self.value(name, default)
        if value not in (False, True) or not isinstance(value, bool | int):
            raise self.wrong(name, "a boolean")
        return bool(value)


Functions: TypeAlias = Mapping[str, Callable[..., Any]]
"""Functions of the caller by full name, such as `blosc.decompress`."""


def check_functions(
    functions: Functions | None, taken: Collection[tuple[str, ...]], canonical: Callable[..., tuple[str, ...]]
) -> dict[str, Callable[..., Any]]:
    """Return the functions of the caller. Raises TypeError, and ValueError for a name of the table.

    `taken`: names of the table; `canonical` returns the name there of any spelling.
    """
    for name, function in (functions or {}).items():
        if not isinstance(name, str) or not callable(function):
            raise TypeError(f"functions={{{name!r}: …}}: a full name and a function are expected")
        words = name.split(".")
        if any(canonical((".".join(words[:end]), *words[end:])) in taken for end in range(1, len(words))):
            raise ValueError(f"functions={{{name!r}: …}}: the reader has this function itself")
    return dict(functions or {})


def call_function(
    name: str,
    function: Callable[..., Any],
    args: list[Argument],
    kwargs: dict[str, Argument],
    workspace: Workspace,
    at: At | None,
) -> Any:
    """Return the array or blob that a function of the caller makes. Raises UnreadableDocumentError.

    It gets arrays of elements as those of NumPy, other arrays as columns, and blobs as bytes.
    """

    def pass_on(argument: Argument) -> Any:
        value = argument.value
        if isinstance(value, BackReference):
            text = f"{name}: an argument is an array that encloses this call"
            raise UnreadableDocumentError("bad-awkward-array", text, argument.at)
        value = workspace.finish(value)
        return array_values.replace(value, lambda each: each.values if isinstance(each, Flat) else each)

    passed, named = [*map(pass_on, args)], {key: pass_on(argument) for key, argument in kwargs.items()}
    try:
        result = _receive(function(*passed, **named))
    except UnreadableDocumentError as error:
        raise UnreadableDocumentError(error.code, f"{name}: {error.message}", at) from None
    except Exception as error:  # of the caller: the place in the document is needed to understand it
        text = f"{name}: the caller's function raises {type(error).__name__}: {error}"
        raise UnreadableDocumentError("bad-awkward-array", text, at) from error
    if isinstance(result, bytes):
        return workspace.blobs.hold(name, result)
    if result is None:
        text = f"{name}: the caller's function must return an array or bytes"
        raise UnreadableDocumentError("bad-awkward-array", text, at)
    return result


def _receive(result: Any) -> Column | bytes | None:
    """Return a result as a column, or the bytes of a blob; None for anything else."""
    from nczarr.plugins.awkward0.columns.awkward2 import is_awkward, of_awkward
    from nczarr.plugins.awkward0.write.encoder import of_numpy

    if isinstance(result, bytes | bytearray | memoryview):
        return bytes(result)
    if is_awkward(result):
        return of_awkward(result)
    if isinstance(result, np.ndarray) and result.ndim and dtypes.fault(result.dtype) is None:
        column = of_numpy(result.astype(dtypes.pack(result.dtype), copy=False), Report())
        return array_values.elements(column.values) if isinstance(column, Flat) else column
    return result if isinstance(result, Column) and not isinstance(result, BackReference) else None
