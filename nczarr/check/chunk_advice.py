"""Chunks that are so many and so small that reading takes longer than their values need."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.arrays.values.parts import is_fixed, size
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report

MANY = 256
"""Least number of chunks of a variable that is reported."""

TINY = 4096
"""Bytes of a decoded chunk below which reading it costs more than its values."""

GOOD = 1 << 20
"""Bytes of the chunks that the remedy proposes."""


def advise(checked: Checked, report: Report) -> None:
    """Report tiny-chunks for each variable with many chunks of few bytes."""
    for path, number, chunks, proposed in _tiny(checked):
        shape = " × ".join(map(str, chunks))
        lengths = ",".join(map(str, proposed))
        report.warning(
            "tiny-chunks",
            f"`{path}` has {number:,} chunks of {shape}: reading them takes longer than their values need",
            checked.variables[path].span,
            helps=[f"write longer chunks: `nczarr convert SRC DST --chunks {path}={lengths}`"],
        )


def _tiny(checked: Checked) -> Iterator[tuple[str, int, tuple[int, ...], tuple[int, ...]]]:
    """Yield path, number and lengths of chunks of variables that have tiny ones, and better lengths."""
    for path, variable in checked.variables.items():
        chunks, shape = variable.storage.chunks, checked.shapes[path]
        if not chunks or not is_fixed(variable.type, checked.types):
            continue
        item = max(1, size(variable.type, checked.types))
        number = math.prod(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))
        if number >= MANY and math.prod(chunks) * item < TINY:
            yield path, number, chunks, _longer(shape, chunks, item)


def _longer(shape: tuple[int, ...], chunks: tuple[int, ...], item: int) -> tuple[int, ...]:
    """Return chunk lengths of about `GOOD` bytes: the last dimensions grow first, as values lie in a chunk."""
    lengths = list(chunks)
    for axis in reversed(range(len(shape))):
        others = math.prod(lengths) // lengths[axis] * item
        lengths[axis] = max(lengths[axis], min(shape[axis], GOOD // others))
    return tuple(lengths)
