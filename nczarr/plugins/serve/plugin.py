"""The server: its command."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "serve",
    "server of datasets over HTTP",
    commands={
        "serve": CommandRow(
            "nczarr.plugins.serve.command:parser",
            "serve datasets over HTTP: Zarr, OPeNDAP and others",
            "write datasets",
        )
    },
    extras={"starlette": "serve", "uvicorn": "serve"},
    requires=("cf", "ncstream", "notebook", "opendap"),
)
