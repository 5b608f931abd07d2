"""Repositories of icechunk: their format."""

from nczarr.names.plugin_index import LocationRow, Plugin

PLUGIN = Plugin(
    "icechunk",
    "repositories of icechunk",
    locations={"icechunk": LocationRow("nczarr.plugins.icechunk.location:KIND")},
    folders={"snapshots": "nczarr.plugins.icechunk.location:find_repository"},
    extras={"icechunk": "icechunk"},
    formats={"icechunk": "nczarr.plugins.icechunk.format:FORMAT"},
)
