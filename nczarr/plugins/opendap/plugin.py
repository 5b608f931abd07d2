"""OPeNDAP: the formats of its answers, and DMR++."""

from nczarr.names.plugin_index import LocationRow, Plugin

FOLLOWS = r"(?:https?:)?//"
"""Pattern behind the name of a protocol: a web URL, or one without `http:`."""

PLUGIN = Plugin(
    "opendap",
    "OPeNDAP: DAP2, DAP4 and DMR++",
    formats={
        "dmrpp": "nczarr.plugins.opendap.dmrpp:FORMAT",
        "dap2": "nczarr.plugins.opendap.dap2:FORMAT",
        "dap4": "nczarr.plugins.opendap.dap4:FORMAT",
    },
    locations={
        "dap2": LocationRow("nczarr.plugins.opendap.locations:DAP2", FOLLOWS),
        "dap4": LocationRow("nczarr.plugins.opendap.locations:DAP4", FOLLOWS),
    },
    codes=__file__.removesuffix("plugin.py") + "codes",
)
