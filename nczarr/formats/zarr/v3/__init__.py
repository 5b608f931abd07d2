"""Pure Zarr version 3 with registered extensions and `dimension_names`. Unsupported content is a loss."""

from nczarr.registry import PURE_ZARR, Arrays, ChunkKeys, Display, Format, TargetTraits

DOCUMENT = "zarr.json"
"""Last segment of every metadata key."""

ARRAYS = Arrays(
    codecs="all",
    chunk_keys=ChunkKeys(separator="/", lead="c"),  # the specification's default encoding
    fill_needed=True,  # the specification demands a `fill_value`
    shards=True,
    documents=frozenset({DOCUMENT}),
    reserved="__",  # the specification reserves names that begin so
    nested_records=True,
    elements=True,
    numpy_types=True,
    registry=True,
    rectilinear=True,
)

FORMAT = Format(
    name="zarr3",
    title="Zarr version 3",
    suffixes=(),
    spec="https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html",
    capabilities=PURE_ZARR._replace(arrays=ARRAYS),
    holds="nczarr.formats.zarr.v3.frontend:holds",
    read="nczarr.formats.zarr.v3.frontend:read",
    emit="nczarr.formats.zarr.v3.backend:emit",
    target=TargetTraits(declares=("nz", "geo"), second_reader="zarr"),
    display=Display(label="Zarr v3", served=True),
)
