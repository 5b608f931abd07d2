"""NcML: its format."""

from pathlib import Path

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "ncml",
    "NcML: documents that change, join and unite other datasets",
    formats={"ncml": "nczarr.plugins.ncml.format:FORMAT"},
    codes=str(Path(__file__).with_name("codes")),
    requires=("combine",),
)
