"""Row of the plugin `second_reader`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "second_reader",
    "targets read by the library of their format as well (`--verify`)",
    verifications={
        "verify": "nczarr.plugins.second_reader.verification:verify_elsewhere",
        "share": "nczarr.plugins.second_reader.verification:share_process",
    },
)
