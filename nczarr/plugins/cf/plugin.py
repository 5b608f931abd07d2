"""The CF conventions: rules, declarations of grids, items of catalogues."""

from pathlib import Path

from nczarr.names.plugin_index import DeclarationRow, FactForm, Plugin

PLUGIN = Plugin(
    "cf",
    "the CF conventions: rules, declarations, catalogue items",
    conventions={"cf": "nczarr.plugins.cf.convention:CF"},
    declarations={
        "geo": DeclarationRow(
            "nczarr.plugins.cf.geo_conventions:GEO",
            "nczarr.plugins.cf.geo_attributes:declare",
            "nczarr.plugins.cf.geo_attributes:undeclare",
        )
    },
    fact_forms={
        "stac": FactForm(
            "nczarr.plugins.cf.stac:make_item",
            "print an item of a STAC catalogue with the datacube extension",
            ("describe a store for a catalogue", "info ocean.zarr --stac"),
        )
    },
    codes=str(Path(__file__).with_name("codes")),
    extras={"cf_units": "cf"},
)
