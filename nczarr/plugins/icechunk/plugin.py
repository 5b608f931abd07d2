"""Repositories of icechunk: their format."""

from nczarr.names.plugin_index import CommandRow, LocationRow, Plugin

PLUGIN = Plugin(
    "icechunk",
    "repositories of icechunk",
    commands={
        "revisions": CommandRow(
            "nczarr.plugins.icechunk.command_revisions:parser",
            "list, make and move branches and tags of a repository",
            "write datasets",
            after="migrate",
        )
    },
    locations={"icechunk": LocationRow("nczarr.plugins.icechunk.location:KIND")},
    folders={"snapshots": "nczarr.plugins.icechunk.location:find_repository"},
    extras={"icechunk": "icechunk"},
    formats={"icechunk": "nczarr.plugins.icechunk.format:FORMAT"},
)
