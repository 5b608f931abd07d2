"""Row of the plugin `unpack`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "unpack",
    "packed variables as the numbers that they stand for",
    changes={"unpack": "nczarr.plugins.unpack.unpack:unpack"},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
