"""What a plan holds: `Planned`, the only thing that back ends accept.

`Planned` = a checked dataset + what the target loses of it + how every array will lie in the target. It is made by
`plan` alone, so a back end never meets a loss that nobody was told of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from nczarr import names
from nczarr.arrays.source import Layout, Parts
from nczarr.ast import Kind, Storage
from nczarr.capabilities import Format
from nczarr.check.checked import Checked
from nczarr.options import Options
from nczarr.source import NOWHERE, Span

Weight = Literal["value", "annotation"]
"""A value loss changes what a reader computes; an annotation loss does not."""

Runs = tuple[tuple[int, int], ...]
"""Run-length coded linear indices, C order: (first, count), ascending."""


class Loss(NamedTuple):
    """One thing that the target cannot hold: `kind` is a diagnostic code, `path` the FQN of what loses it."""

    kind: str
    weight: Weight
    path: str
    message: str
    span: Span = NOWHERE


class Target(NamedTuple):
    """How one part of a variable will lie in the target.

    `layout.fill` is None where the target declares no fill value; then every chunk is written, unless `sparse`.
    `pad` is one element in the source's bytes (for strings the text), which stands in every cell that was never
    written, the rest of edge chunks included. `sparse`: chunks that hold nothing but `pad` need not exist.
    `nil`: which strings are NIL. `utf8`: whether all strings are UTF-8. `apart`: for targets that hold references, how
    many bytes of values they have to hold themselves, about, and why; None: chunks can be referred to. `separator`:
    between the indices of a chunk's key; None: the format's own.
    """

    layout: Layout
    pad: bytes
    sparse: bool = True
    nil: Runs = ()
    utf8: bool = True
    apart: tuple[int, str] | None = None
    separator: str | None = None


class Planned(NamedTuple):
    """A dataset ready for one target. The mappings are by FQN of the variable, those of parts by path within.

    For chunked stores: `storage` is each variable's with the run's options worked in, `targets` has the layout of
    every part, `parts` the sources (none for a part that is all `pad`), `axes` the simple names of the dimensions as
    they stand in the variable's group: unique where two dimensions of different length would share one.
    For texts and single files these are empty. `kind` is that of the netCDF file to be made, None for any other target.
    `places`: paths in keys of the target, by FQN and path of the part, of nodes whose names are not segments of keys.
    """

    checked: Checked
    form: Format
    options: Options
    losses: tuple[Loss, ...] = ()
    storage: Mapping[str, Storage] = MappingProxyType({})
    targets: Mapping[str, Mapping[str, Target]] = MappingProxyType({})
    parts: Mapping[str, Parts] = MappingProxyType({})
    axes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    kind: Kind | None = None
    places: Mapping[tuple[str, str], str] = MappingProxyType({})

    def prefix(self, path: str, part: str = "") -> str:
        """What keys of a node begin with, by FQN and, of a part or a group between, by its path: empty for the root."""
        known = self.places.get((path, part))
        if known is not None:
            return known
        segments = (*names.split(path), part) if part else names.split(path)
        return "/".join((*segments, "")) if segments else ""
