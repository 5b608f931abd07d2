"""NCZarr as the netCDF library 4.9.3 and later reads it, with an extension for all that it cannot hold."""

from __future__ import annotations

from nczarr.capabilities import Arrays, Capabilities, Format
from nczarr.formats.zarr.v2 import CODECS

FORMAT = Format(
    name="nczarr",
    title="NCZarr: Zarr format 2 with netCDF-C's metadata and our extension",
    suffixes=(".zarr", ".zip"),
    spec="https://docs.unidata.ucar.edu/nug/current/nczarr_head.html",
    capabilities=Capabilities(arrays=Arrays(codecs=CODECS, fixed_strings=True, netcdf_char=True)),
    holds="nczarr.formats.zarr.nczarr.frontend:holds",
    read="nczarr.formats.zarr.nczarr.frontend:read",
    emit="nczarr.formats.zarr.nczarr.backend:emit",
    second_reader="zarr",
)
