"""Row of the plugin `schema`."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "schema",
    "phases of a compilation as JSON Lines (`compile --emit`)",
    emissions={
        "tokens": "nczarr.plugins.schema.texts:list_tokens",
        "ast": "nczarr.plugins.schema.trees:list_documents",
        "analysed": "nczarr.plugins.schema.trees:list_declarations",
        "plan": "nczarr.plugins.schema.plans:list_arrays",
        "keys": "nczarr.plugins.schema.plans:list_keys",
    },
    requires=("languages",),
)
