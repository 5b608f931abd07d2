"""The CF conventions: rules, declarations of grids, items of catalogues."""

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
    codes=__file__.removesuffix("plugin.py") + "codes",
    extras={"cf_units": "cf"},
)
