"""Losses that a run may allow, as plain data, so that no page is read for them."""

from __future__ import annotations

from nczarr.names import closest

VALUE_LOSSES = frozenset(
    {
        *("lost-type", "lost-attribute", "altered-attribute", "lost-nil", "cut-string", "lost-length", "lost-fill"),
        *("renamed-dimension", "unnamed-value", "unsafe-name", "format-conflict"),
        *("bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "unreferable-variable"),
        *("lost-union", "lost-mask", "duplicate-name"),
    }
)
"""Losses that are errors unless `--allow-loss` names them."""

ALLOWED = VALUE_LOSSES | {"all"}
"""Valid words of `--allow-loss`."""


def not_allowed(word: str) -> str:
    """Return the message for an invalid word."""
    meant = closest(word, sorted(ALLOWED))
    hint = f"did you mean `{meant}`?" if meant else f"known losses: {', '.join(sorted(ALLOWED))}"
    return f"`{word}` is not a loss of values; {hint}"
