"""The tables of CF: standard names with aliases and suggestions, area types, regions."""

from __future__ import annotations

import pytest

from nczarr.plugins.cf import standard_name_table as table


def test_entries_have_units_definitions_and_aliases() -> None:
    entry = table.find_standard_name("air_temperature")
    assert entry is not None
    assert (entry.name, entry.units) == ("air_temperature", "K")
    assert entry.definition == "Air temperature is the bulk temperature of the air, not the surface (skin) temperature."
    assert table.find_standard_name("Air_temperature") is None
    assert len(table.standard_names()) == 5023
    assert table.standard_name_version() == "93 (2026-03-17)"


def test_old_names_lead_to_present_ones() -> None:
    old = "chlorophyll_concentration_in_sea_water"
    entry = table.find_standard_name(old)
    assert entry is not None
    assert entry.name == "mass_concentration_of_chlorophyll_in_sea_water"
    assert old in entry.aliases


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("air_temprature", "air_temperature"),
        ("Air_Temperature", "air_temperature"),
        ("air temperature", "air_temperature"),
        ("longtude", "longitude"),
        ("sea_water_tempertaure", "sea_water_temperature"),
        ("qqqqqqqqqqqqqq", None),
    ],
)
def test_suggestions(name: str, meant: str | None) -> None:
    assert table.suggest_standard_name(name) == meant


def test_area_types_and_regions() -> None:
    assert "sea_ice" in table.area_types()
    assert "global_ocean" in table.regions()
    assert not any(word.startswith("#") for word in table.area_types() | table.regions())
