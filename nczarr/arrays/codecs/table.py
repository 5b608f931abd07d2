"""Table of all codecs, by name and by number. A codec is loaded when it is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nczarr.arrays.codecs.codec_kind import ROWS, CodecKind
from nczarr.ast.storage import LAST_HDF5

_CONFIG_IDS = {row.number: config_id for config_id, row in ROWS.items() if row.number is not None}
"""Names in numcodecs by filter number."""


def of_config_id(config_id: object) -> CodecKind | None:
    """Return the codec of a name in numcodecs, or None."""
    return _load(config_id) if isinstance(config_id, str) and config_id in ROWS else None


@cache
def _load(config_id: str) -> CodecKind:
    module = import_module(f"nczarr.arrays.codecs.{ROWS[config_id].module}")
    kinds_of_module: tuple[CodecKind, ...] = module.CODECS
    return next(kind for kind in kinds_of_module if kind.config_id == config_id)


def of_number(number: int) -> CodecKind | None:
    """Return the codec of a filter number, or None."""
    return of_config_id(_CONFIG_IDS.get(number))


def kinds() -> tuple[CodecKind, ...]:
    """Return all codecs, in the order of their numbers; those without one last."""
    return tuple(map(_load, ROWS))


@cache
def encoded(*, hdf5: bool) -> frozenset[int]:
    """Return the numbers of all codecs that encode chunks; `hdf5`: those only that HDF5 has a number for."""
    return frozenset(
        row.number
        for row in ROWS.values()
        if row.encodes and row.number is not None and (row.number <= LAST_HDF5 or not hdf5)
    )


def nameable(names_of_target: str) -> frozenset[int]:
    """Return the numbers of the codecs that a store can name (`Arrays.codecs`: `hdf5`, `all` or `none`)."""
    return frozenset() if names_of_target == "none" else encoded(hdf5=names_of_target == "hdf5")


@cache
def decoded_filters() -> frozenset[int]:
    """Return the numbers of the filters of HDF5 that are decoded."""
    return frozenset(
        row.number for row in ROWS.values() if row.decodes and row.number is not None and row.number <= LAST_HDF5
    )


def is_decoded(config_id: str) -> bool:
    """Return whether documents may name this codec: it only turns bytes into bytes, numbers or texts."""
    kind = of_config_id(config_id)
    return kind is not None and ROWS[kind.config_id].decodes and not kind.changes_arrays


def is_registered(config_id: str) -> bool:
    """Return whether the registry of Zarr v3 has this codec."""
    kind = of_config_id(config_id)
    return kind is not None and kind.registered


def usage() -> str:
    """Return the codecs that `--codec` takes, with their levels, in two sentences for the help."""
    texts = [kind.usage() for kind in kinds() if ROWS[kind.config_id].encodes]
    leveled = ", ".join(text for text in texts if "(" in text)
    plain = ", ".join(text for text in texts if "(" not in text)
    return f"Codecs, with levels: {leveled}. Without levels: {plain}. The level may be omitted."
