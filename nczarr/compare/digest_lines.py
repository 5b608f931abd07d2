r"""Digest lines in `sha256sum` format: `DIGEST NAME`, for a part of a dataset `DIGEST NAME#FQN`.

Backslashes and line ends in a name are written `\\`, `\n` and `\r`, and the line then begins with a
backslash. A part follows its dataset; the FQN of a group ends in `/`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nczarr.diagnostics.report import Report
from nczarr.source import Source, Span

_LINE = re.compile(rb"(\\?)([0-9A-Fa-f]{64}) [ *](.+)", re.DOTALL)
_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_ESCAPED = {escape: plain for plain, escape in _ESCAPES.items()}


class Wanted(NamedTuple):
    """Expected digests of a dataset; `parts` by FQN."""

    name: str
    whole: str
    parts: dict[str, str]


def line(digest: str, name: str, part: str | None = None) -> bytes:
    """Return the line of a dataset or part."""
    text = (name if part is None else f"{name}#{part}").encode("utf-8", "surrogateescape")
    escaped = re.sub(rb"[\\\n\r]", lambda found: _ESCAPES[found[0]], text)
    return (b"\\" if escaped != text else b"") + digest.encode() + b"  " + escaped + b"\n"


def parse(source: Source, report: Report) -> list[Wanted]:
    """Return the datasets in a digest file; parts follow their dataset. Reports: bad-digest-line."""
    found: dict[str, Wanted] = {}
    last, at = "", 0
    for text in bytes(source.data).split(b"\n"):
        span, at = Span(source, at, at + len(text)), at + len(text) + 1
        text = text.removesuffix(b"\r")
        if not text:
            continue
        parsed = _LINE.fullmatch(text)
        if parsed is None or (parsed[1] and not re.fullmatch(rb"(?:[^\\]|\\[\\nr])*", parsed[3], re.DOTALL)):
            report.error("bad-digest-line", "the line is not `DIGEST  NAME`", span)
            continue
        name = re.sub(rb"\\.", lambda found: _ESCAPED[found[0]], parsed[3]) if parsed[1] else parsed[3]
        words, digest = name.decode("utf-8", "surrogateescape"), parsed[2].decode().lower()
        if last and words.startswith(last + "#/"):
            found[last].parts[words[len(last) + 1 :]] = digest
        else:
            found[words] = Wanted(words, digest, {})
            last = words
    if not found and not report.errors:
        report.error("bad-digest-line", f"`{source.name}` has no line `DIGEST  NAME`")
    return list(found.values())
