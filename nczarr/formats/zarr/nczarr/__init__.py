"""NCZarr for the netCDF library 4.9.3 and later, with an extension for all else; and the same on Zarr v3.

No release of the netCDF library reads the latter yet, but every reader of Zarr
v3 does.
"""

from nczarr.formats.zarr.v3 import ARRAYS
from nczarr.registry import Arrays, Capabilities, Display, Format, TargetTraits

FORMAT = Format(
    name="nczarr",
    title="NCZarr: Zarr format 2 with netCDF-C's metadata and our extension",
    suffixes=(".zarr", ".zip"),
    spec="https://docs.unidata.ucar.edu/nug/current/nczarr_head.html",
    capabilities=Capabilities(
        json_attributes="any", arrays=Arrays(codecs="hdf5", fixed_strings=True, netcdf_char=True)
    ),
    holds="nczarr.formats.zarr.nczarr.frontend:holds",
    read="nczarr.formats.zarr.nczarr.frontend:read",
    emit="nczarr.formats.zarr.nczarr.backend:emit",
    target=TargetTraits(second_reader="zarr"),
    display=Display(label="NCZarr, Zarr v2"),
)

FORMAT3 = Format(
    name="nczarr3",
    title="Zarr version 3 with netCDF-C's attributes and our extension",
    suffixes=(),
    spec=FORMAT.spec,
    capabilities=Capabilities(json_attributes="any", arrays=ARRAYS),
    holds="nczarr.formats.zarr.nczarr.frontend:holds3",
    read="nczarr.formats.zarr.nczarr.frontend:read3",
    emit="nczarr.formats.zarr.nczarr.backend3:emit",
    target=TargetTraits(second_reader="zarr"),
    display=Display(label="NCZarr, Zarr v3"),
)
