"""DMR++: OPeNDAP's XML documents that describe an HDF5 file and name the byte ranges of its chunks.

`xml_reader.py` parses a document and `frontend.py` makes a dataset of it: `types.py`, `attributes.py` and `arrays.py`
read its parts, `references.py` holds where chunks lie. `backend.py` writes a document; `link_plan.py` decides which
values it refers to and which it holds itself.
"""

from __future__ import annotations

from nczarr.capabilities import Format

FORMAT = Format(
    name="dmrpp",
    title="DMR++ documents: byte ranges of HDF5 files",
    suffixes=(".dmrpp",),
    spec="https://github.com/OPENDAP/bes/tree/master/modules/dmrpp_module",
    detects=r"(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*|<!--(?:[^-]|-(?!->))*-->\s*)*"
    r"<(?:\w+:)?Dataset\s[^>]*xml\.opendap\.org/dap/dmrpp/",
    read="nczarr.formats.dmrpp.frontend:read",
    write="nczarr.formats.dmrpp.backend:write",
    losses="nczarr.formats.dmrpp.losses:losses",
    resident=True,
)
