"""Row of the plugin `flatten`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "flatten",
    "groups flattened by the rules of CF's netcdf-flattener, and restored",
    wrappers=dict.fromkeys(("convert:groups", "compile:groups"), "nczarr.plugins.flatten.wrapper:WRAPPER"),
    names={
        "flatten_groups": "nczarr.plugins.flatten.flattening:flatten_groups",
        "restore_groups": "nczarr.plugins.flatten.restoring:restore_groups",
    },
    codes=__file__.removesuffix("plugin.py") + "codes",
)
