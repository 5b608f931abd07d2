"""Awkward 0.x: its format, and the module for single arrays."""

from pathlib import Path

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "awkward0",
    "Awkward 0.x archives of ragged arrays",
    formats={"awkward0": "nczarr.plugins.awkward0.format:FORMAT"},
    names={"awkward0": "nczarr.plugins.awkward0.api"},
    codes=str(Path(__file__).with_name("codes")),
    extras={"awkward": "ragged"},
)
