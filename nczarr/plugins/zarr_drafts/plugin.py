"""The 2019 draft of Zarr v3: its format, and the module for hierarchies in stores of one's own."""

from nczarr.names.plugin_index import EditRow, Plugin

PLUGIN = Plugin(
    "zarr_drafts",
    "the 2019 draft of Zarr v3",
    formats={"zarr3-2019": "nczarr.plugins.zarr_drafts.format:FORMAT"},
    names={"zarr3_2019": "nczarr.plugins.zarr_drafts.api"},
    dialects={"pull_request_3068": "nczarr.plugins.zarr_drafts.pull_request_3068:DraftMetadata"},
    edits={"zarr3-2019": EditRow("nczarr.plugins.edit.zarr.edit:edit")},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
