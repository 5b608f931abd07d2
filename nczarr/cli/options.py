"""Options, subset and sources of a run, made from the arguments of a command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.options import PARTS, TABLE, WHOLE, Following, Options, Writing, chunk_request
from nczarr.pipeline.select.selection import CoordinateRange, DimensionRange, Section, Subset

if TYPE_CHECKING:
    from nczarr.pipeline.phases import Input
    from nczarr.semantics.checked import Checked, Observer


STDIN = "<stdin>"

IN_MEMORY = 64 << 20
"""Maximum bytes of standard input in memory; longer input goes to a temporary file."""


def read_input(
    path: str, report: Report, options: Options, name: str | None = None, observe: Observer | None = None
) -> Checked | None:
    """Return the checked dataset of a source, in the named or detected format; None after an error.

    Raises OSError if it cannot be read.
    """
    from nczarr.pipeline import endpoints, phases

    if path != "-":
        return phases.read_path(path, report, options, name, observe)
    source = standard_input()
    form = endpoints.require_format(source, name, report) if name else None
    return None if name and form is None else phases.read(source, report, options, form, observe)


def inputs_of(paths: Iterable[str], options: Options, form: str | None = None) -> list[Input]:
    """Return the sources of a run with these options; standard input belongs to this process."""
    from functools import partial

    from nczarr.pipeline.phases import Input, for_reading, input_at

    reading = for_reading(options)
    stdin = Input("-", partial(read_input, "-", options=reading, name=form), unpack=options.reading.unpack)
    return [input_at(path, reading, form) if path != "-" else stdin for path in paths]


def open_text(path: str, report: Report, options: Options) -> Source | None:
    """Return a file or standard input as a source of bytes; None (reported) for a store. Raises OSError."""
    if path == "-":
        return standard_input()
    from nczarr.pipeline.endpoints import open_source

    opened = open_source(path, report, options)
    if opened is not None and not isinstance(opened, Source):
        report.error("unknown-target", f"`{path}` is a store, and has no text")
        return None
    return opened


def standard_input() -> Source:
    """Read standard input to its end, into a temporary file if it is long or no text. Raises OSError."""
    try:
        data = sys.stdin.buffer.read(IN_MEMORY)
        if len(data) < IN_MEMORY and min(data[:4096], default=9) >= 9:  # binary formats are read from files
            return Source(STDIN, data)
        from nczarr.stores.open import open_source
        from nczarr.stores.spool import keep_stream

        return open_source(keep_stream(data, sys.stdin.buffer), STDIN)
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDIN) from error


def options_of(arguments: argparse.Namespace, **others: Any) -> Options:
    """Return the options of the run. Raises ValueError for an invalid chunk, shard or codec specification."""
    fields: dict[str, dict[str, Any]] = {"": others, "writing": {}, "following": {}}
    for row in TABLE:
        holder, _, name = row.name.rpartition(".")
        if holder in fields and (holder or name in PARTS) and row.flags and hasattr(arguments, row.name):
            value = getattr(arguments, row.name)
            value = _VALUES[row.takes](value) if row.takes in _VALUES else value
            fields[holder][name] = value | others.get(name, frozenset()) if row.takes == "losses" else value
    return Options.of(**fields[""], writing=Writing(**fields["writing"]), following=Following(**fields["following"]))


def subset_of(arguments: argparse.Namespace, report: Report) -> Subset | None:
    """Return the selected part; None (reported) for an invalid section, cut or value."""
    before = report.errors
    sections: list[Section] = []
    dimensions: list[DimensionRange | None] = []
    labels: list[CoordinateRange | None] = []
    given = ((name.partition("subset."), value) for name, value in vars(arguments).items())
    values = {name: value for (_, is_part, name), value in given if is_part}
    if any(values.get(name) for name in ("sections", "dimensions", "labels")):
        from nczarr.pipeline.select import selection_syntax as syntax

        sections = [section for text in values.get("sections", ()) for section in syntax.sections(text, report)]
        dimensions = [syntax.dimension_range(text, report) for text in values["dimensions"]]
        labels = [syntax.coordinate_range(text, report) for text in values["labels"]]
    if report.errors > before:
        return None
    return Subset(
        tuple(values["variables"]),
        tuple(values["groups"]),
        tuple(sections),
        tuple(cut for cut in dimensions if cut is not None),
        tuple(cut for cut in labels if cut is not None),
        not values.get("exact", True),
        tuple(values["excluded"]),
        ("*",) if getattr(arguments, "fixed", False) else tuple(values.get("fixed", ())),
        tuple(values.get("unlimited", ())),
    )


def chunk_pairs(spec: str) -> list[tuple[str, int | tuple[int, ...]]]:
    """Return chunk lengths by name, `time=1,lat=100` or `/g/v=1,12`, or a size: `auto`, `10MB`, `/g/v=10MB`.

    Raises ValueError for other texts.
    """
    name, equals, word = spec.rpartition("=") if spec.startswith("/") else ("", "=", spec)
    if equals and not (word.isdigit() or word == str(WHOLE) or "=" in word or "," in word):
        try:
            return [(name, chunk_request(word))]
        except ValueError:
            forms = "auto, a size such as 10MB, NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…"
            raise ValueError(f"--chunks {spec}: write {forms}") from None
    return [*_parse_lengths(f"--chunks {spec}", spec)]


def shard_pairs(spec: str) -> list[tuple[str, str | tuple[int, ...]]]:
    """Return shard lengths as `chunk_pairs` does, or `auto`, `append` or `none`, for one variable or (`""`) all.

    Raises ValueError for other texts.
    """
    name, _, word = spec.rpartition("=")
    if word in ("auto", "append", "none") and (not name or name.startswith("/")):
        return [(name, word)]
    if "=" not in spec:
        forms = "auto, append, none, NAME=LENGTH,… for dimensions or /VARIABLE=LENGTH,…"
        raise ValueError(f"--shards {spec}: write {forms}")
    return [*_parse_lengths(f"--shards {spec}", spec)]


def _parse_lengths(option: str, spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """Parse `NAME=LENGTH,…` (dimensions), or `/VARIABLE=LENGTH,…` with a length for each of its dimensions."""
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
    """Return a length; `-1` is `WHOLE`. Raises ValueError with the option for other texts."""
    if text == str(WHOLE):
        return WHOLE
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"{option}: `{text}` is not a positive number, nor -1 for the whole dimension")
    return int(text)


def codec_pair(spec: str) -> tuple[str, str]:
    """Return the FQN of a variable (empty: all) and its codec specification. Raises ValueError for other texts."""
    name, equals, codec = spec.rpartition("=") if spec.startswith("/") else ("", "=", spec)
    if not (equals and codec):
        raise ValueError(f"--codec {spec}: write CODEC or /VARIABLE=CODEC")
    return name, codec


_VALUES: dict[str, Callable[[Any], Any]] = {
    "char": lambda word: word == "netcdf",
    "chunks": lambda specs: dict(pair for spec in specs for pair in chunk_pairs(spec)),
    "codecs": lambda specs: dict(map(codec_pair, specs)),
    "losses": frozenset,
    "names": lambda texts: tuple(name for text in texts for name in text.split(",")),
    "shards": lambda specs: dict(pair for spec in specs for pair in shard_pairs(spec)),
    "storage options": lambda pairs: StorageOptions(dict(pairs)),
    "texts": tuple,
}
"""Functions that make the value of an option from that of its argument, by what it takes."""
