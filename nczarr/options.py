"""What a caller may ask of a run: one frozen value that passes through every phase.

A phase reads the members that concern it and no others; the defaults are what the command line gives when
no option is named. Contract: DESIGN §4 (options) and §5 (`write`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["nc3", "nc6", "nc5", "nc4", "nc7"]

KINDS: dict[str, Kind] = {
    spelling.lower(): kind
    for kind, spellings in {
        "nc3": ("1", "nc3", "classic"),
        "nc6": ("2", "nc6", "64-bit offset", "64-bit-offset"),
        "nc4": ("3", "nc4", "netCDF-4", "netCDF4", "hdf5", "enhanced"),
        "nc7": (
            "4", "nc7", "netCDF-4 classic model", "netCDF-4-classic", "netCDF-4_classic", "netCDF4_classic",
            "hdf5-nc3", "enhanced-nc3",
        ),
        "nc5": ("5", "nc5", "64-bit-data", "64-bit data", "cdf5", "cdf-5"),
    }.items()
    for spelling in spellings
}  # fmt: skip
"""Every spelling that ncgen takes after `-k`, in lower case, and the kind of file it means (cdl-language §7.5)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to read, plan and write.

    `kind`: check as if for this kind of netCDF file. `chunks`: chunk lengths by FQN of a variable, or by name of
    a dimension. `codecs`: a codec specification (`zlib:5`) by FQN, `""` for every variable. `allow_loss`: kinds of
    value loss that are warnings instead of errors; `all` names every one. `char_netcdf`: char arrays as only the
    netCDF library reads them.

    The last members concern texts: `header_only`, `coordinates_only`, `special` (virtual attributes too), data of
    certain `variables` and `groups` only, and the `name` that the dataset gets: the flags of `ncdump`.
    """

    kind: Kind | None = None
    chunks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    consolidated: bool = False
    char_netcdf: bool = False
    overwrite: bool = False
    allow_loss: frozenset[str] = frozenset()
    header_only: bool = False
    coordinates_only: bool = False
    special: bool = False
    variables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    name: str | None = None
