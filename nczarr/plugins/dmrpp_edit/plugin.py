"""Edits of DMR++ documents in their place."""

from nczarr.names.plugin_index import EditRow, Plugin

PLUGIN = Plugin(
    "dmrpp_edit",
    "edits of DMR++ documents in their place",
    edits={"dmrpp": EditRow("nczarr.plugins.dmrpp_edit.edit:edit")},
    requires=("edit", "opendap"),
)
