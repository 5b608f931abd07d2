"""Joined datasets: the commands `combine` and `append`, their functions, aggregation variables of CF."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "combine",
    "datasets joined, appended, and named by aggregation variables",
    formats={"cfa": "nczarr.plugins.combine.format:FORMAT"},
    commands={
        "append": CommandRow(
            "nczarr.plugins.combine.command_append:parser",
            "extend a dataset along a dimension",
            "write datasets",
            after="rechunk",
            other_names=("extend",),
        ),
        "combine": CommandRow(
            "nczarr.plugins.combine.command_combine:combine",
            "combine many datasets into one",
            "write datasets",
            after="append",
            other_names=("merge", "concat", "concatenate", "join", "mergetime", "ncrcat", "ncecat"),
        ),
        "refs combine": CommandRow(
            "nczarr.plugins.combine.command_combine:parser",
            "the same as combine, with the target behind -o",
            "work with reference documents",
            after="fmt",  # the last one of the task before: it is the first of its own
        ),
        "refs append": CommandRow(
            "nczarr.plugins.combine.command_append:refs_append",
            "extend a reference document by further sources",
            "work with reference documents",
            after="refs combine",
        ),
    },
    names={
        "append": "nczarr.plugins.combine.api_append:append",
        "combine": "nczarr.plugins.combine.api_combine:combine",
        "refs.append": "nczarr.plugins.combine.api_combine:append",
        "refs.combine": "nczarr.plugins.combine.api_combine:combine",
    },
    comparisons={"combine": "nczarr.plugins.combine.source_comparison:COMPARISON"},
    expansions={"aggregated_data": "nczarr.plugins.combine.aggregation:expand"},
    resizes=dict.fromkeys(("nczarr", "zarr2", "zarr3", "nczarr3"), "nczarr.plugins.combine.append.resize:resize"),
    codes=__file__.removesuffix("plugin.py") + "codes",
    requires=("cf", "unpack"),
)
