"""A parser for VirtualiZarr: a public module."""

from nczarr.plugin_index import Plugin

PLUGIN = Plugin(
    "virtualizarr",
    "parser of every format for VirtualiZarr",
    names={"virtualizarr": "nczarr.plugins.virtualizarr.parser"},
)
