"""HTML of handles, which notebooks show."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "notebook",
    "HTML of datasets and variables for notebooks",
    representations={
        "group": "nczarr.plugins.notebook.html:group_html",
        "variable": "nczarr.plugins.notebook.html:variable_html",
    },
)
