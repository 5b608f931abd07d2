"""Options of commands that write a target."""

from __future__ import annotations

import argparse

from nczarr.cli.shared import following_of, kind, loss, size, storage_of, workers
from nczarr.options import DEFAULT_MAX_SIZE, DEFAULT_MEMORY, Options, Writing
from nczarr.registry import REFERENCE, ROWS, load

METADATA: tuple[str, ...] = load(ROWS[REFERENCE]).inner
"""Formats of the documents in references."""


def add_target_options(parser: argparse.ArgumentParser, *, to: str) -> None:
    """Add the options of the target; `to`: help of `--to`."""
    group = parser.add_argument_group("options of the target")
    group.add_argument("--to", metavar="FORMAT", help=to)
    group.add_argument(
        "-k", "--kind", type=kind, metavar="KIND", help="kind of netCDF file: nc3 nc6 nc5 nc4 nc7, or 1 … 5"
    )
    group.add_argument(
        "--chunks",
        action="append",
        default=[],
        metavar="SPEC",
        help="chunk lengths: time=1,lat=100 by dimension, /g1/temp=1,12 for one variable",
    )
    group.add_argument(
        "--shards",
        action="append",
        default=[],
        metavar="SPEC",
        help="auto, none (default), or shard lengths as for --chunks (Zarr v3)",
    )
    group.add_argument(
        "--codec", action="append", default=[], metavar="SPEC", help="zlib:5, zstd:3, none …, or /g1/temp=zlib:5"
    )
    group.add_argument(
        "--separator", choices=(".", "/"), help="between indices in keys of chunks (default: as in the source, or .)"
    )
    group.add_argument("--order", choices=("C", "F"), help="of elements within chunks (default: as in the source)")
    group.add_argument(
        "--consolidated", action=argparse.BooleanOptionalAction, default=False, help="all metadata in one key"
    )
    group.add_argument(
        "--char", choices=("bytes", "netcdf"), default="bytes", help="netcdf: only the netCDF library reads them"
    )
    group.add_argument("--tables", action="store_true", help="records are tables for Awkward (.awkd, lists in stores)")
    group.add_argument(
        "--max-size",
        type=size,
        default=DEFAULT_MAX_SIZE,
        metavar="SIZE",
        help="bytes that a netCDF file or archive may declare (16GiB)",
    )
    group.add_argument(
        "--memory", type=size, default=DEFAULT_MEMORY, metavar="SIZE", help="bytes of chunks under way (1GiB)"
    )
    group.add_argument("--workers", type=workers, metavar="N", help="threads (default: one a processor)")
    references = parser.add_argument_group("options of references (--to reference)")
    references.add_argument(
        "--metadata",
        choices=METADATA,
        default=METADATA[0],
        help="format of the documents in them (default: nczarr)",
    )
    references.add_argument(
        "--inline", type=size, default=Writing().inline, metavar="N", help="chunks of at most N bytes stand in it (64)"
    )
    references.add_argument(
        "--embed",
        type=size,
        default=Writing().embed,
        metavar="SIZE",
        help="bytes that it may hold of a variable that no reference leads to (4MiB)",
    )
    references.add_argument("--base", metavar="URL", help="folder or URL where targets lie for readers")
    references.add_argument("--relative", action="store_true", help="name targets as seen from the document")
    group.add_argument("--overwrite", action="store_true", help="replace a target that exists")
    group.add_argument(
        "--allow-loss", action="append", type=loss, default=[], metavar="KIND", help="accept a loss by its code, or all"
    )


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the options of the run. Raises ValueError for an invalid chunk, shard or codec specification."""
    return Options(
        kind=arguments.kind,
        chunks=dict(pair for spec in arguments.chunks for pair in chunk_pairs(spec)),
        shards=dict(pair for spec in arguments.shards for pair in shard_pairs(spec)),
        codecs=dict(map(codec_pair, arguments.codec)),
        order=arguments.order,
        separator=arguments.separator,
        consolidated=arguments.consolidated,
        char_netcdf=arguments.char == "netcdf",
        tables=arguments.tables,
        overwrite=arguments.overwrite,
        allow_loss=frozenset(arguments.allow_loss),
        max_size=arguments.max_size,
        memory=arguments.memory,
        workers=arguments.workers,
        writing=Writing(
            arguments.metadata, arguments.inline, arguments.embed, arguments.base, relative=arguments.relative
        ),
        following=following_of(arguments),
        storage=storage_of(arguments),
        special=True,  # a text target loses nothing of the storage
        verbose=arguments.verbose,
    )


def chunk_pairs(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return chunk lengths by name: `time=1,lat=100` or `/g/v=1,12`. Raises ValueError for other texts."""
    return _length_pairs(f"--chunks {spec}", spec)


def shard_pairs(spec: str) -> list[tuple[str, str | tuple[int, ...]]]:
    """Return shard lengths as `chunk_pairs` does, or `auto` or `none`, for one variable or (`""`) all."""
    name, _, word = spec.rpartition("=")
    if word in ("auto", "none") and (not name or name.startswith("/")):
        return [(name, word)]
    if "=" not in spec:
        raise ValueError(f"--shards {spec}: write auto, none, NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…")
    return [*_length_pairs(f"--shards {spec}", spec)]


def _length_pairs(option: str, spec: str) -> list[tuple[str, tuple[int, ...]]]:
    if spec.startswith("/"):
        name, _, lengths = spec.rpartition("=")
        pairs = [(name, tuple(positive(length, option) for length in lengths.split(",")))]
    else:
        split = [item.rpartition("=") for item in spec.split(",")]
        pairs = [(name, (positive(length, option),)) for name, _, length in split]
    if not all(name for name, _ in pairs):
        raise ValueError(f"{option}: write NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…")
    return pairs


def positive(text: str, option: str) -> int:
    """Return a length. Raises ValueError with the option for other texts."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"{option}: `{text}` is not a positive number")
    return int(text)


def codec_pair(spec: str) -> tuple[str, str]:
    """Return the FQN of a variable (empty: all) and its codec specification."""
    name, equals, codec = spec.rpartition("=") if spec.startswith("/") else ("", "=", spec)
    if not (equals and codec):
        raise ValueError(f"--codec {spec}: write CODEC or /VARIABLE=CODEC")
    return name, codec
