"""Text answers in gzip for clients that accept it (RFC 9110, section 12.5.3)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

from nczarr.serve.answers import GZIP, HttpAnswer

LEAST, LEVEL = 1 << 10, 5
"""Bytes of a body from which on compression is worth it, and its level."""

_TEXTS = frozenset({"application/json", "application/xml", "image/svg+xml"})
VARY = ("Vary", "Accept-Encoding")


def compressed(answer: HttpAnswer, asked: Mapping[str, str]) -> HttpAnswer:
    """Return the answer as the client takes it: texts in gzip, unless it asks for a part of them."""
    kind = answer.kind.partition(";")[0]
    is_text = kind.startswith("text/") or kind.endswith("+xml") or kind in _TEXTS
    if not (is_text or (answer.status == 304 and not kind)):
        return answer
    wanted = "range" not in asked and _takes_gzip(asked.get("accept-encoding", ""))
    if answer.status == 304:
        return _tagged(answer) if wanted and f'{GZIP}"' in asked.get("if-none-match", "") else answer
    plain = answer.body
    if not isinstance(plain, bytes) or len(plain) < LEAST or answer.status == 206:
        return answer
    answer = answer._replace(headers=(*answer.headers, VARY))
    if not wanted:
        return answer
    body = gzip.compress(plain, LEVEL, mtime=0)
    kept = tuple(each for each in answer.headers if each[0] != "Accept-Ranges")  # ranges are those of the plain text
    return _tagged(answer._replace(body=body, headers=(*kept, ("Content-Encoding", "gzip"))))


def _tagged(answer: HttpAnswer) -> HttpAnswer:
    """Return the answer with the entity tag of its compressed body."""
    headers = (
        (name, f'{value[:-1]}{GZIP}"' if name == "ETag" and value.endswith('"') else value)
        for name, value in answer.headers
    )
    return answer._replace(headers=tuple(headers))


def _takes_gzip(text: str) -> bool:
    """Return whether the header `Accept-Encoding` allows gzip."""
    weights = {}
    for each in text.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        given = next((part[2:].strip() for part in parameters if part.startswith("q=")), "1")
        try:
            weights[name] = float(given)
        except ValueError:
            weights[name] = 0.0
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0
