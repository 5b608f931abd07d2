"""Trees are built without the cyclic collector, which is left as it was found."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from nczarr.ast.dataset import building


@pytest.mark.parametrize("lasting", [False, True])
def test_the_collector_runs_again_afterwards(lasting: bool) -> None:
    with building(lasting=lasting):
        assert not gc.isenabled()
        with building(lasting=lasting):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


LASTING = """
import gc
from nczarr.ast.dataset import building
gc.unfreeze()  # some library may have frozen what it made
with building(lasting=True):
    lists = [[number] for number in range(20_000)]
old = {id(item) for item in gc.get_objects(generation=2)}
print(all(id(item) in old for item in lists), gc.get_freeze_count())
"""


@pytest.mark.slow
def test_what_lasts_counts_as_old() -> None:
    """In a process of its own: threads of other tests use the collector as well."""
    ran = subprocess.run([sys.executable, "-c", LASTING], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "True 0\n"


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with building(lasting=True):
            lists = [[number] for number in range(20_000)]
        assert len(lists) == 20_000
        assert gc.get_freeze_count() > frozen // 2 > 0  # some of what is frozen dies as anything else does
    finally:
        gc.unfreeze()


def test_small_trees_do_not_count_what_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count visits every frozen object: 20 ms for a million of them."""
    counted: list[None] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(None) or 0)
    for _ in range(3):
        with building(lasting=True):
            assert [[number] for number in range(1000)]
    assert counted == []
