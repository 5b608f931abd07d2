"""The part of the proof that a run does, from `NCZARR_PROOF_PART`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

PART, PARTS = map(int, os.environ.get("NCZARR_PROOF_PART", "1/1").split("/"))
"""Which part this run does, counted from one, and how many there are."""

WHOLE = PARTS == 1 and os.environ.get("NCZARR_RANDOM") == "1"
"""True for `make proof`, which spares nothing; its parts in the gate take smaller inputs."""


def share(examples: int) -> int:
    """Return how many of a slow test's generated examples this part draws: at least one."""
    return max(1, examples // PARTS)


def part(items: Sequence[T]) -> Sequence[T]:
    """Return this run's part of a slow test's items: at least one."""
    return items[PART - 1 :: PARTS] or items[:1]
