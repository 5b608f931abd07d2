"""ncstream: its format, and the module for messages."""

from nczarr.names.plugin_index import LocationRow, Plugin

PLUGIN = Plugin(
    "ncstream",
    "ncstream and CDM Remote",
    formats={"ncstream": "nczarr.plugins.ncstream.format:FORMAT"},
    names={"ncstream": "nczarr.plugins.ncstream.api"},
    locations={"cdmremote": LocationRow("nczarr.plugins.ncstream.location:KIND", r"(?:https?:)?//")},
    codes=__file__.removesuffix("plugin.py") + "codes",
    extras={"google": "ncstream"},
)
