"""Options of a combination, and lines about its sources: for the commands that join sources."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nczarr.options import COMBINATION, Option
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.plugins.combine.join import Combined, Recoding

OPTIONS: tuple[Option, ...] = (
    Option("decode_times", (), COMBINATION, "--decode-times",
           help="count the times of all sources in the `units` of the first: exactly, or the run ends"),
    Option("units", (), COMBINATION, "--units", "text", "UNITS",
           "count the times of all sources in these, `hours since 1970-01-01`; or convert values of variables whose "
           "units differ to UNITS (`K`), or with `majority` to those of most sources, or of an extended target; "
           "times then have those of the first", common=True),
    Option("join", (), COMBINATION, "--join", "text", None,
           "exact: variables and coordinates are equal in all sources; outer: variables of any source, on the union of "
           "all coordinates, where cells without a source are fill values; override: coordinates of the first source "
           "stand for all of the same length (default: exact)", ("exact", "outer", "override"), "exact", common=True),
    Option("sort", (), COMBINATION, "--sort",
           help="sort by the coordinate of the joined dimension, within sources too", common=True),
    Option("duplicates", (), COMBINATION, "--duplicates", "text", None,
           "rule for values of this coordinate that occur several times (default: error, with --sort or --join outer)",
           ("error", "first", "last"), common=True),
    Option("unsorted", (), COMBINATION, "--unsorted",
           help="keep the cells in the order of the sources if the coordinate of the joined dimension does not "
           "increase (default: an error)"),
    Option("repack", (), COMBINATION, "--repack",
           help="give sources with another type, packing, fill value, filters or chunks those of most sources, or of "
           "the target that is extended; only their values are encoded again", common=True),
)  # fmt: skip
"""Options of combinations, in the order of the help."""


def recoding_of(arguments: argparse.Namespace) -> Recoding | None:
    """Return how times are counted; None: as each source does."""
    from nczarr.plugins.combine.join import Recoding

    return Recoding(arguments.units) if arguments.units is not None or arguments.decode_times else None


def find_pattern(sources: list[str]) -> str | None:
    """Return a message on a source that is a pattern of file names in quotes; None without one."""
    for source in sources:
        if re.search(r"[*?[]", source) and not is_remote(source) and not os.path.lexists(source):
            return f"`{source}` is no file: the shell expands patterns only if they match and are not in quotes"
    return None


def list_sources(combination: Combined, form: str) -> Iterator[str]:
    """Return lines about the sources of a combination, which were compared one by one, as text or `json`."""
    return _list_json(combination) if form == "json" else _list_text(combination)


def _list_text(combination: Combined) -> Iterator[str]:
    """Yield the sources in order, one a line, each with its first index and length."""
    from nczarr.diagnostics.render import visible

    for path, lengths in combination.lengths.items():
        total = combination.totals[path]
        yield f"`{visible(path)}`: {len(lengths)} source{'s' * (len(lengths) != 1)}, {total} in all\n"
        begin, width = 0, len(str(max(total, *lengths)))
        for name, length in zip(combination.names, lengths, strict=True):
            first = " " * width if combination.is_placed else f"{begin:{width}}"  # cells have no common first index
            yield f"{first}  {length:{width}}  {visible(name)}\n"
            begin += length
    if not combination.lengths:
        yield f"{len(combination.names)} sources\n"
        width = len(str(len(combination.names)))
        yield from (f"{number:{width}}  {visible(name)}\n" for number, name in enumerate(combination.names))


def _list_json(combination: Combined) -> Iterator[str]:
    """Yield the sources as JSON lines."""
    lengths = combination.lengths.items()
    for number, name in enumerate(combination.names):
        members = {"source": name, "lengths": {path: every[number] for path, every in lengths}}
        yield json.dumps(members, ensure_ascii=False) + "\n"
