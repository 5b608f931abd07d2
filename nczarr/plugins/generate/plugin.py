"""Row of the plugin `generate`."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "generate",
    "programs and documents from a schema",
    commands={
        "generate": CommandRow(
            "nczarr.plugins.generate.command:parser",
            "make a program or a document from a schema",
            "write datasets",
            after="compile",
            other_names=("codegen",),
        )
    },
    requires=("schema",),
    names={"generate": "nczarr.plugins.generate.api:generate"},
)
