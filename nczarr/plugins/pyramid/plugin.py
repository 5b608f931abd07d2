"""Pyramids: the command `pyramid`, its function, and what OME-Zarr demands of a store."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "pyramid",
    "overviews of arrays, with the metadata of GeoZarr and OME-Zarr",
    commands={
        "pyramid": CommandRow(
            "nczarr.plugins.pyramid.command:parser",
            "write a dataset with overviews, or bring them up to date",
            "write datasets",
            after="rechunk",
            other_names=("overviews", "gdaladdo", "multiscale", "coarsen"),
        ),
    },
    names={"pyramid": "nczarr.plugins.pyramid.api:pyramid"},
    checks={"ome": "nczarr.plugins.pyramid.check_ome:PEER"},
    codes=__file__.removesuffix("plugin.py") + "codes",
    requires=("cf", "combine", "edit", "readers"),
)
