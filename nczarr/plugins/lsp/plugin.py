"""The language server: its command."""

from nczarr.names.plugin_index import CommandRow, Plugin

PLUGIN = Plugin(
    "lsp",
    "language server for CDL and the notation",
    commands={
        "lsp": CommandRow(
            "nczarr.plugins.lsp.command:parser",
            "answer an editor: language server for CDL and the notation",
            "write schemas",
        )
    },
    requires=("cf", "fmt", "languages"),
    extras={"lsprotocol": "lsp", "pygls": "lsp"},
)
