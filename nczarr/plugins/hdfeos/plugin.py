"""Row of the plugin `hdfeos`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "hdfeos",
    "HDF-EOS5: dimension names from StructMetadata",
    expansions={"HDFEOS INFORMATION": "nczarr.plugins.hdfeos.dimension_names:name_dimensions"},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
