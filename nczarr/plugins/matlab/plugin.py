"""Row of the plugin `matlab`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "matlab",
    "MATLAB v7.3: cells, structs, texts, logicals and complex numbers as groups and arrays",
    expansions={"MATLAB_class": "nczarr.plugins.matlab.workspace:read_workspace"},
)
