"""Stores of zarr-python: a public function."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "zarr_python",
    "every dataset as a store of zarr-python",
    names={"zarr_store": "nczarr.plugins.zarr_python.open:zarr_store"},
)
