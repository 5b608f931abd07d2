"""Repositories of icechunk: their format."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "icechunk",
    "repositories of icechunk",
    formats={"icechunk": "nczarr.plugins.icechunk.format:FORMAT"},
)
