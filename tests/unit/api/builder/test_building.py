"""Trees are built without the cyclic collector, which is left as it was found."""

from __future__ import annotations

import gc

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


@pytest.mark.slow
def test_what_lasts_counts_as_old() -> None:
    gc.unfreeze()  # some library may have frozen what it made
    with building(lasting=True):
        made = [[number] for number in range(1000)]
    old = {id(each) for each in gc.get_objects(generation=2)}
    assert all(id(each) in old for each in made)
    assert gc.get_freeze_count() == 0


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with building(lasting=True):
            pass
        assert gc.get_freeze_count() > frozen // 2 > 0  # some of what is frozen dies as anything else does
    finally:
        gc.unfreeze()
