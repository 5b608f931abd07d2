"""Progress bars, and plans of a dry run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Step, Watcher
    from nczarr.check.checked import Checked
    from nczarr.operations.combine import Combined

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
        yield None if update is None else lambda size: update(advance=size)
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


def text_sources(combination: Combined) -> Iterator[str]:
    """Yield the sources of a combination in order, one a line, each with its first index and length."""
    from nczarr.diagnostics.render import visible

    for path, lengths in combination.lengths.items():
        yield f"`{visible(path)}`: {len(lengths)} source{'s' * (len(lengths) != 1)}, {sum(lengths)} in all\n"
        begin, width = 0, len(str(sum(lengths)))
        for name, length in zip(combination.names, lengths, strict=True):
            yield f"{begin:{width}}  {length:{width}}  {visible(name)}\n"
            begin += length
    if not combination.lengths:
        yield f"{len(combination.names)} sources\n"
        width = len(str(len(combination.names)))
        yield from (f"{number:{width}}  {visible(name)}\n" for number, name in enumerate(combination.names))


def json_sources(combination: Combined) -> Iterator[str]:
    """Yield the sources of a combination as JSON lines."""
    import json

    lengths = combination.lengths.items()
    for number, name in enumerate(combination.names):
        members = {"source": name, "lengths": {path: every[number] for path, every in lengths}}
        yield json.dumps(members, ensure_ascii=False) + "\n"


def text_steps(steps: Iterable[Step], target: str) -> Iterator[str]:
    """Yield a readable plan: one line per part, and a sum."""
    from nczarr.check.outline import bytes_text
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


def json_steps(steps: Iterable[Step], target: str) -> Iterator[str]:
    """Yield a plan as JSON lines."""
    import json

    for step in steps:
        members = {"target": target, "path": step.path, "part": step.part, "route": step.route, "chunks": step.chunks,
                   "shape": list(step.shape), "bytes": step.size}  # fmt: skip
        yield json.dumps(members, ensure_ascii=False) + "\n"


def _name(step: Step) -> str:
    return f"{step.path}/{step.part}" if step.part else step.path
