"""Many small cases in few tests: a test for each would cost more to collect than to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

SIZE = 10
"""Cases of a block."""


def blocks(cases: Sequence[T], size: int = SIZE) -> list[Sequence[T]]:
    """Cut cases into blocks, each of which is a case of a test."""
    return [cases[first : first + size] for first in range(0, len(cases), size)]


def block_ids(cases: Sequence[T], name: Callable[[T], str], size: int = SIZE) -> list[str]:
    """Return a name for each block: those of its first and its last case."""
    return [f"{name(block[0])}..{name(block[-1])}" for block in blocks(cases, size)]


def check_each(cases: Iterable[T], check: Callable[[T], None]) -> None:
    """Check each case of a block. Raises an ExceptionGroup whose notes name all that fail."""
    failed = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            error.add_note(f"case: {case}")
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} cases fail", failed)
