"""Chunks of a store that is never written: those without values are known without making them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr import registry
from nczarr.diagnostics.report import Report
from nczarr.link import chunk_pieces
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.common import store_view

LENGTH = 10**9


def open_view(path: Path, version: str) -> store_view.StoreView:
    """The file as a server shows it."""
    report = Report()
    checked, form = phases.read_path(str(path), report, Options()), registry.find_format(version)
    assert checked is not None
    assert form is not None
    plan = phases.plan_store(checked, form, report, Options.of(allow_loss=frozenset({"all"})))
    assert plan is not None
    return store_view.store_view(store_view.without_default_fills(plan), report)


@pytest.mark.parametrize("key", ["v/c/0", "part/c/0"])
def test_a_chunk_of_fill_values_is_not_made(
    key: str, tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.h5"
    with peer("h5py").File(path, "w") as file:
        file.create_dataset("v", (LENGTH,), "u1", chunks=(LENGTH,))
        file.create_dataset("part", (4,), "u1", chunks=(2,))[2:] = 1
    view = open_view(path, "zarr3")
    monkeypatch.setattr(chunk_pieces, "chunk_bytes", lambda *_: pytest.fail("it is made"))
    place = view.place(key)
    assert place is not None
    assert (store_view.chunk(*place), store_view.measure_made(*place)) == (None, 0)
    assert list(view.chunk_keys("")) == ["part/c/1"]


def test_a_chunk_without_fill_value_is_measured_before_it_is_made(
    tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    path = tmp_path / "c.h5"
    with peer("h5py").File(path, "w") as file:
        file.create_dataset("v", (LENGTH,), "u1", chunks=(LENGTH,))
    view = open_view(path, "zarr2")
    place = view.place("v/0")
    assert place is not None
    assert store_view.measure_made(*place) == LENGTH
