"""nccopy's options for chunks and compression: `-d N`, `-s`, `-c time/10,lat/20`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.cli.parser import CHUNKS, SELECTION, Command
from nczarr.cli.targets import positive

if TYPE_CHECKING:
    from nczarr.check.checked import Checked

WHOLE = 0
"""Marker for the whole length of a dimension."""


def add_nccopy_options(subparser: Command) -> None:
    """Add nccopy's options."""
    subparser.option(
        CHUNKS,
        "-d",
        dest="level",
        type=_level,
        metavar="N",
        help="deflate at level 1 to 9, or 0 for no codecs (nccopy)",
    )
    subparser.option(
        CHUNKS, "-s", dest="shuffle", action="store_true", help="shuffle bytes before deflating, with -d (nccopy)"
    )
    subparser.option(
        CHUNKS,
        "-c",
        dest="chunkspecs",
        action="append",
        default=[],
        metavar="SPEC",
        help="chunk lengths by dimension (time/10,lat/20; lon/ for all of it) or of one variable (/g1/temp:1,12) "
        "(nccopy); repeatable",
    )
    subparser.option(
        SELECTION, "-u", dest="fixed", action="store_true", help="make unlimited dimensions fixed (nccopy)"
    )


def _level(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) == 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a level; write 0 to 9")
    return int(text)


def codec_of(level: int | None, *, shuffle: bool) -> str | None:
    """Return the codec specification of `-d` and `-s`, or None. Raises ValueError for `-s` alone."""
    if not level:
        if shuffle:
            raise ValueError("-s: shuffling alone does not compress; give a level with `-d`, or `--codec shuffle`")
        return None if level is None else "none"
    return f"shuffle+zlib:{level}" if shuffle else f"noshuffle+zlib:{level}"


def chunk_lengths(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return chunk lengths by name: `time/10,lat/`, `/g/v:1,12`. Raises ValueError for other texts."""
    text = f"-c {spec}"
    variable, colon, lengths = spec.rpartition(":")
    if colon:
        pair = (
            variable if variable.startswith("/") else f"/{variable}",
            tuple(positive(length, text) for length in lengths.split(",")),
        )
        if not variable:
            raise ValueError(f"{text}: write DIMENSION/LENGTH,… or VARIABLE:LENGTH,…")
        return [pair]
    lengths_by_name: list[tuple[str, tuple[int, ...]]] = []
    for item in spec.split(","):
        name, slash, length = item.rpartition("/")
        if not (name and slash):
            raise ValueError(f"{text}: write DIMENSION/LENGTH,… or VARIABLE:LENGTH,…")
        lengths_by_name.append((name, (positive(length, text) if length else WHOLE,)))
    return lengths_by_name


def whole_lengths(chunks: Mapping[str, tuple[int, ...]], checked: Checked) -> dict[str, tuple[int, ...]]:
    """Return the chunk lengths with `WHOLE` replaced by the longest dimension of that name."""
    lengths_by_name = dict(chunks)
    for name, lengths in chunks.items():
        if lengths == (WHOLE,):
            sizes = [node.size for fqn, node in checked.dimensions.items() if name in (fqn, names.last(fqn))]
            lengths_by_name[name] = (max([1, *sizes]),)
    return lengths_by_name
