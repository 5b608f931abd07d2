"""Mapping that cannot be changed, and can be pickled and copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class FrozenMapping(Mapping[str, T]):
    """Read-only mapping of names to values, in order; shown like a dict.

    Parameters
    ----------
    content : dict of str
        The items. The mapping owns the dict.
    """

    __slots__ = ("_content",)

    def __init__(self, content: dict[str, T]) -> None:
        self._content = content

    def __getitem__(self, name: str) -> T:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return repr(self._content)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._content, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self._content}

    def copy(self) -> dict[str, T]:
        """Return the items in a new dict."""
        return dict(self._content)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._content,)
