"""VirtualiZarr: a parser for it as a public module, and its parsers for files of other formats."""

from nczarr.names.plugin_index import OpenerRow, Plugin

PLUGIN = Plugin(
    "virtualizarr",
    "parser of every format for VirtualiZarr",
    names={"virtualizarr": "nczarr.plugins.virtualizarr.parser"},
    openers={
        "virtualizarr": OpenerRow(
            "nczarr.plugins.virtualizarr.manifests:open_object", "nczarr.plugins.virtualizarr.manifests:parse"
        )
    },
    hints={"parser": "nczarr.plugins.virtualizarr.suggested_parsers:suggest_parser"},
)
