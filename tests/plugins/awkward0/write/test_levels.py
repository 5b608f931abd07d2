"""Levels of serialized expressions."""

from __future__ import annotations

from nczarr.formats.common.awkward import expressions as made
from nczarr.plugins.awkward0.write.serialize import count_levels


def test_levels_of_all_kinds_of_expressions_are_counted() -> None:
    one = made.constant([[[1]]])
    assert count_levels(one) == 1
    for wrapped in (
        made.call("m.f", one),
        {"call": ["m", "f"], "kwargs": {"x": one}},
        {"list": [{"ref": 1}, one]},
        {"tuple": [one]},
        {"dict": {"args": one}},
        {"pairs": [["x", {"function": ["m", "f"]}], ["y", one]]},
        made.inflate({"read": "1"}),
    ):
        assert count_levels(wrapped) == 2
    assert (
        count_levels(made.table([("x", made.call("StringArray.fromcounts", one, made.inflate({"read": "1"}), one))]))
        == 5
    )
