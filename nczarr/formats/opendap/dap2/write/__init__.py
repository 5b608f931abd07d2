"""DAP2, the older protocol of OPeNDAP: documents and values of a dataset, made for a server.

    mapped = write.mapping(checked, "a.nc")
    nodes = write.select(mapped, "tas[0:1:3][0][0]")
    b"".join(write.response(mapped, nodes))

Values are made in pieces, in bounded memory.
"""

from __future__ import annotations

from nczarr.formats.opendap.common.constraints import ConstraintError
from nczarr.formats.opendap.dap2.write.attributes import das
from nczarr.formats.opendap.dap2.write.constraints import select
from nczarr.formats.opendap.dap2.write.declarations import GridNode, Mapping, Node, dds, leaves, mapping, size_of
from nczarr.formats.opendap.dap2.write.text_values import UnprintableError, ascii_response, error_document
from nczarr.formats.opendap.dap2.write.xdr import InexactError, response

__all__ = [
    "ConstraintError",
    "GridNode",
    "InexactError",
    "Mapping",
    "Node",
    "UnprintableError",
    "ascii_response",
    "das",
    "dds",
    "error_document",
    "leaves",
    "mapping",
    "response",
    "select",
    "size_of",
]
