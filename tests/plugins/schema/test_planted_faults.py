"""Sixty faults in twelve datasets: each is found, and datasets without one pass."""

from __future__ import annotations

from pathlib import Path

import nczarr
from tests.support.planted_faults import FAULTS, list_planted


def test_every_planted_fault_is_found(tmp_path: Path) -> None:
    planted = list(list_planted())
    assert (len(planted), len({each.product for each in planted})) == (60, 12)
    assert {each.fault for each in planted} == set(FAULTS)
    schema, data = tmp_path / "s.cdl", tmp_path / "d.cdl"
    for each in planted:
        schema.write_text(each.schema)
        data.write_text(each.good)
        assert nczarr.check(data, schema=schema, data=True) == [], each.product
        data.write_text(each.bad)
        assert nczarr.check(data) == [], (each.product, each.fault)  # it is sound but for the contract
        found = nczarr.check(data, schema=schema, data=True)
        assert any(str(one.severity) in ("error", "warning") for one in found), (each.product, each.fault)
