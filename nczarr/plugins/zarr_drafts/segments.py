"""Which segments of keys a node can have, and which names its segment allows: the draft, "Node names"."""

from __future__ import annotations

import re

from nczarr.arrays.chunks.key_segments import LONGEST, escape

_ALLOWED = re.compile(r"[A-Za-z0-9_.-]*")
_NUMBERED = r"_c[1-9][0-9]*"


def suits(segment: str, name: str) -> bool:
    """Return whether a node with this segment can have this name, among any siblings."""
    plain = escape(name) if name else ""
    return (
        bool(plain)
        and segment.startswith(plain)
        and (segment == plain or bool(re.fullmatch(_NUMBERED, segment[len(plain) :])))
    )


def problem(segment: str) -> str | None:
    """Return why a segment is no node name, as a predicate, or None."""
    if not segment:
        return "is empty"
    if not _ALLOWED.fullmatch(segment):
        return "has characters other than a-z, A-Z, 0-9, `-`, `_` and `.`"
    if not segment.strip("."):
        return "consists of periods only"
    return f"has {len(segment)} characters; the limit is {LONGEST}" if len(segment) > LONGEST else None
