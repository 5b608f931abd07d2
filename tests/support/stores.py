"""Stores in memory, written and read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from nczarr import registry
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store
from nczarr.stores.memory import MemoryStore
from tests.support.targets import content

WRITING = Options.of(allow_loss=frozenset({"all"}))


READING = Options.of(allow_loss=frozenset({"bad-metadata", "unreadable-array"}))


def opened(store: Store) -> tuple[Checked, list[Diagnostic]]:
    """The dataset of a store, and what was said of it."""
    report = Report()
    found = phases.read(store, report, READING)
    assert found is not None, [each.message for each in report.list_sorted()]
    return found, report.list_sorted()


def rebuild(found: Mapping[str, bytes]) -> Dataset:
    """The tree behind the metadata of a store, which is read without a word."""
    seen, said = opened(MemoryStore(found))
    assert {each.code for each in said} <= {"reserved-attribute"}
    return seen.dataset


def written(dataset: Checked, form: str, **options: Any) -> Mapping[str, bytes]:
    report = Report()
    found = content(dataset, registry.find_format(form), report, WRITING.change(**options))
    assert found is not None, [each.message for each in report.list_sorted()]
    return found


def other_values(wanted: Checked, seen: Checked, nil: str = "None") -> Iterator[str]:
    """Variables of one type in both that read otherwise."""
    for path, variable in wanted.variables.items():
        there = seen.variables.get(path)
        size = int(np.prod(wanted.shapes[path], dtype=object))
        if there is None or there.type != variable.type or there.type.startswith("/") != variable.type.startswith("/"):
            continue
        if size < 100_000 and not alike(read(wanted, path, ...), read(seen, path, ...), nil):
            yield path


def alike(one: Any, other: Any, nil: str = "None") -> bool:
    """Bit for bit; values of variable size by what they print, NIL by the word given."""
    one, other = (np.asarray(each, object if each is None or isinstance(each, str) else None) for each in (one, other))
    if one.dtype.hasobject or other.dtype.hasobject:
        return repr(one).replace("None", nil) == repr(other).replace("None", nil)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
