"""Row of the plugin `schema`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "schema",
    "phases of a compilation as JSON Lines (`compile --emit`), contracts (`check --schema`), evolution",
    emissions={
        "tokens": "nczarr.plugins.schema.emissions:list_tokens",
        "ast": "nczarr.plugins.schema.emissions:list_documents",
        "analysed": "nczarr.plugins.schema.emissions:list_declarations",
        "plan": "nczarr.plugins.schema.emissions:list_arrays",
        "keys": "nczarr.plugins.schema.emissions:list_keys",
    },
    schema_checks={"schema": "nczarr.plugins.schema.contract.schema_check:CHECK"},
    wrappers={"diff": "nczarr.plugins.schema.evolution.command:WRAPPER"},
    judgements={"compat": "nczarr.plugins.schema.evolution.command:JUDGEMENT"},
    explanations={"key": "nczarr.plugins.schema.explain_key:explain"},
    products={"plugin": "nczarr.plugins.schema.compile_rows:PRODUCT"},
    schema_readers={"layers": "nczarr.plugins.schema.compile_rows:READER"},
    names={
        "analyse": "nczarr.plugins.schema.analysis:analyse",
        "changes": "nczarr.plugins.schema.api:changes",
        "layer": "nczarr.plugins.schema.api:layer",
    },
    differences=__file__.removesuffix("plugin.py") + "differences",
    codes=__file__.removesuffix("plugin.py") + "codes",
    requires=("languages",),
)
