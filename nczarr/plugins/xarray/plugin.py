"""The engine of xarray, which finds it by an entry point of its own."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin("xarray", "engine of xarray", extras={"xarray": "xarray"})
