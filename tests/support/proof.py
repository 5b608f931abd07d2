"""The part of the proof that a run does, from `NCZARR_PROOF_PART`."""

from __future__ import annotations

import os

PART, PARTS = map(int, os.environ.get("NCZARR_PROOF_PART", "1/1").split("/"))
"""Which part this run does, counted from one, and how many there are."""


def share(examples: int) -> int:
    """Return how many of a slow test's generated examples this part draws: at least one."""
    return max(1, examples // PARTS)
