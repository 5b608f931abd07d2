"""Row of the plugin `nwb`."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "nwb",
    "Neurodata Without Borders files, copied between HDF5 and Zarr",
    commands={
        "nwb": CommandRow(
            "nczarr.plugins.nwb.command:parser",
            "copy a Neurodata Without Borders file between HDF5 and Zarr",
            "write datasets",
            after="rechunk",
            other_names=("hdmf-zarr", "pynwb"),
        ),
    },
    codes=__file__.removesuffix("plugin.py") + "codes",
    losses=("nwb-loss",),
)
