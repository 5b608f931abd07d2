"""Table of all codecs: the `CODECS` of every module of this folder, by name and by number."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nczarr.arrays import codecs as folder
from nczarr.arrays.codecs.codec_kind import LAST_HDF5, CodecKind


@cache
def kinds() -> tuple[CodecKind, ...]:
    """Return all codecs, in the order of their numbers; those without one last."""
    import pkgutil

    modules = (import_module(f"{folder.__name__}.{entry.name}") for entry in pkgutil.iter_modules(folder.__path__))
    listed: list[CodecKind] = [kind for module in modules for kind in getattr(module, "CODECS", ())]
    return tuple(sorted(listed, key=lambda kind: (kind.number is None, kind.number)))


@cache
def _by_config_id() -> dict[str, CodecKind]:
    return {kind.config_id: kind for kind in kinds()}


@cache
def _by_number() -> dict[int, CodecKind]:
    return {kind.number: kind for kind in kinds() if kind.number is not None}


def of_config_id(config_id: object) -> CodecKind | None:
    """Return the codec of a name in numcodecs, or None."""
    return _by_config_id().get(config_id) if isinstance(config_id, str) else None


def of_number(number: int) -> CodecKind | None:
    """Return the codec of a filter number, or None."""
    return _by_number().get(number)


@cache
def numbers() -> dict[str, int]:
    """Return the filter numbers of all codecs with a usual name, by that name."""
    return {kind.name: kind.number for kind in kinds() if kind.name and kind.number is not None}


@cache
def names() -> dict[int, str]:
    """Return the usual names of filter numbers."""
    return {number: name for name, number in numbers().items()}


@cache
def encoded(*, hdf5: bool) -> frozenset[int]:
    """Return the numbers of all codecs that encode chunks; `hdf5`: those only that HDF5 has a number for."""
    return frozenset(
        kind.number
        for kind in kinds()
        if kind.encodes and kind.number is not None and (kind.number <= LAST_HDF5 or not hdf5)
    )


def nameable(names_of_target: str) -> frozenset[int]:
    """Return the numbers of the codecs that a store can name (`Arrays.codecs`: `hdf5`, `all` or `none`)."""
    return frozenset() if names_of_target == "none" else encoded(hdf5=names_of_target == "hdf5")


@cache
def decoded_filters() -> frozenset[int]:
    """Return the numbers of the filters of HDF5 that are decoded."""
    return frozenset(
        kind.number for kind in kinds() if kind.decodes and kind.number is not None and kind.number <= LAST_HDF5
    )


def is_decoded(config_id: str) -> bool:
    """Return whether documents may name this codec: it only turns bytes into bytes, numbers or texts."""
    kind = of_config_id(config_id)
    return kind is not None and kind.decodes and not kind.changes_arrays


def is_registered(config_id: str) -> bool:
    """Return whether the registry of Zarr v3 has this codec."""
    kind = of_config_id(config_id)
    return kind is not None and kind.registered


def usage() -> str:
    """Return the codecs that `--codec` takes, with their levels, in two sentences for the help."""
    texts = [kind.usage() for kind in kinds() if kind.encodes]
    leveled = ", ".join(text for text in texts if "(" in text)
    plain = ", ".join(text for text in texts if "(" not in text)
    return f"Codecs, with levels: {leveled}. Without levels: {plain}. The level may be omitted."
