"""Progress bars, plans of a dry run, and results of commands that write."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nczarr.cli import write_product
from nczarr.diagnostics.secrets import show
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Step, Watcher
    from nczarr.plan.plans import Conversion
    from nczarr.semantics.checked import Checked


WAYS = ("referenced", "copied", "gathered", "transcoded", "rechunked", "encoded")
"""Routes of chunks in the summary."""

UNDECODED = ("referenced", "copied")
"""Those whose chunks are not decoded, so that damage in them is not found without `--verify`."""


class CommandResult(NamedTuple):
    """Everything that one command has written."""

    command: str
    """Name of the command, such as `refs combine`."""
    target: str
    """Path or URL of the target; of several, their folder."""
    sources: int
    """Number of sources of the command line."""
    done: Sequence[Conversion]
    """Finished conversions, one for each target."""
    lengths: Mapping[str, int] = MappingProxyType({})
    """Lengths of the dimensions along which sources were joined, by FQN."""
    previous_lengths: Mapping[str, int] = MappingProxyType({})
    """Their lengths before the target was extended."""
    replaced_keys: int = 0
    """Number of keys of an extended target that have new content."""
    completed: bool = False
    """True if an interrupted run had written everything, and this one published it."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {
            "result": self.command,
            "target": show(self.target),
            "targets": [show(conversion.target) for conversion in self.done],
            "format": next((conversion.format for conversion in self.done if conversion.format), None),
            "sources": self.sources,
            "variables": sum(conversion.variables for conversion in self.done),
            "chunks": _chunks(self.done),
            "skipped_keys": sum(conversion.skipped_keys for conversion in self.done),
            "replaced_keys": self.replaced_keys,
            "bytes": _bytes(self.done),
            "lengths": dict(self.lengths),
            "previous_lengths": dict(self.previous_lengths),
            "losses": [
                {"target": show(conversion.target), "kind": loss.kind, "path": loss.path, "message": loss.message}
                for conversion in self.done
                for loss in conversion.losses
            ],
            "verified_with": _readers(self.done),
            "completed": self.completed,
        }


def summary(done: Sequence[Conversion], to: str | None = "") -> str:
    """Return one line with formats, variables, chunks by route, and bytes; `to`: format that was asked for."""
    from nczarr.arrays.execution.counts import bytes_text
    from nczarr.registry import label_format

    variables = sum(conversion.variables for conversion in done)
    words = list(dict.fromkeys(label_format(conversion.format, conversion.target, to) for conversion in done))
    words.append(f"{variables} variable{'s' * (variables != 1)}")
    counts = _chunks(done)
    total = sum(counts.values())
    if total:
        ways = ", ".join(f"{count} {way}" for way, count in counts.items() if count)
        undecoded = sum(sum(_chunks([one])[way] for way in UNDECODED) for one in done if not one.verified_with)
        if undecoded:
            ways += ", not decoded" if undecoded == total else f"; {undecoded} not decoded"
        words.append(f"{total} chunk{'s' * (total != 1)} ({ways})")
    skipped = sum(conversion.skipped_keys for conversion in done)
    if skipped:
        words.append(f"{skipped} key{'s' * (skipped != 1)} of data {'were' if skipped != 1 else 'was'} already written")
    size = _bytes(done)
    if any(conversion.verified_with for conversion in done):
        foreign = (reader for reader in _readers(done) if reader != "nczarr")
        words.append(" ".join(["verified", *(f"with {reader}" for reader in foreign)]))
    return ", ".join([*words, bytes_text(size)] if size else words)


def _size(path: str) -> int:
    """Return the size of a single-file target."""
    try:
        status = os.stat(path)
    except OSError:  # a URL, or a target that is gone again
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _chunks(done: Sequence[Conversion]) -> dict[str, int]:
    """Return the number of chunks by route."""
    return {way: sum(getattr(conversion, f"{way}_chunks") for conversion in done) for way in WAYS}


def _bytes(done: Sequence[Conversion]) -> int:
    """Return the encoded size of all chunks, or the size of files."""
    return sum(conversion.bytes or _size(conversion.target) for conversion in done)


def _readers(done: Sequence[Conversion]) -> list[str]:
    """Return the readers that found every target equal to its source, each once."""
    return sorted({reader for conversion in done for reader in conversion.verified_with})


WORTH = 64 << 20
"""Minimum bytes of values for a bar."""


@contextmanager
def progress(arguments: argparse.Namespace, target: str, checked: Checked | None) -> Iterator[Watcher | None]:
    """Show a bar on stderr during the block; yield the callback for written bytes, or None without a bar.

    Without a dataset the number of bytes is unknown.

    By default it is shown on a terminal for human-readable messages if there is
    enough to do.
    """
    total = None if checked is None else values_size(checked)
    shown = _is_shown(arguments, worth=total is None or total >= WORTH)
    with _bar(shown, target, total, "DownloadColumn", "TransferSpeedColumn") as update:
        done = 0

        def watch(size: int) -> None:
            """Add written bytes. Chunks at the edge are larger than what the array has of them."""
            nonlocal done
            done += size
            assert update is not None
            update(completed=done if total is None else min(done, total))

        yield None if update is None else watch
        if update is not None and total is not None:
            update(completed=total)


SOURCES = 50
"""Minimum number of sources for a bar."""


@contextmanager
def counting(arguments: argparse.Namespace, what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on stderr; yield the callback for each finished item, or None without a bar."""
    shown = _is_shown(arguments, worth=total >= SOURCES)
    with _bar(shown, what, total, "MofNCompleteColumn") as update:
        yield None if update is None else lambda count: update(advance=count)


def _is_shown(arguments: argparse.Namespace, *, worth: bool) -> bool:
    """Return whether a bar is asked for, or `worth` it by default."""
    if arguments.progress is not None:
        return bool(arguments.progress)
    return worth and not arguments.quiet and arguments.message_format == "human" and sys.stderr.isatty()


@contextmanager
def _bar(shown: bool, text: str, total: int | None, *numbers: str) -> Iterator[Callable[..., None] | None]:
    """Show a bar with columns for numbers; yield what updates it, or None if it is not `shown`."""
    if not shown:
        yield None
        return
    import rich.progress as bars
    from rich.console import Console

    from nczarr.diagnostics.render import visible

    columns = [getattr(bars, name)() for name in ("BarColumn", *numbers, "TimeRemainingColumn")]
    words = bars.TextColumn("{task.description}", markup=False)
    with bars.Progress(words, *columns, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(visible(text), total=total))


def values_size(checked: Checked) -> int:
    """Return the bytes of all values of fixed-size types."""
    import math

    from nczarr.arrays.values.parts import is_fixed, size

    return sum(
        math.prod(checked.shapes[path]) * (size(variable.type, checked.types) if fixed else 16)
        for path, variable in checked.variables.items()
        if path in checked.parts
        for fixed in (is_fixed(variable.type, checked.types),)
    )


def print_plan(
    arguments: argparse.Namespace,
    steps: Iterable[Step] | None,
    target: str,
    sources: Iterable[str] = (),
    rewritten: int = 0,
) -> None:
    """Print what a command would write: lines about its `sources`, and the route of parts."""
    json = arguments.message_format == "json"
    lines = [sources]
    if steps is not None:
        lines.append((_json_steps if json else _text_steps)(steps, target))
    if rewritten and not json:
        lines.append([f"{rewritten} key{'s' * (rewritten != 1)} of the target would be replaced\n"])
    write_product(line.encode("utf-8", "surrogateescape") for line in chain.from_iterable(lines))


def _text_steps(steps: Iterable[Step], target: str) -> Iterator[str]:
    """Yield a readable plan: one line per part, and a sum."""
    from nczarr.arrays.execution.counts import bytes_text
    from nczarr.diagnostics.render import visible

    rows, chunks, size = [], 0, 0
    for step in steps:
        grid = " × ".join(map(str, step.shape))
        what = f"{step.chunks} chunk{'s' * (step.chunks != 1)}" + (f" of {grid}" if grid else "")
        rows.append((step.route, visible(_name(step)), what, bytes_text(step.size) if step.size else "?"))
        chunks += step.chunks
        size += step.size
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield "  ".join((*cells, row[3])) + "\n"
    counted = f"{chunks} chunk{'s' * (chunks != 1)}"
    yield f"`{visible(target)}`: {counted}, {bytes_text(size)} of values; nothing was written\n"


def _json_steps(steps: Iterable[Step], target: str) -> Iterator[str]:
    import json

    for step in steps:
        members = {"target": target, "path": step.path, "part": step.part, "route": step.route, "chunks": step.chunks,
                   "shape": list(step.shape), "bytes": step.size}  # fmt: skip
        yield json.dumps(members, ensure_ascii=False) + "\n"


def _name(step: Step) -> str:
    return f"{step.path}/{step.part}" if step.part else step.path
