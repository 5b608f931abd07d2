"""DMR++: OPeNDAP's XML documents with the metadata of an HDF5 file and the byte ranges of its chunks.

`frontend.py` builds the dataset as the readers of DAP4 do (`common/`), and its
arrays; `references.py` locates chunks. `backend.py` writes a document;
`link_plan.py` selects references or inline values.
"""

from __future__ import annotations

from nczarr.registry import Capabilities, Format, ReadingTraits

FORMAT = Format(
    name="dmrpp",
    title="DMR++ documents: byte ranges of HDF5 files",
    suffixes=(".dmrpp",),
    spec="https://github.com/OPENDAP/bes/tree/master/modules/dmrpp_module",
    capabilities=Capabilities(axis_names=False),
    detects=r"(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*|<!--(?:[^-]|-(?!->))*-->\s*)*"
    r"<(?:\w+:)?Dataset\s[^>]*xml\.opendap\.org/dap/dmrpp/",
    read="nczarr.plugins.opendap.dmrpp.frontend:read",
    write="nczarr.plugins.opendap.dmrpp.backend:write",
    losses="nczarr.plugins.opendap.dmrpp.link_plan:losses",
    reading=ReadingTraits(resident=2, only_reader=True),
)
