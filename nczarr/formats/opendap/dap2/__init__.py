"""DAP2 of OPeNDAP: DODS responses in files, and datasets on servers.

`read/` reads DDS and DAS (grammar/DAP2.g4), files, and servers; `write/` makes
the answers of our server; `spelling.py` has names and texts of both.
"""

from __future__ import annotations

from nczarr.registry import Format

FORMAT = Format(
    name="dap2",
    title="DAP2 of OPeNDAP: `.dods` responses, and `dap2:` servers",
    suffixes=(".dods",),
    spec="https://www.earthdata.nasa.gov/s3fs-public/imported/ESE-RFC-004v1.1.pdf",
    detects=r"(?i:\s*dataset\s*\{|\s*error\s*\{\s*code\s*=)",
    read="nczarr.formats.opendap.dap2.frontend:read",
    binary=True,
    only_reader=True,
)
