"""Lexers for Pygments, which finds them by entry points of its own."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin("pygments", "lexers of CDL and the notation for Pygments", requires=("languages",))
