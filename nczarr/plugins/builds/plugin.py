"""Row of the plugin `builds`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "builds",
    "runs in a build: list of inputs, nothing to do if current, again at each change",
    wrappers=dict.fromkeys(("compile", "convert", "rechunk"), "nczarr.plugins.builds.wrapper:WRAPPER"),
)
