"""Locations of chunks by key."""

from __future__ import annotations

from array import array

from nczarr.plugins.opendap.dmrpp.references import DmrppReferences, Inline, Ranges
from tests.support.work import counted


def test_the_keys_of_one_array_do_not_cost_all_arrays() -> None:
    references = DmrppReferences()
    for number in reversed(range(3000)):
        numbers, offsets, lengths = array("q", [0, 1]), array("q", [8, 9]), array("q", [1, 1])
        references.add(f"g/v{number}/", Ranges((2,), numbers, offsets, lengths, ("u",)))
    references.add("s/", Inline(b"x", "0"))
    with counted(600):
        assert list(references.keys("g/v7/")) == ["g/v7/0", "g/v7/1"]
        assert list(references.keys("g/v7/1")) == ["g/v7/1"]
        assert list(references.keys("s")) == ["s/0"]
        assert list(references.keys("none")) == []
    assert len(list(references.keys("g"))) == 6000
    assert references.children("") == ["g", "s"]
