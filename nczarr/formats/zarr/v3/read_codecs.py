"""Reader of codec chains and other extension points in `zarr.json`; writers do not load it.

Shards may stand anywhere in a chain and have any inner chain; their index has
plain numbers, with an optional checksum.
"""

from typing import Any, NamedTuple

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import dtypes_of, in_order_of
from nczarr.arrays.codecs.sharding_indexed import shard_step
from nczarr.arrays.codecs.table import CodecKind, UnsupportedConfigurationError
from nczarr.arrays.codecs.transpose import transpose_step
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.rectilinear import Lengths, varies
from nczarr.formats.zarr.core.array_metadata import lengths
from nczarr.formats.zarr.core.fill_values import FAULTS, Json
from nczarr.formats.zarr.core.reader import BadDocumentError
from nczarr.formats.zarr.v3 import dtypes
from nczarr.formats.zarr.v3.codecs import NUMCODECS, config_of
from nczarr.names import list_first


class Chain(NamedTuple):
    """Codecs of an array, as members of `Encoding`."""

    steps: tuple[Json, ...]
    """Configurations of the codecs."""
    big: bool
    """True for big-endian elements."""
    texts: str = ""
    """Codec of texts; empty for other elements."""
    permutation: tuple[int, ...] | None = None
    """Array axes in storage order; None: unchanged."""
    inner: tuple[int, ...] | None = None
    """Shape of the inner chunks of shards; None without shards."""
    index_steps: tuple[Json, ...] = ()
    """Codecs of the index of shards."""
    index_first: bool = False
    """True if the index of a shard precedes its chunks."""


def split_name(written: Any, member: str) -> tuple[str, Json]:
    """Return name and configuration of an extension point; a text is a name alone.

    Raises BadDocumentError.
    """
    if isinstance(written, str):
        return written, {}  # Zarr v3 allows a name alone
    if isinstance(written, dict) and isinstance(written.get("name"), str):
        configuration = written.get("configuration", {})
        if isinstance(configuration, dict):
            return written["name"], configuration
    raise BadDocumentError(f"`{member}` has no name and configuration", member)


def read_chain(written: Any, chunks: tuple[int, ...], stored: Descr, *, inner: bool = False) -> Chain:
    """Parse the codecs of chunks with elements `stored`, little-endian. `inner`: codecs inside a shard.

    A single transpose and a single level of shards are members of the chain; in
    other chains they are steps. Raises BadDocumentError.
    """
    if not isinstance(written, list) or not written:
        raise BadDocumentError("the codecs are not a list", "codecs")
    steps = [split_name(codec, "codecs") for codec in written]
    if not all(_is_known(name) for name, _ in steps) and isinstance(stored, str):
        from nczarr.arrays.codecs.zarr_plugin import plugin_step

        _check_equal(chunks)
        plugin = plugin_step([name for name, _ in steps], written, chunks, stored)
        if plugin is not None:
            return Chain((plugin,), big=False)
    before: list[Json] = []
    permutation: tuple[int, ...] | None = None
    for number, (name, configuration) in enumerate(steps):
        lengths_now = chunks if permutation is None else tuple(chunks[axis] for axis in permutation)
        after = [config_of(step_name, parameters) for step_name, parameters in steps[number + 1 :]]
        match name:
            case "transpose":
                order = _read_permutation(configuration.get("order"), len(chunks))
                if order is not None and not before:
                    permutation = order if permutation is None else tuple(permutation[axis] for axis in order)
                elif order is not None:
                    _check_equal(lengths_now)
                    before.append(transpose_step(lengths_now, order))
                    chunks, permutation = tuple(lengths_now[axis] for axis in order), None
            case "bytes" | "vlen-utf8" | "vlen-bytes":
                ordered, big = in_order_of(before, big=configuration.get("endian") == "big")
                return Chain((*ordered, *after), big, name if name != "bytes" else "", permutation)
            case _ if name.removeprefix(NUMCODECS) in ARRAY_TO_BYTES:
                ordered, _ = in_order_of(before, big=False)
                packed = {"id": name.removeprefix(NUMCODECS), **configuration}
                return Chain((*ordered, packed, *after), big=False, permutation=permutation)
            case "sharding_indexed":
                return _read_sharded(configuration, lengths_now, stored, before, after, permutation, inner=inner)
            case _ if name.startswith(NUMCODECS) or name == "bitround":  # of zarrs
                before.append(config_of(name, configuration))
                stored = _find_stored_dtype(before[-1], stored)
            case _:
                kind = table.of_config_id(name)
                if kind is None or not kind.changes_arrays or not isinstance(stored, str) or stored[1] not in "iuf":
                    break
                before.append(_number_step(kind, configuration, stored))
                stored = before[-1]["stored"]
    raise BadDocumentError(_explain([name for name, _ in steps]), "codecs", "unreadable-array")


def _explain(chain: list[str]) -> str:
    """Return why a chain of codecs is not read: the codecs that are unknown, or their order."""
    unknown = [name for name in chain if not _is_known(name) or not (NUMCODECS in name or _is_registered(name))]
    if unknown:
        listed = list_first(unknown, 3)
        return f"codec {listed} is unknown" if len(unknown) == 1 else f"the codecs {listed} are unknown"
    return f"this chain of codecs is not supported: {list_first(chain, 8)}"


def _is_registered(name: str) -> bool:
    """Return whether a name without the prefix of numcodecs names a codec of Zarr v3."""
    kind = table.of_config_id(name)
    return name in STRUCTURAL | ARRAY_TO_BYTES or (kind is not None and (kind.registered or kind.changes_arrays))


ARRAY_TO_BYTES = frozenset({"zfpy", "pcodec"})
"""Codecs of numcodecs that stand in the place of `bytes`."""

STRUCTURAL = frozenset({"transpose", "bytes", "vlen-utf8", "vlen-bytes", "sharding_indexed"})
"""Codecs that are members of a chain."""


def _is_known(name: str) -> bool:
    """Return whether a codec of a document is read without plugins of zarr-python."""
    return name in STRUCTURAL or table.of_config_id(name.removeprefix(NUMCODECS)) is not None


def _divides(chunk: int, shard: int) -> bool:
    """Return whether a shard, or each of shards of different lengths, has whole chunks."""
    lengths = [length for length, _ in shard.runs] if isinstance(shard, Lengths) else [shard]
    return not any(length % chunk for length in lengths)


def _check_equal(chunks: tuple[int, ...]) -> None:
    """Raise BadDocumentError if chunks differ in shape, which a step of the chain has to know."""
    if varies(chunks):
        text = "this chain of codecs is not supported for chunks of different lengths"
        raise BadDocumentError(text, "codecs", "unreadable-array")


def _read_permutation(order: Any, rank: int) -> tuple[int, ...] | None:
    """Return the axes of `transpose`; None if it changes nothing. `C` and `F` are those of older documents."""
    if order == "C":  # an earlier specification had `C` and `F`
        return None
    axes = tuple(reversed(range(rank))) if order == "F" else lengths(order)
    if axes is None or sorted(axes) != list(range(rank)):
        raise BadDocumentError("the order of `transpose` is invalid", "codecs")
    return axes if axes != tuple(range(rank)) else None


def _read_sharded(
    configuration: Json,
    shard: tuple[int, ...],
    stored: Descr,
    before: list[Json],
    after: list[Json],
    permutation: tuple[int, ...] | None,
    *,
    inner: bool,
) -> Chain:
    """Return the chain of shards of this shape: read chunk by chunk, or as a step if other codecs surround them."""
    chunks = lengths(configuration.get("chunk_shape"), least=1)
    if chunks is None or len(chunks) != len(shard) or not all(map(_divides, chunks, shard)):
        raise BadDocumentError("the shape of a shard is not a multiple of its chunk shape", "codecs")
    location = configuration.get("index_location", "end")  # the specification's default
    index = configuration.get("index_codecs")
    steps = [split_name(codec, "codecs") for codec in index] if isinstance(index, list) else []
    if [name for name, _ in steps] not in (["bytes"], ["bytes", "crc32c"]) or location not in ("start", "end"):
        raise BadDocumentError("the index of the shards is not supported", "codecs", "unreadable-array")
    inside = read_chain(configuration.get("codecs"), chunks, stored, inner=True)
    endian = {"id": "bytes", "endian": steps[0][1].get("endian", "little")}
    index_steps = (endian, *({"id": "crc32c"} for _ in steps[1:]))
    if not inner and not before and not after and permutation is None:
        return inside._replace(inner=chunks, index_steps=index_steps, index_first=location == "start")
    _check_equal(shard)
    step = shard_step(
        shard, chunks, inside.steps, inside.permutation, itemsize(stored), index_steps, index_first=location == "start"
    )
    ordered, big = in_order_of(before, big=inside.big)
    return Chain((*ordered, step, *after), big, inside.texts, permutation)


def _find_stored_dtype(step: Json, stored: Descr) -> Descr:
    """Return the dtype, little-endian, in which a filter of numcodecs stores elements."""
    try:
        step_dtypes = dtypes_of(step)
    except FAULTS as fault:
        raise BadDocumentError(f"the dtypes of filter `{step['id']}`: {fault}", "codecs") from fault
    return stored if step_dtypes is None else step_dtypes[0].replace(">", "<")


def _number_step(kind: CodecKind, configuration: Json, stored: str) -> Json:
    """Return the step of a codec that changes numbers. Raises BadDocumentError."""

    def dtype(written: Any) -> Descr:
        try:
            return dtypes.descr(written)
        except FAULTS as fault:
            raise UnsupportedConfigurationError(f"`{kind.config_id}` to {fault}") from fault

    try:
        return kind.read(configuration, stored, _scalar, dtype)
    except UnsupportedConfigurationError as fault:
        raise BadDocumentError(str(fault), "codecs", "unreadable-array") from fault
    except FAULTS as fault:
        raise BadDocumentError(f"`{kind.config_id}`: {fault}", "codecs") from fault


def _scalar(written: Any, dtype: str) -> Any:
    return np.frombuffer(dtypes.fill_bytes(dtype, written), dtype)[0].item()
