"""Chains of codecs: the neutral chain of `ast/dataset.py`, its other forms, its encoding and decoding.

A chain is a tuple of `Codec` (HDF5 filter number and parameters) in encoding
order. `table.py` has the codecs. `from_configs` inverts `to_configs`, so that a
reader can check that the plain form is complete. All encoders release the GIL.
"""

import re
import struct
import zlib
from collections.abc import Mapping, Sequence

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.lengths import LARGEST, SLACK
from nczarr.arrays.codecs.table import ROWS, CodecKind, Config, LeveledCodec, Step
from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import BLOSC, DEFLATE, FILTER_NAMES, FILTER_NUMBERS, GZIP, LAST_HDF5, SHUFFLE, Codec

DECODING_ERRORS = (
    ValueError, TypeError, RuntimeError, EOFError, KeyError, IndexError, OverflowError, AssertionError, ImportError,
    MemoryError, struct.error, zlib.error, BufferError,
)  # fmt: skip
"""Exceptions of decoders for invalid bytes or configurations."""


def decode(data: bytes, steps: Sequence[Config], itemsize: int, size: int | None) -> bytes:
    """Undo all steps, those that change arrays included. Raises one of `DECODING_ERRORS`.

    `itemsize`: bytes of a decoded element; `size`: approximate decoded bytes, None
    if unknown.
    """
    limit = LARGEST if size is None else 2 * size + SLACK
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        kind = table.of_config_id(step.get("id"))
        if kind is None or not ROWS[kind.config_id].decodes:
            raise ValueError(f"codec `{step.get('id')}` is unknown")
        is_sized = size is not None and (place == 0 or (place == 1 and steps[0].get("id") == "shuffle"))
        whole = kind.decode_whole(data, size or 0) if is_sized else None
        data = kind.decode(data, step, itemsize, limit) if whole is None else whole
    return data


def dtypes_of(step: Config) -> tuple[str, str] | None:
    """Return the stored and the decoded dtype of a step that names dtypes, else None.

    Raises ValueError or TypeError for a dtype that is not of numbers.
    """
    kind = table.of_config_id(step.get("id"))
    pair = None if kind is None else kind.dtypes(step)
    if pair is None:
        return None
    stored, decoded = (np.dtype(name) if isinstance(name, str) else np.dtype("V") for name in pair)
    if stored.kind not in "biufc" or decoded.kind not in "biufc":
        raise ValueError(f"codec `{step['id']}` does not have dtypes of numbers")
    return stored.str, decoded.str


def in_order_of(steps: Sequence[Step], *, big: bool) -> tuple[tuple[Step, ...], bool]:
    """Return the steps with swaps of bytes where neighbours differ in byte order, and whether decoded elements are big.

    `big`: the byte order of the stored elements. A step that names dtypes reads and makes the byte order of these.
    """
    ordered_steps: list[Step] = []
    for step in reversed(steps):
        dtypes = dtypes_of(step)
        if dtypes is not None:
            stored, decoded = dtypes
            if stored[0] == ("<" if big else ">"):
                ordered_steps.append({"id": "byteswap", "dtype": stored})
            big = decoded[0] == ">"
        ordered_steps.append(step)
    return tuple(reversed(ordered_steps)), big


def with_fill(steps: Sequence[Step], fill: bytes) -> tuple[Step, ...]:
    """Return the steps with the fill value of shards: one stored element, or a text, before encoding.

    Raises ValueError if a step cannot encode it.
    """
    filled_steps: list[Step] = []
    for step in steps:
        kind = table.of_config_id(step.get("id"))
        if kind is not None:
            step, fill = kind.with_fill(step, fill)
        filled_steps.append(step)
    return tuple(filled_steps)


def expressible(codecs: Sequence[Codec], supported: frozenset[int] | None = None) -> bool:
    """Return whether a target with these filters can express the whole chain, parameters included.

    `supported`: numbers of filters; by default those of HDF5 that are encoded.
    """
    if supported is None:
        supported = table.list_encoded(hdf5=True)
    return all(codec.id in supported and _is_valid(codec) for codec in codecs)


def find_fault(codec: Codec) -> str | None:
    """Return why no encoder takes the level of a declared codec; None if one may."""
    kind = table.of_number(codec.id)
    if not isinstance(kind, table.LeveledCodec) or kind.is_valid(codec.parameters[:1]):
        return None
    level, (lowest, highest) = codec.parameters[0], kind.levels
    is_negative = level >= 1 << 31  # as zstd's negative levels are stored
    return None if is_negative else f"`{codec.name}` has the levels {lowest} to {highest}, not {level}"


def _is_valid(codec: Codec) -> bool:
    kind = table.of_number(codec.id)
    return kind is None or kind.is_valid(codec.parameters)


def number_of(config_id: str) -> int | None:
    """Return the filter number of a usual name, or of a codec that encodes by its name in numcodecs; else None."""
    row = ROWS.get(config_id)
    number = FILTER_NUMBERS.get(config_id) or (None if row is None else row.number)
    return number if number in FILTER_NAMES or (row is not None and row.encodes) else None


def level_of(codec: Codec) -> int:
    """Return the compression level of a codec that has one as its only parameter."""
    kind = table.of_number(codec.id)
    assert isinstance(kind, LeveledCodec)
    return kind.level(codec.parameters)


def same_bytes(one: Sequence[Codec], other: Sequence[Codec], itemsize: int) -> bool:
    """Return whether two chains produce the same bytes, except for compressor versions.

    HDF5's internal parameters of shuffle, fletcher32 and blosc do not count.
    """
    return [*map(_essence, drop_no_ops(one, itemsize))] == [*map(_essence, drop_no_ops(other, itemsize))]


def drop_no_ops(codecs: Sequence[Codec], itemsize: int) -> tuple[Codec, ...]:
    """Return the chain without no-ops: a shuffle of one-byte items."""
    return tuple(codec for codec in codecs if codec.id != SHUFFLE or itemsize != 1)


def _essence(codec: Codec) -> tuple[int, ...]:
    """Return the properties of a step that determine its output."""
    kind = table.of_number(codec.id)
    return (codec.id, *(codec.parameters if kind is None else kind.essence(codec.parameters)))


def portable(codecs: Sequence[Codec], itemsize: int) -> tuple[Codec, ...]:
    """Return the chain in an order that numcodecs can decode: shuffle before steps that change the length.

    HDF5 leaves a partial element at the end of a chunk unshuffled, but
    numcodecs refuses such a chunk. So only checksums that add whole elements
    may precede shuffle.
    """
    chain = list(codecs)
    for place, codec in enumerate(codecs):
        before = codecs[:place]
        if codec.id == SHUFFLE and before and not _adds_items(before, itemsize):
            chain.remove(codec)
            chain.insert(0, codec)
    return tuple(chain)


def _adds_items(codecs: Sequence[Codec], itemsize: int) -> bool:
    """Return whether codecs add a number of whole items to every chunk."""
    added = [None if kind is None else kind.length_added for kind in (table.of_number(codec.id) for codec in codecs)]
    return all(added) and sum(length or 0 for length in added) % max(1, itemsize) == 0


def nearest(codecs: Sequence[Codec], supported: frozenset[int]) -> tuple[Codec, ...]:
    """Return the chain for a target with these codecs; deflate replaces an unknown gzip."""
    return tuple(_nearest(codec, supported) for codec in codecs)


def _nearest(codec: Codec, supported: frozenset[int]) -> Codec:
    kind = table.of_number(codec.id)
    if codec.id in supported or kind is None or kind.substitute is None:
        return codec
    return Codec(id=kind.substitute, parameters=codec.parameters)


def register_chain(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """Return the chain in codecs of the registry of Zarr v3, which decode to the same bytes.

    Deflate becomes gzip, and bzip2 zstd; behind a shuffle both, and zstd, become
    blosc. Fletcher32 becomes crc32c.
    """
    replacements = {number: kind for kind in table.kinds() for number in kind.stands_for}
    chain: list[Codec] = []
    for codec in codecs:
        kind, replacement = table.of_number(codec.id), replacements.get(codec.id)
        if chain and chain[-1].id == SHUFFLE and kind is not None and kind.blosc_compressor:
            chain[-1] = _blosc_of(kind.blosc_compressor, min(9, level_of(codec)))
        elif replacement is not None and replacement.number is not None:
            chain.append(Codec(id=replacement.number, parameters=replacement.stand_in(codec.parameters)))
        else:
            chain.append(codec)
    return tuple(_blosc_of("lz4", 1) if codec.id == SHUFFLE else codec for codec in chain)


def _blosc_of(compressor: str, level: int) -> Codec:
    from nczarr.arrays.codecs.blosc import parameters_of

    return Codec(id=BLOSC, parameters=parameters_of(compressor, level))


def of_hdf5(codecs: Sequence[Codec]) -> tuple[Codec, ...]:
    """Return the chain for HDF5, which has none of our own codecs: deflate for gzip, and no crc32c."""
    return tuple(codec for codec in nearest(codecs, table.list_encoded(hdf5=True)) if codec.id <= LAST_HDF5)


def to_configs(codecs: Sequence[Codec], itemsize: int) -> list[Step]:
    """Return numcodecs configurations in encoding order. Expects `expressible(codecs)`. `itemsize`: for shuffle."""
    return [_kind(codec).config(codec.parameters, itemsize) for codec in codecs]


def _kind(codec: Codec) -> CodecKind:
    kind = table.of_number(codec.id)
    if kind is None:
        raise ValueError(f"no numcodecs name for filter {codec.id}")
    return kind


def from_configs(configs: Sequence[Step]) -> tuple[Codec, ...] | None:
    """Return the neutral chain of numcodecs configurations; None if one has no number."""
    codecs = []
    for config in configs:
        kind = table.of_config_id(config.get("id"))
        if kind is None or kind.number is None or not (ROWS[kind.config_id].encodes or ROWS[kind.config_id].carried):
            return None
        parameters = kind.parameters(config)
        if parameters is None:
            return None
        codecs.append(Codec(id=kind.number, parameters=parameters))
    return tuple(codecs)


NO_SHUFFLE = "noshuffle+"
"""Beginning of a specification without shuffle, also where that helps."""


def parse(text: str) -> tuple[Codec, ...]:
    """Return the chain of a `--codec` specification. Raises ValueError with an explanation.

    `none`, or steps joined by `+` in encoding order: `zlib:5`,
    `shuffle+zlib:5`, `zstd:3`, `bz2:9`, `blosc:lz4:5`, `fletcher32`, `gzip:5`,
    `crc32c`. Levels are optional. `noshuffle` before a compressor has no step.
    """
    if text == "none":
        return ()
    return tuple(_parse_step(step) for step in text.removeprefix(NO_SHUFFLE).split("+"))


FAST = re.compile(r"\b(zlib|deflate|gzip):fast\b")
"""Deflate at level 1 by ISA-L, which any reader takes."""


def without_fast(text: str) -> str:
    """Return a specification with level 1, as documents state it, where it asks for the fast encoder."""
    return FAST.sub(r"\1:1", text)


def is_fast(specifications: Mapping[str, str], path: str) -> bool:
    """Return whether the specification of a variable, or of all (`""`), asks for the fast encoder."""
    return bool(specifications) and FAST.search(specifications.get(path, specifications.get("", ""))) is not None


def is_bare(chain: Sequence[Codec], text: str) -> bool:
    """Return whether a specification names one compressor alone, before which numbers are shuffled."""
    kind = table.of_number(chain[0].id) if len(chain) == 1 else None
    return kind is not None and kind.gains_by_shuffle and not text.startswith(NO_SHUFFLE)


def _parse_step(step: str) -> Codec:
    name, *arguments = step.split(":")
    encoded = table.list_encoded(hdf5=False)
    number = number_of(name)
    if number is None or number not in encoded:
        config_ids = [config_id for config_id, row in ROWS.items() if row.encodes]
        words = {*config_ids, *(FILTER_NAMES[number] for number in encoded.intersection(FILTER_NAMES))}
        raise ValueError(f"unknown codec `{name}`; known codecs are {', '.join(sorted(words))} and none")
    return Codec(id=number, parameters=_kind(Codec(id=number)).parse(arguments))


def encode(codecs: Sequence[Codec], data: bytes, itemsize: int, *, fast: bool = False) -> bytes:
    """Return the encoded bytes of one chunk. Expects `expressible(codecs)`. `fast`: deflate by ISA-L."""
    for codec in codecs:
        kind = _kind(codec)
        if fast and isinstance(kind, LeveledCodec) and codec.id in (DEFLATE, GZIP):
            data = kind.encode_fast(data)
        else:
            data = kind.encode(data, codec.parameters, itemsize)
    return data
