"""Stores in N5: their format, and the codec of their blocks."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "n5",
    "stores in N5, of microscopy",
    formats={"n5": "nczarr.plugins.n5.format:FORMAT"},
    codecs={"n5_block": "nczarr.plugins.n5.block:N5_BLOCK"},
)
