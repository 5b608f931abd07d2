"""DAP2 of OPeNDAP: DODS responses in files, and datasets on servers.

`frontend.py` reads files and servers: `parser.py` DDS and DAS (grammars/DAP2.g4), `tree.py` and `dataset.py` their
meaning, `xdr.py` values. Our server answers with `declarations.py`, `das_writer.py`, `values.py`.
"""

from __future__ import annotations

from nczarr.registry import Display, Format, ReadingTraits

FORMAT = Format(
    name="dap2",
    title="DAP2 of OPeNDAP: `.dods` responses, and `dap2:` servers",
    suffixes=(".dods",),
    spec="https://www.earthdata.nasa.gov/s3fs-public/imported/ESE-RFC-004v1.1.pdf",
    detects=r"(?i:\s*dataset\s*\{|\s*error\s*\{\s*code\s*=)",
    read="nczarr.plugins.opendap.dap2.frontend:read",
    reading=ReadingTraits(only_reader=True),
    display=Display(binary=True),
)
