"""Row of the plugin `downloads`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "downloads",
    "files as services send them: compressed ones, archives of files and stores, answers that are no datasets",
    containers={
        "file": "nczarr.plugins.downloads.containers:open_container",
        "member": "nczarr.plugins.downloads.open:open_member",
    },
    hints={"answer": "nczarr.plugins.downloads.answers:explain_answer"},
    names={"members": "nczarr.plugins.downloads.members:members"},
    wrappers={"*": "nczarr.plugins.downloads.members:WRAPPER"},
    codes=__file__.removesuffix("plugin.py") + "codes",
    requires=("remote",),
)
