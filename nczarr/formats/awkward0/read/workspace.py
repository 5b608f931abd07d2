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
    """Blobs, limits and intermediate results of one document. Methods raise RefusedError."""

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
            made = make()
            self._once[key] = (of, made)
            self._count(*(made if isinstance(made, tuple) else (made,)))
        return self._once[key][1]

    def _count(self, *made: Any) -> None:
        """Count the bytes of arrays, each once. Raises RefusedError if they far exceed the input."""
        for each in made:
            if hasattr(each, "nbytes") and id(each) not in self._counted:
                self._counted[id(each)] = each
                self._made_bytes += each.nbytes
        given = self.blobs.given
        if self._made_bytes > MOST_OF_GIVEN * given + self.limits.expanded:
            text = f"all arrays together have {shown(self._made_bytes)} bytes, far more than the input, {given}"
            raise UnreadableDocumentError("oversized-awkward", text)

    def charge(self, count: int) -> None:
        """Count bytes without input. Raises RefusedError if they exceed the limit."""
        self._charged += count
        if self._charged > self.limits.expanded:
            text = f"items without bytes exceed the limit, {self.limits.expanded}"
            raise UnreadableDocumentError("oversized-awkward", text)

    def listed(self, values: list[Any] | tuple[Any, ...], dtype: str) -> Column:
        """Return a list of numbers or texts as a column, cached by list object."""
        known = self._lists.get(id(values))
        if known is None or not values:
            known = self._lists[id(values)] = (values, array_values.array_of_list(values, dtype))
        return known[1]

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
        """Return the cost of a value. Raises RefusedError if it, or the total so far, is too large."""
        known = self.measures.get(id(value))
        if known is not None:
            return known[1]
        below = [self.measured(each, at) for each in array_values.children(value)]
        own = array_values.own(value)
        found = ValueCost(
            array_values.made_bytes(value) + sum(each.nbytes for each in own) + sum(each.bytes for each in below),
            1 + sum(each.arrays for each in below),
            1 + max((each.depth for each in below), default=0),
        )
        if isinstance(value, Column | list | tuple | dict):
            self.measures[id(value)] = (value, found)
        self._count(*own)
        limits, given = self.limits, self.blobs.given
        text = None
        if found.depth > 2 * limits.nesting:
            text = f"arrays are nested deeper than {2 * limits.nesting}"
        elif found.arrays > limits.arrays:
            text = f"the arrays and values, counted at each use, exceed the limit, {limits.arrays}"
        elif isinstance(value, ArrayPieces | Sparse) and found.bytes > given + limits.expanded:
            text = f"the array has {shown(found.bytes)} bytes, {limits.expanded} more than the input"
        if text is not None:
            raise UnreadableDocumentError("oversized-awkward", text, at)
        return found
