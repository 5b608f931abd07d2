"""Comparison of subsets with their whole dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def checked_of(drawn: tuple[Dataset, dict[str, Parts]]) -> Checked:
    report = Report()
    checked = check(Unchecked(drawn[0], parts=drawn[1]), report)
    assert checked is not None, report.list_sorted()
    return checked


def equal(one: Any, other: Any) -> bool:
    """Equality of values of any type, nested ones too; bit by bit."""
    if isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if not one.dtype.hasobject:
            return one.tobytes() == other.tobytes()
        return all(map(equal, np.asarray(one).reshape(-1).tolist(), np.asarray(other).reshape(-1).tolist()))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return bool(one == other) and type(one) is type(other)
