"""Languages of CDL and the notation: what editors and highlighters know of a text."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "languages",
    "names and words of CDL and the notation, for editors",
    languages={
        "cdl": "nczarr.plugins.languages.cdl:LANGUAGE",
        "notation": "nczarr.plugins.languages.notation:LANGUAGE",
    },
)
