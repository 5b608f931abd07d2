"""Options of commands that write a target."""

from __future__ import annotations

import argparse

from nczarr.cli.parser import (
    CHUNKS,
    LIMITS,
    REFERENCES,
    TARGET,
    Command,
    Switch,
    add_memory,
    add_workers,
    following_of,
    kind,
    loss,
    size,
    storage_of,
)
from nczarr.options import DEFAULT_MAX_SIZE, DEFAULT_MEMORY, Options, Writing
from nczarr.registry import REFERENCE, ROWS, load

METADATA: tuple[str, ...] = load(ROWS[REFERENCE]).inner
"""Formats of the documents in references."""


def add_target_options(subparser: Command, *, to: str) -> None:
    """Add the options of the target; `to`: help of `--to`."""
    subparser.option(TARGET, "--to", metavar="FORMAT", help=to)
    subparser.option(
        TARGET,
        "-k",
        "--kind",
        type=kind,
        metavar="KIND",
        help="kind of netCDF file: nc3, nc6, nc5, nc4, nc7, or 1 to 5 (default: that of the source, else the smallest "
        "that holds the dataset)",
    )
    subparser.option(TARGET, "--overwrite", action="store_true", help="replace an existing target")
    add_allow_loss(subparser)
    subparser.option(
        TARGET,
        "--consolidated",
        action=Switch,
        help="write the metadata of all nodes in one key of the root as well (default: in Zarr stores, but not in "
        "references and repositories)",
    )
    subparser.option(
        TARGET,
        "--declare",
        choices=("nz",),
        help="declare a convention in the target: nz (NZ-1.0, Zarr v3 only) (default: none)",
    )
    subparser.option(
        TARGET,
        "--char",
        choices=("bytes", "netcdf"),
        default="bytes",
        help="Zarr type of char variables: one that all Zarr readers know, or netCDF-C's own (default: bytes)",
    )
    subparser.option(
        TARGET, "--tables", action="store_true", help="write records as Awkward tables, in archives and in lists"
    )
    _add_chunk_options(subparser)
    _add_reference_options(subparser)
    subparser.option(
        TARGET,
        "--virtual",
        action="store_true",
        help="in a repository, refer to chunks in the files of the source instead of copying them",
    )
    add_commit_options(subparser)
    subparser.option(
        LIMITS,
        "--max-size",
        type=size,
        default=DEFAULT_MAX_SIZE,
        metavar="SIZE",
        help="refuse a netCDF file or archive whose variables are larger (default: 16GiB)",
    )
    add_memory(subparser, DEFAULT_MEMORY)
    add_workers(subparser)


def add_allow_loss(subparser: Command) -> None:
    """Add `--allow-loss`."""
    subparser.option(
        TARGET,
        "--allow-loss",
        action="append",
        type=loss,
        default=[],
        metavar="CODE",
        help="accept losses with this diagnostic code, or `all`; repeatable",
    )


def add_commit_options(subparser: Command) -> None:
    """Add message and author of a commit."""
    subparser.option(
        TARGET, "--message", metavar="TEXT", help="message of a commit (default: one that names the source)"
    )
    subparser.option(TARGET, "--author", metavar="NAME", help="author of a commit (default: none)")


def _add_chunk_options(subparser: Command) -> None:
    """Add chunks, shards, codecs and their order."""
    subparser.option(
        CHUNKS,
        "--chunks",
        action="append",
        default=[],
        metavar="SPEC",
        help="chunk lengths by dimension (time=1,lat=100) or of one variable (/g1/temp=1,12); repeatable (default: "
        "those of the source)",
    )
    subparser.option(
        CHUNKS,
        "--grid",
        choices=("regular", "rectilinear"),
        default="regular",
        help="regular: chunks of one length along a dimension; rectilinear: chunks of the source's lengths, in Zarr v3 "
        "only, where few readers know them (default: regular)",
    )
    subparser.option(
        CHUNKS,
        "--shards",
        action="append",
        default=[],
        metavar="SPEC",
        help="auto, none, or shard lengths as for --chunks; Zarr v3 only; repeatable (default: none)",
    )
    subparser.option(
        CHUNKS,
        "--codec",
        action="append",
        default=[],
        metavar="SPEC",
        help="codecs of all variables (zlib:5, zstd:3, none) or of one (/g1/temp=zlib:5); numbers are shuffled first, "
        "not in Zarr v3, or with noshuffle+zlib:5; repeatable (default: those of the source)",
    )
    subparser.option(
        CHUNKS,
        "--separator",
        choices=(".", "/"),
        help="separator of indices in chunk keys, where the format has a choice (default: that of the source)",
    )
    subparser.option(
        CHUNKS,
        "--zarr-names",
        choices=("common", "registered"),
        default="common",
        help="names of types and codecs in Zarr v3: those that all supported readers know, or registered ones only, "
        "for which chunks are encoded again (default: common)",
    )
    subparser.option(
        CHUNKS,
        "--order",
        choices=("C", "F"),
        help="order of elements in chunks, where the format has a choice (default: that of the source)",
    )


def _add_reference_options(subparser: Command) -> None:
    """Add the options of a target that is a reference document."""
    subparser.option(
        REFERENCES,
        "--metadata",
        choices=METADATA,
        help=f"format of the Zarr metadata in a reference document (default: {METADATA[0]}) or repository (default: "
        "nczarr3)",
    )
    add_references(subparser)


def add_references(subparser: Command) -> None:
    """Add the options of the references in a document."""
    subparser.option(
        REFERENCES,
        "--inline",
        type=size,
        default=Writing().inline,
        metavar="SIZE",
        help="largest chunk to store in the document itself (default: 64)",
    )
    subparser.option(
        REFERENCES,
        "--embed",
        type=size,
        default=Writing().embed,
        metavar="SIZE",
        help="largest variable to store in the document if its chunks cannot be referenced (default: 4MiB)",
    )
    subparser.option(
        REFERENCES,
        "--base",
        metavar="URL",
        help="folder or URL where readers find the referenced files (default: where they are now)",
    )
    subparser.option(
        REFERENCES, "--relative", action="store_true", help="name referenced files relative to the document"
    )


def options_of(arguments: argparse.Namespace) -> Options:
    """Return the options of the run. Raises ValueError for an invalid chunk, shard or codec specification."""
    return Options(
        kind=arguments.kind,
        chunks=dict(pair for spec in arguments.chunks for pair in chunk_pairs(spec)),
        grid=arguments.grid,
        shards=dict(pair for spec in arguments.shards for pair in shard_pairs(spec)),
        codecs=dict(map(codec_pair, arguments.codec)),
        order=arguments.order,
        separator=arguments.separator,
        zarr_names=arguments.zarr_names,
        consolidated=arguments.consolidated,
        declare=arguments.declare,
        char_netcdf=arguments.char == "netcdf",
        tables=arguments.tables,
        overwrite=arguments.overwrite,
        message=arguments.message,
        author=arguments.author,
        virtual=arguments.virtual,
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
    """Return shard lengths as `chunk_pairs` does, or `auto` or `none`, for one variable or (`""`) all.

    Raises ValueError for other texts.
    """
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
    """Return the FQN of a variable (empty: all) and its codec specification. Raises ValueError for other texts."""
    name, equals, codec = spec.rpartition("=") if spec.startswith("/") else ("", "=", spec)
    if not (equals and codec):
        raise ValueError(f"--codec {spec}: write CODEC or /VARIABLE=CODEC")
    return name, codec
