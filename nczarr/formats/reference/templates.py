"""Texts with expressions in their parts: by the grammar, or by jinja2 where limits allow it and that does not suffice.

Comes in: texts of a document. Goes out: their parts, to which `evaluation.py` gives a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from nczarr.formats.reference import expressions
from nczarr.formats.reference.expressions import Hole, Pieces
from nczarr.formats.reference.limits import Account, Limits, RefusedTextError


def pieces(text: str, limits: Limits, account: Account) -> Pieces:
    """The parts of a text; one for all of it where it is jinja2's. Raises RefusedTextError."""
    try:
        return expressions.pieces(text, limits)
    except RefusedTextError as error:
        if not limits.jinja or error.code != "bad-expression":
            raise
    from nczarr.formats.reference.jinja import beyond

    return (Hole(text, beyond(text, limits, account)),)


def templates(texts: Mapping[str, str], limits: Limits, account: Account) -> dict[str, str | Pieces]:
    """The templates of a scope. Raises RefusedTextError."""
    return {name: pieces(text, limits, account) if "{{" in text else text for name, text in texts.items()}
