"""`nczarr compile SCHEMA`: text → store or file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from nczarr.cli.inputs import open_input
from nczarr.cli.shared import Messages, command, kind, loss, size, workers
from nczarr.cli.streams import misuse, write_product
from nczarr.options import DEFAULT_MAX_SIZE, DEFAULT_MEMORY, Options

if TYPE_CHECKING:
    from nczarr.ast import Dataset


def parser() -> argparse.ArgumentParser:
    """Arguments of `compile`."""
    made = command(
        "compile", "Compile a schema with its data to a store or file; without -o, show what would be written."
    )
    made.add_argument("schema", metavar="SCHEMA", help="CDL, notation or AST JSON; - is standard input")
    made.add_argument("-o", "--output", metavar="OUT", help="the target; - is standard output (texts only)")
    made.add_argument("--to", metavar="FORMAT", help="format of the target (default: by its suffix, else nczarr)")
    made.add_argument(
        "-k", "--kind", type=kind, metavar="KIND", help="kind of netCDF file: nc3 nc6 nc5 nc4 nc7, or 1 … 5"
    )
    made.add_argument(
        "--chunks",
        action="append",
        default=[],
        metavar="SPEC",
        help="chunk lengths: time=1,lat=100 by dimension, /g1/temp=1,12 for one variable",
    )
    made.add_argument(
        "--shards",
        action="append",
        default=[],
        metavar="SPEC",
        help="auto, none (default), or shard lengths as for --chunks (Zarr v3)",
    )
    made.add_argument(
        "--codec", action="append", default=[], metavar="SPEC", help="zlib:5, zstd:3, none …, or /g1/temp=zlib:5"
    )
    made.add_argument(
        "--consolidated", action=argparse.BooleanOptionalAction, default=False, help="all metadata in one key"
    )
    made.add_argument(
        "--char", choices=("bytes", "netcdf"), default="bytes", help="netcdf: only the netCDF library reads them"
    )
    made.add_argument(
        "--max-size",
        type=size,
        default=DEFAULT_MAX_SIZE,
        metavar="SIZE",
        help="bytes that a netCDF file may declare (16GiB)",
    )
    made.add_argument(
        "--memory", type=size, default=DEFAULT_MEMORY, metavar="SIZE", help="bytes of chunks under way (1GiB)"
    )
    made.add_argument("--workers", type=workers, metavar="N", help="threads (default: one a processor)")
    made.add_argument("--overwrite", action="store_true", help="replace a target that exists")
    made.add_argument(
        "--allow-loss", action="append", type=loss, default=[], metavar="KIND", help="accept a loss by its code, or all"
    )
    made.add_argument("--dump-after", metavar="PASS", help=argparse.SUPPRESS)
    return made


def options_of(arguments: argparse.Namespace) -> Options:
    """The run's options. Raises ValueError for a chunk, shard or codec specification that is none."""
    return Options(
        kind=arguments.kind,
        chunks=dict(pair for spec in arguments.chunks for pair in chunk_pairs(spec)),
        shards=dict(pair for spec in arguments.shards for pair in shard_pairs(spec)),
        codecs=dict(map(codec_pair, arguments.codec)),
        consolidated=arguments.consolidated,
        char_netcdf=arguments.char == "netcdf",
        overwrite=arguments.overwrite,
        allow_loss=frozenset(arguments.allow_loss),
        max_size=arguments.max_size,
        memory=arguments.memory,
        workers=arguments.workers,
        special=True,  # a text target loses nothing of the storage
        verbose=arguments.verbose,
    )


def chunk_pairs(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """Chunk lengths by name: `time=1,lat=100` or `/g/v=1,12`. Raises ValueError for anything else."""
    return _length_pairs(f"--chunks {spec}", spec)


def shard_pairs(spec: str) -> list[tuple[str, str | tuple[int, ...]]]:
    """Shard lengths by name as `chunk_pairs`, or `auto` or `none`, for a variable or (`""`) for all."""
    name, _, word = spec.rpartition("=")
    if word in ("auto", "none") and (not name or name.startswith("/")):
        return [(name, word)]
    if "=" not in spec:
        raise ValueError(f"--shards {spec}: write auto, none, NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…")
    return [*_length_pairs(f"--shards {spec}", spec)]


def _length_pairs(option: str, spec: str) -> list[tuple[str, tuple[int, ...]]]:
    if spec.startswith("/"):
        name, _, lengths = spec.rpartition("=")
        pairs = [(name, tuple(_length(length, option) for length in lengths.split(",")))]
    else:
        split = [item.rpartition("=") for item in spec.split(",")]
        pairs = [(name, (_length(length, option),)) for name, _, length in split]
    if not all(name for name, _ in pairs):
        raise ValueError(f"{option}: write NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…")
    return pairs


def _length(text: str, option: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"{option}: `{text}` is no positive number")
    return int(text)


def codec_pair(spec: str) -> tuple[str, str]:
    """FQN of a variable (empty: all) and the codec specification behind it."""
    name, equals, codec = spec.rpartition("=") if spec.startswith("/") else ("", "=", spec)
    if not (equals and codec):
        raise ValueError(f"--codec {spec}: write CODEC or /VARIABLE=CODEC")
    return name, codec


def run(arguments: argparse.Namespace) -> int:
    """Compile one schema."""
    try:
        options = options_of(arguments)
    except ValueError as error:
        return misuse("compile", str(error))
    messages = Messages(arguments)
    return messages.guard(lambda: _compile(arguments, options, messages))


def _compile(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    from nczarr import pipeline

    report = messages.report
    out = arguments.output
    shown = out in (None, "-")
    form = pipeline.target("" if shown else out, arguments.to or ("nczarr" if shown else None), report)
    if form is None:
        return
    looker = _Looker(arguments.dump_after) if arguments.dump_after else None
    checked = pipeline.read(open_input(arguments.schema), report, options, observe=looker)
    if looker is not None:
        looker.check()
    elif checked is not None and not report.errors and not shown:
        pipeline.write(checked, out, form, report, options)
    elif checked is not None and not report.errors:
        if out is None and form.binary:
            report.error("unknown-target", f"format `{form.name}` is no text", helps=["name a file with `-o`"])
            return
        write_product(pipeline.blocks(checked, form, report, options) or ())


class _Looker:
    """Prints the tree after one pass, and so shows any point of the schedule."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.seen: list[str] = []

    def __call__(self, name: str, dataset: Dataset) -> None:
        """Called after each pass."""
        from nczarr.ast.text import text

        self.seen.append(name)
        if name == self.wanted:
            sys.stdout.write(text(dataset))

    def check(self) -> None:
        """Say so if there was no such pass."""
        if self.wanted not in self.seen:
            sys.stderr.write(f"nczarr compile: no pass `{self.wanted}` was run; there were: {', '.join(self.seen)}\n")
