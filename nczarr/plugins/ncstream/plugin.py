"""ncstream: its format, and the module for messages."""

from nczarr.plugin_index import Plugin

PLUGIN = Plugin(
    "ncstream",
    "ncstream and CDM Remote",
    formats={"ncstream": "nczarr.plugins.ncstream.format:FORMAT"},
    names={"ncstream": "nczarr.plugins.ncstream.api"},
    extras={"google": "ncstream"},
)
