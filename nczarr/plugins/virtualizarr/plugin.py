"""VirtualiZarr: a parser for it as a public module, and its parsers for files of other formats."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "virtualizarr",
    "parser of every format for VirtualiZarr",
    names={"virtualizarr": "nczarr.plugins.virtualizarr.parser"},
    hints={"parser": "nczarr.plugins.virtualizarr.suggested_parsers:suggest_parser"},
)
