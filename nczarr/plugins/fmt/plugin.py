"""Formatting of texts: the command `fmt`, its function, and the styles of CDL and the notation."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "fmt",
    "CDL and the notation in one style",
    commands={
        "fmt": CommandRow(
            "nczarr.plugins.fmt.command_fmt:parser",
            "format CDL and NCZarr notation in one style",
            "write schemas",
            other_names=("format", "reformat"),
        )
    },
    names={"reformat": "nczarr.plugins.fmt.api_reformat:reformat"},
    styles={"cdl": "nczarr.plugins.fmt.cdl:reformat", "notation": "nczarr.plugins.fmt.notation:reformat"},
)
