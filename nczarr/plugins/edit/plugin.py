"""Changes of a dataset in its place: the commands `edit` and `migrate`, and their functions."""

from nczarr.names.plugin_index import CommandRow, EditRow, Plugin

_ZARR = EditRow("nczarr.plugins.edit.zarr.edit:edit", "nczarr.plugins.edit.zarr.migrate:migrate")

PLUGIN = Plugin(
    "edit",
    "changes of headers and formats in place",
    commands={
        "edit": CommandRow(
            "nczarr.plugins.edit.command_edit:parser",
            "change the header of a dataset in its place",
            "write datasets",
            after="append",
            other_names=("rename", "set", "ncatted", "ncrename", "modify"),
        ),
        "migrate": CommandRow(
            "nczarr.plugins.edit.command_migrate:parser",
            "give a Zarr store the documents of another format",
            "write datasets",
            after="edit",
            other_names=("upgrade",),
        ),
    },
    names={
        "edit": "nczarr.plugins.edit.api_edit:edit",
        "migrate": "nczarr.plugins.edit.api_migrate:migrate",
    },
    edits={
        "netcdf4": EditRow("nczarr.plugins.edit.netcdf4:edit"),
        "netcdf3": EditRow("nczarr.plugins.edit.netcdf3:edit"),
        "reference": EditRow(text="nczarr.plugins.edit.patches.reference_text:patch_text"),
        **dict.fromkeys(("nczarr", "zarr2", "zarr3", "nczarr3"), _ZARR),
    },
    codes=__file__.removesuffix("plugin.py") + "codes",
)
