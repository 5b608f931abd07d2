"""The pipeline and the check without the plugins that add to them."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.names import plugin_index
from nczarr.registry import load_addition

AGGREGATION = (
    "netcdf all { dimensions: t = 2; f = 2; one = 1;\n"
    'variables: float v; v:aggregated_dimensions = "t"; v:aggregated_data = "map: m unique_values: u";\n'
    "int m(one, f); float u(f);\n"
    "data: m = 1, 1; u = 7, 8; }"
)


@pytest.mark.plugin("combine")
def test_aggregation_variables_are_kept_as_stored_without_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "all.cdl").write_text(AGGREGATION)
    assert nczarr.open(tmp_path / "all.cdl")["v"].shape == (2,)
    monkeypatch.setattr(plugin_index, "find_place", lambda kind, name: None)
    kept = nczarr.open(tmp_path / "all.cdl")
    assert kept["v"].shape == ()
    assert [diagnostic.code for diagnostic in kept.diagnostics] == ["kept-aggregation"]
    assert not nczarr.open(tmp_path / "all.cdl", aggregation="keep").diagnostics


def test_a_comparison_that_no_plugin_makes_is_named() -> None:
    with pytest.raises(ValueError, match="no plugin of this installation has the comparison `merge`"):
        load_addition("comparison", "merge")
