"""Full names of the Common Data Model, read back."""

from __future__ import annotations

import re

from nczarr import names

_PIECE = re.compile(r"\\.|.", re.DOTALL)


def from_cdm_full_name(text: str) -> tuple[str, tuple[str, ...]]:
    """FQN and members of a full name; the inverse of `names.cdm_full_name`.

    A leading slash is ignored; a backslash at the end is part of the name.
    """
    pieces, members = [""], 0
    for piece in _PIECE.findall(text.removeprefix("/")):
        if piece == "." or (piece == "/" and not members):
            pieces.append("")
            members += piece == "."
        else:
            pieces[-1] += piece[1:] if len(piece) == 2 else piece
    kept = len(pieces) - members
    return names.fqn(pieces[:kept]) if text else "/", tuple(pieces[kept:])
