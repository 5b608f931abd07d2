"""Words of `--allow-loss`."""

from nczarr.diagnostics.report import ALLOWED, suggest
from nczarr.names.plugin_index import load_all


def list_allowed() -> frozenset[str]:
    """Return the valid words of `--allow-loss`, with the losses that formats of plugins report."""
    return ALLOWED | {code for plugin in load_all() for code in plugin.losses}


def find_disallowed(word: str) -> str | None:
    """Return the message for an invalid word of `--allow-loss`; None for a valid one."""
    if word in ALLOWED or word in list_allowed():
        return None
    [hint] = suggest(word, sorted(list_allowed())) or [f"known losses: {', '.join(sorted(list_allowed()))}"]
    return f"`{word}` is not a loss of values; {hint}"
