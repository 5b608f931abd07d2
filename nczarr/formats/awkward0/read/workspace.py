"""Memory accounting and shared results of one evaluation: what the functions of the table may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nczarr.formats.awkward0.columns.nodes import ArrayPieces, BackReference, Column, Sparse
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.array_values import ValueCost
from nczarr.formats.awkward0.wire.blobs import Blobs, PackedBlob, StoredBlob
from nczarr.formats.awkward0.wire.limits import At, Limits, UnreadableDocumentError, shown

MOST_OF_GIVEN = 16
"""Maximum ratio of array bytes to input bytes: offsets of one-byte counts take eight."""


class FunctionOfDocument(NamedTuple):
    """Name of a function in a document."""

    parts: tuple[str, ...]
    """Parts of the name."""


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
        input_bytes = self.blobs.given
        if self._made_bytes > MOST_OF_GIVEN * input_bytes + self.limits.expanded:
            text = f"all arrays together have {shown(self._made_bytes)} bytes, far more than the input, {input_bytes}"
            raise UnreadableDocumentError("oversized-awkward", text)

    def charge(self, count: int) -> None:
        """Count bytes without input. Raises UnreadableDocumentError if they exceed the limit."""
        self._charged += count
        if self._charged > self.limits.expanded:
            text = f"items without bytes exceed the limit, {self.limits.expanded}"
            raise UnreadableDocumentError("oversized-awkward", text)

    def listed(self, values: list[Any] | tuple[Any, ...], dtype: str) -> Column:
        """Return a list of numbers or texts as a column, cached by list object."""
        cached = self._lists.get(id(values))
        if cached is None or not values:
            cached = self._lists[id(values)] = (values, array_values.array_of_list(values, dtype))
        return cached[1]

    def finished(self, value: Any) -> Any:
        """Replace remaining blobs by their bytes, or by arrays of the storage."""

        def change(value: Any) -> Any:
            match value:
                case StoredBlob(array=array) if array is not None:
                    return array_values.elements(array)
                case StoredBlob() | PackedBlob():
                    return bytes(self.blobs.bytes_of(value))
                case FunctionOfDocument():
                    return value.parts
                case _:
                    return value

        return array_values.replaced(value, change)

    def measured(self, value: Any, at: At | None) -> ValueCost:
        """Return the cost of a value. Raises UnreadableDocumentError if it, or the total so far, is too large."""
        cached = self.measures.get(id(value))
        if cached is not None:
            return cached[1]
        below = [self.measured(child, at) for child in array_values.children(value)]
        arrays = array_values.own(value)
        cost = ValueCost(
            array_values.made_bytes(value)
            + sum(counted.nbytes for counted in arrays)
            + sum(counted.bytes for counted in below),
            1 + sum(inner.arrays for inner in below),
            1 + max((inner.depth for inner in below), default=0),
        )
        if isinstance(value, Column | list | tuple | dict):
            self.measures[id(value)] = (value, cost)
        self._count(*arrays)
        limits, input_bytes = self.limits, self.blobs.given
        text = None
        if cost.depth > 2 * limits.nesting:
            text = f"arrays are nested deeper than {2 * limits.nesting}"
        elif cost.arrays > limits.arrays:
            text = f"the arrays and values, counted at each use, exceed the limit, {limits.arrays}"
        elif isinstance(value, ArrayPieces | Sparse) and cost.bytes > input_bytes + limits.expanded:
            text = f"the array has {shown(cost.bytes)} bytes, {limits.expanded} more than the input"
        if text is not None:
            raise UnreadableDocumentError("oversized-awkward", text, at)
        return cost
