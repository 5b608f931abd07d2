"""NCZarr on Zarr v3: the four attributes of netCDF-C beside the others, with an extension for all that they leave out.

No release of the netCDF library reads Zarr v3 yet (nczarr-storage §14); every reader of Zarr v3 does.
"""

from __future__ import annotations

from nczarr.capabilities import Capabilities, Format
from nczarr.formats.zarr.v3 import ARRAYS

FORMAT = Format(
    name="nczarr3",
    title="Zarr version 3 with netCDF-C's attributes and our extension",
    suffixes=(),
    spec="https://docs.unidata.ucar.edu/nug/current/nczarr_head.html",
    capabilities=Capabilities(arrays=ARRAYS),
    holds="nczarr.formats.zarr.nczarr3.frontend:holds",
    read="nczarr.formats.zarr.nczarr3.frontend:read",
    emit="nczarr.formats.zarr.nczarr3.backend:emit",
    second_reader="zarr",
)
