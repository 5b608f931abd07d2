"""Table of formats, and detection of the format of a source or target.

Rows are lazy strings: naming a format imports only its few lines of `FORMAT`,
and reading or writing loads only the used one. Other packages join by the
entry-point group `nczarr.formats`, whose entries name a `Format`; two formats
of one name are an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any

from nczarr.capabilities import Format
from nczarr.source import HEAD
from nczarr.stores.base import Store

ROWS: dict[str, str] = {
    "cdl": "nczarr.formats.cdl:FORMAT",
    "notation": "nczarr.formats.notation:FORMAT",
    "ast": "nczarr.formats.ast_json:FORMAT",
    "netcdf": "nczarr.formats.netcdf:FORMAT",
    "netcdf4": "nczarr.formats.netcdf4:FORMAT",
    "netcdf3": "nczarr.formats.netcdf3:FORMAT",
    "reference": "nczarr.formats.reference:FORMAT",
    "icechunk": "nczarr.formats.icechunk:FORMAT",
    "nczarr": "nczarr.formats.zarr.nczarr:FORMAT",
    "zarr2": "nczarr.formats.zarr.v2:FORMAT",
    "zarr3": "nczarr.formats.zarr.v3:FORMAT",
    "nczarr3": "nczarr.formats.zarr.nczarr:FORMAT3",
    "zarr3-2019": "nczarr.formats.zarr.draft2019:FORMAT",
    "awkward0": "nczarr.formats.awkward0:FORMAT",
    "ncstream": "nczarr.formats.ncstream:FORMAT",
    "dmrpp": "nczarr.formats.dmrpp:FORMAT",
    "dap2": "nczarr.formats.dap2:FORMAT",
    "dap4": "nczarr.formats.dap4:FORMAT",
}
"""Our formats by name, in the order of documentation and detection."""

STORE, FILE, REFERENCE, REPOSITORY = "nczarr", "netcdf", "reference", "icechunk"
"""Formats of a store, a netCDF file, references and a repository by default."""

MODES = {"zarr": "zarr2", "nczarr": "nczarr"}
"""Formats by mode of a netCDF URL; the first mode decides."""

GROUP = "nczarr.formats"

_joined: dict[str, str] | None = None


class DuplicateFormatError(ValueError):
    """A format of an installed package with a name that is taken."""


def load(row: str) -> Any:
    """Return the object of a lazy string `module:name`. Raises ImportError or AttributeError."""
    module, _, name = row.partition(":")
    return getattr(import_module(module), name)


def rows() -> dict[str, str]:
    """Return our rows and those of installed packages. Raises DuplicateFormatError."""
    global _joined
    if _joined is None:
        from importlib.metadata import entry_points  # slow to import: only when our own rows are not enough

        _joined = join(ROWS, ((entry.name, entry.value) for entry in entry_points(group=GROUP)))
    return _joined


def join(built_in: dict[str, str], others: Iterator[tuple[str, str]]) -> dict[str, str]:
    """Merge both tables. Raises DuplicateFormatError for a repeated name."""
    table = dict(built_in)
    for name, row in sorted(others):
        if name in table:
            raise DuplicateFormatError(f"format {name!r} is defined twice: by {table[name]} and by {row}")
        table[name] = row
    return table


def named(name: str) -> Format | None:
    """Return the format of this name, or None."""
    row = ROWS.get(name) or rows().get(name)
    form: Format | None = None if row is None else load(row)
    return form


def having(field: str) -> tuple[str, ...]:
    """Return the names of our formats whose row has a field."""
    return tuple(name for name, row in ROWS.items() if getattr(load(row), field))


def of_modes(modes: Collection[str]) -> str | None:
    """Return the name of the format for a URL's modes, or None."""
    return next((name for mode, name in MODES.items() if mode in modes), None)


def formats() -> Iterator[Format]:
    """Yield every format, ours first."""
    for row in rows().values():
        yield load(row)


def for_target(path: str) -> Format | None:
    """Return the format of a target by its longest matching suffix, or None."""
    return next((form for table in _tables() if (form := _by_suffix(path, table, writing=True))), None)


def detect(name: str, head: bytes) -> Format | None:
    """Return the format of a source by its first bytes, else by the suffix of its name."""
    for table in _tables():
        for row in table.values():
            candidate: Format = load(row)
            if (
                candidate.readable
                and candidate.detects
                and re.match(candidate.detects.encode(), head[:HEAD], re.DOTALL)
            ):
                return candidate
        form = _by_suffix(name, table, writing=False)
        if form is not None:
            return form
    return None


def detect_store(store: Store, *, opened: bool = False) -> Format | None:
    """Return a store's format by keys and root documents; `opened`: without representing formats. Raises OSError."""
    for table in _tables():
        for row in table.values():
            candidate: Format = load(row)
            if candidate.opens if opened else not candidate.readable:
                continue
            if candidate.holds and load(candidate.holds)(store):
                return candidate
    return None


def _tables() -> Iterator[dict[str, str]]:
    """Yield our rows, then, only on demand, those of others."""
    yield ROWS
    yield {name: row for name, row in rows().items() if name not in ROWS}


def _by_suffix(path: str, table: dict[str, str], *, writing: bool) -> Format | None:
    best: tuple[int, Format] | None = None
    for row in table.values():
        candidate: Format = load(row)
        if not (candidate.writable if writing else candidate.opens or (candidate.read and not candidate.holds)):
            continue  # a file is no store, whatever its suffix
        length = max((len(suffix) for suffix in candidate.suffixes if path.lower().endswith(suffix)), default=0)
        if length and (best is None or length > best[0]):
            best = length, candidate
    return best[1] if best else None
