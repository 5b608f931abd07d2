"""Decoding of chunks by steps in numcodecs' form; only harmless codecs are allowed.

Each step names a codec of `table.py`. Codecs that run code (`pickle`) or make
objects are not among them. Output is bounded by the expected chunk size.
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Sequence

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.bounds import LARGEST, SLACK
from nczarr.arrays.codecs.table import ROWS, Config, Step
from nczarr.arrays.lazy_numpy import np

DECODING_ERRORS = (
    ValueError, TypeError, RuntimeError, EOFError, KeyError, IndexError, OverflowError, AssertionError, ImportError,
    MemoryError, struct.error, zlib.error, lzma.LZMAError, BufferError,
)  # fmt: skip
"""Exceptions of decoders for invalid bytes or configurations."""


def decoded(data: bytes, steps: Sequence[Config], itemsize: int, size: int | None) -> bytes:
    """Undo all steps, those that change arrays included. Raises one of `DECODING_ERRORS`.

    `itemsize`: bytes of a decoded element; `size`: approximate decoded bytes, None
    if unknown.
    """
    limit = LARGEST if size is None else 2 * size + SLACK
    for step in reversed(steps):
        kind = table.of_config_id(step.get("id"))
        if kind is None or not ROWS[kind.config_id].decodes:
            raise ValueError(f"codec `{step.get('id')}` is unknown")
        data = kind.decode(data, step, itemsize, limit)
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
