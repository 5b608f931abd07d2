"""Awkward 0.x: its format, and the module for single arrays."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "awkward0",
    "Awkward 0.x archives of ragged arrays",
    formats={"awkward0": "nczarr.plugins.awkward0.format:FORMAT"},
    names={"awkward0": "nczarr.plugins.awkward0.api"},
    codes=__file__.removesuffix("plugin.py") + "codes",
    extras={"awkward": "ragged"},
)
