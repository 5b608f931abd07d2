"""Row of the plugin `damage`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "damage",
    "damage in data: chunks that cannot be read, values that attributes exclude (`check --data`)",
    data_checks={"data": "nczarr.plugins.damage.data_check:check_all"},
    wrappers={"check": "nczarr.plugins.damage.command_option:WRAPPER"},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
