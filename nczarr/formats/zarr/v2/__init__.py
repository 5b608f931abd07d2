"""Pure Zarr format 2, with xarray's `_ARRAY_DIMENSIONS`. Unsupported content is a loss."""

from __future__ import annotations

from nczarr.registry import PURE_ZARR, Arrays, Format

CODECS = frozenset({1, 2, 3, 307, 32001, 32015})
"""HDF5 filters with a name in Zarr v2: deflate, shuffle, fletcher32, bzip2, blosc, zstd."""

FORMAT = Format(
    name="zarr2",
    label="Zarr v2",
    title="Zarr format 2, with xarray's dimension names",
    suffixes=(),
    spec="https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html",
    capabilities=PURE_ZARR._replace(arrays=Arrays(codecs="hdf5", netcdf_char=True, elements=True, numpy_types=True)),
    holds="nczarr.formats.zarr.v2.frontend:holds",
    read="nczarr.formats.zarr.v2.frontend:read",
    emit="nczarr.formats.zarr.v2.backend:emit",
    second_reader="zarr",
    served=True,
)
