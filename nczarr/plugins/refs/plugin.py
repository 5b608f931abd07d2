"""Reference documents: the commands `refs verify`, `refs expand` and `refs compact`, and the module `nczarr.refs`."""

from nczarr.names.plugin_index import CommandRow, Plugin

_TASK = "work with reference documents"

PLUGIN = Plugin(
    "refs",
    "reference documents verified, expanded and compacted, and their templates",
    commands={
        "refs verify": CommandRow(
            "nczarr.plugins.refs.command_verify:parser",
            "verify the targets and ranges of references",
            _TASK,
            after="refs append",
            other_names=("verify",),
        ),
        "refs expand": CommandRow(
            "nczarr.plugins.refs.command_rewrite:expand",
            "write templates and generators out",
            _TASK,
            after="refs verify",
        ),
        "refs compact": CommandRow(
            "nczarr.plugins.refs.command_rewrite:compact",
            "find templates and generators",
            _TASK,
            after="refs expand",
        ),
        "refs ls": CommandRow(
            "nczarr.plugins.refs.command_keys:list_keys",
            "list the keys of references",
            _TASK,
            after="refs compact",
            other_names=("ls",),
        ),
        "refs cat": CommandRow(
            "nczarr.plugins.refs.command_keys:print_keys",
            "print the bytes of keys of references",
            _TASK,
            after="refs ls",
            other_names=("cat",),
        ),
    },
    templates={"reference": "nczarr.plugins.refs.templates.rendered_references:make_references"},
    names={"refs": "nczarr.plugins.refs.api"},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
