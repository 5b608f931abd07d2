"""ncstream: its format, and the module for messages."""

from pathlib import Path

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "ncstream",
    "ncstream and CDM Remote",
    formats={"ncstream": "nczarr.plugins.ncstream.format:FORMAT"},
    names={"ncstream": "nczarr.plugins.ncstream.api"},
    codes=str(Path(__file__).with_name("codes")),
    extras={"google": "ncstream"},
)
