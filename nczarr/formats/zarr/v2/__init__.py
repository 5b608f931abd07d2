"""Pure Zarr format 2, with xarray's `_ARRAY_DIMENSIONS`. Unsupported content is a loss."""

from nczarr.registry import PURE_ZARR, Arrays, Display, Format, TargetTraits

CODECS = frozenset({1, 2, 3, 307, 32001, 32015})
"""HDF5 filters with a name in Zarr v2: deflate, shuffle, fletcher32, bzip2, blosc, zstd."""

FORMAT = Format(
    name="zarr2",
    title="Zarr format 2, with xarray's dimension names",
    suffixes=(),
    spec="https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html",
    capabilities=PURE_ZARR._replace(
        arrays=Arrays(codecs="hdf5", netcdf_char=True, elements=True, numpy_types=True, orders=True, separators=True)
    ),
    holds="nczarr.formats.zarr.v2.frontend:holds",
    read="nczarr.formats.zarr.v2.frontend:read",
    emit="nczarr.formats.zarr.v2.backend:emit",
    target=TargetTraits(second_reader="zarr"),
    display=Display(label="Zarr v2", served=True),
)
