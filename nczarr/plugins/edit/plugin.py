"""Changes of a dataset in its place: the commands `edit` and `migrate`, and their functions."""

from pathlib import Path

from nczarr.names.plugin_index import CommandRow, Plugin

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
    codes=str(Path(__file__).with_name("codes")),
)
