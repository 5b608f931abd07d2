"""DAP4, the newer protocol of OPeNDAP: documents and values of a dataset, made for a server.

    projection = write.select(checked, "/tas[0:1][0][0]")
    b"".join(write.response(checked, projection, "a.nc"))

Values are made in pieces, in bounded memory.
"""

from __future__ import annotations

from nczarr.formats.opendap.common.constraints import ConstraintError
from nczarr.formats.opendap.common.dmr_writer import Projection
from nczarr.formats.opendap.dap4.write.document import dmr
from nczarr.formats.opendap.dap4.write.selection import select
from nczarr.formats.opendap.dap4.write.values import error_chunk, error_document, response, size_of

__all__ = ["ConstraintError", "Projection", "dmr", "error_chunk", "error_document", "response", "select", "size_of"]
