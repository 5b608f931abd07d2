"""nccopy's options for chunks and compression: `-d N`, `-s`, `-c time/10,lat/20`."""

from __future__ import annotations

import argparse

from nczarr.cli.parser import CHUNKS, SELECTION, Command
from nczarr.cli.targets import positive
from nczarr.options import WHOLE


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
