"""ncstream: its format, and the module for messages."""

from pathlib import Path

from nczarr.names.plugin_index import LocationRow, Plugin

PLUGIN = Plugin(
    "ncstream",
    "ncstream and CDM Remote",
    formats={"ncstream": "nczarr.plugins.ncstream.format:FORMAT"},
    names={"ncstream": "nczarr.plugins.ncstream.api"},
    locations={"cdmremote": LocationRow("nczarr.plugins.ncstream.location:KIND", r"(?:https?:)?//")},
    codes=str(Path(__file__).with_name("codes")),
    extras={"google": "ncstream"},
)
