"""Writer of the `codecs` chain in `zarr.json`.

All readers support the registered `gzip`, `zstd`, `blosc` and `crc32c`.
Deflate, shuffle, fletcher32 and bzip2 have only zarr-python's names, such as
`numcodecs.zlib`, which xarray reads too, but not tensorstore. Deflate is not
written as `gzip`, so that chunk bytes stay those of HDF5.
"""

from collections.abc import Sequence

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.codecs.table import Step
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.ast.dataset import ZARR_PLUGIN
from nczarr.formats.zarr.core.fill_values import Json

NUMCODECS = "numcodecs."
"""zarr-python's prefix for numcodecs codecs outside of the specification."""

INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
"""Codecs of a shard index."""


def chain(
    descr: Descr, codecs: Sequence[Codec], inner: tuple[int, ...] | None = None, *, utf8: bool = True
) -> list[Json]:
    """Return the `codecs` member: array to bytes, then bytes to bytes; in a shard with `inner` chunks."""
    size = itemsize(descr)
    if codecs and codecs[0].id == ZARR_PLUGIN:
        return list(to_configs(codecs, size)[0]["codecs"])
    steps = [to_bytes(descr, utf8=utf8)]
    steps += [step_of(config, size) for config in to_configs(codecs, size)]
    if inner is None:
        return steps
    configuration = {"chunk_shape": inner, "codecs": steps, "index_codecs": INDEX, "index_location": "end"}
    return [{"name": "sharding_indexed", "configuration": configuration}]


def to_bytes(descr: Descr, *, utf8: bool) -> Json:
    """Return the step that makes bytes of elements."""
    if descr == "|O":
        return {"name": "vlen-utf8" if utf8 else "vlen-bytes"}
    if isinstance(descr, str) and (itemsize(descr) == 1 or descr[1] in "SV"):  # bytes have no order
        return {"name": "bytes"}  # Zarr v3: single bytes have no `endian`
    endian = "big" if isinstance(descr, str) and descr[0] == ">" else "little"
    return {"name": "bytes", "configuration": {"endian": endian}}


def step_of(config: Step, size: int) -> Json:
    """Return one bytes-to-bytes step for a numcodecs configuration."""
    kind = table.of_config_id(config["id"])
    assert kind is not None
    configuration = kind.zarr3_configuration(config, size)
    name = kind.config_id if kind.registered else NUMCODECS + kind.config_id
    return {"name": name, "configuration": configuration} if configuration or not kind.registered else {"name": name}


def config_of(name: str, configuration: Json) -> Step:
    """Return the numcodecs configuration of a step."""
    kind = table.of_config_id(name)
    if kind is None:
        return {"id": name.removeprefix(NUMCODECS), **configuration}
    return dict(kind.from_zarr3(configuration))
