"""NcML: its format."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "ncml",
    "NcML: documents that change, join and unite other datasets",
    formats={"ncml": "nczarr.plugins.ncml.format:FORMAT"},
    codes=__file__.removesuffix("plugin.py") + "codes",
    requires=("combine",),
)
