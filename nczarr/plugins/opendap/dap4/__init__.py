"""DAP4 of OPeNDAP: data responses in files, and datasets on servers.

`frontend.py` reads documents (DMR), files and servers, `response.py` chunks and values; `writer.py` makes the answers
of our server.
"""

from __future__ import annotations

from nczarr.registry import Display, Format, ReadingTraits

FORMAT = Format(
    name="dap4",
    title="DAP4 of OPeNDAP: `.dap` responses, and `dap4:` servers",
    suffixes=(".dap",),
    spec="https://opendap.github.io/dap4-specification/DAP4.html",
    detects=r"[\x00-\x0f](?s:...)(?:\xef\xbb\xbf)?\s*<(?:\?xml|[Dd]ataset|[Ee]rror|dap)"
    r"|(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*)?<(?:\w+:)?Dataset\s[^>]*xml\.opendap\.org/ns/DAP/4",
    read="nczarr.plugins.opendap.dap4.frontend:read",
    reading=ReadingTraits(only_reader=True),
    display=Display(binary=True),
)
