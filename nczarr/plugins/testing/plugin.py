"""Hypothesis strategies and fixtures of pytest: a public module."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "testing", "Hypothesis strategies of datasets, and fixtures of pytest", names={"testing": "nczarr.plugins.testing"}
)
