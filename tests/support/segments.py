"""The inverse of the escapes in segments of keys."""

from __future__ import annotations

import re

from nczarr.arrays.chunks.key_segments import escape

_ESCAPE = rb"_x([0-9A-F]{2})"


def unescape(segment: str) -> str:
    """Invert `escape`. Raises ValueError for other segments."""
    data = re.sub(_ESCAPE, lambda match: bytes([int(match[1], 16)]), segment.encode())
    name = data.decode(errors="surrogateescape")
    if not name or escape(name) != segment:
        raise ValueError(f"{segment!r} is not an escaped name")
    return name
