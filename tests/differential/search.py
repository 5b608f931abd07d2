"""The search: batches of draws by seed, each of which is shrunk by Hypothesis where it fails."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure

from .conversions import DifferenceError, Judges, trial


def batch(number: int, examples: int, judges: Judges, counts: Counter[str]) -> None:
    """Draw `examples` sources, the same ones for the same number.

    Raises DifferenceError with the smallest draw that fails.
    """

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.data())
    def search(data: Any) -> None:
        trial(data, judges, counts)

    try:
        search()
    except FlakyFailure as error:
        raise DifferenceError(f"not the same each time: {error.exceptions[0]}") from None
