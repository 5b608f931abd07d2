"""Row of the plugin `hdfeos`."""

from pathlib import Path

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "hdfeos",
    "HDF-EOS5: dimension names from StructMetadata",
    expansions={"HDFEOS INFORMATION": "nczarr.plugins.hdfeos.dimension_names:name_dimensions"},
    codes=str(Path(__file__).with_name("codes")),
)
