"""Verification of a target by the library of its format, which reads it in a process of its own."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from nczarr.arrays.regions import every_block, region_of
from nczarr.arrays.sources.source import little
from nczarr.ast.rectilinear import largest
from nczarr.pipeline.compare.values import TEXT, block_shape
from nczarr.plan.plans import Plan
from nczarr.sdk import (
    ArraySource,
    Checked,
    Descr,
    Index,
    Report,
    StorePlan,
    grid_of,
    is_fixed,
    itemsize,
    little_descr,
    names,
    np,
    numpy_dtype,
)
from nczarr.semantics.checked import whole_parts
from nczarr.stores import local_paths

SCRIPT = Path(__file__).with_name("foreign_reader.py")

MODULES = {"libnetcdf": ("netCDF4",), "zarr": ("zarr",), "references": ("zarr", "fsspec", "pandas")}
"""Python packages of each library."""


WHOLE = 1 << 28
"""Bytes of an array that is read whole, even if it is sparse."""

SPARSE = 8
"""An array is sparse if at most one of this many blocks has a stored chunk."""

MOST_BLOCKS = 1 << 20
"""Maximum blocks with stored chunks that are listed; arrays with more are read whole."""

SAMPLE = 64
"""Blocks of a sparse array that are read without regard to stored chunks."""


class _TargetArray(NamedTuple):
    """One array of the target."""

    path: str
    """FQN of the variable."""
    name: tuple[str, ...]
    """Location of the array for the library."""
    source: ArraySource
    """Expected values."""
    block: tuple[int, ...]
    """Shape of one read."""
    indices: tuple[Index, ...] | None = None
    """Blocks to read; None: all."""

    def request(self) -> dict[str, Any]:
        """Return the request for the process."""
        return {
            "name": self.name,
            "descr": _describe(self.source.layout.dtype),
            "shape": self.source.layout.shape,
            "block": self.block,
            "indices": self.indices,
        }

    def digest(self) -> str:
        """Return the hash of the expected values. Raises OSError, CompileError."""
        values_hash = hashlib.sha256()
        shape = self.source.layout.shape
        dtype = numpy_dtype(little_descr(self.source.layout.dtype))
        if 0 in shape:  # blocks may have the length 0 too
            return values_hash.hexdigest()
        every = every_block(shape, self.block) if self.indices is None else self.indices
        for index in every:
            values = np.asarray(self.source.read(region_of(index, self.block, shape)))
            if dtype.hasobject:
                for text in values.reshape(-1).tolist():
                    data = text or b""
                    values_hash.update(len(data).to_bytes(4, "little") + data)
            else:
                values_hash.update(np.ascontiguousarray(little(values).astype(dtype, copy=False)).tobytes())
        return values_hash.hexdigest()


def _describe(descr: Descr) -> Any:
    """Return a description as JSON: little-endian, records as lists."""
    if isinstance(descr, str):
        return "O" if descr == "|O" else descr.replace(">", "<")
    return [[name, _describe(inner), shape] for name, inner, shape in descr]


def _sparse_blocks(array: _TargetArray, target: ArraySource | None) -> _TargetArray:
    """Return an array of which blocks with stored chunks and a sample of fill are read, if it is sparse and large.

    `target`: the array as read from the target.
    """
    source, size = array.source, itemsize(array.source.layout.dtype) or TEXT
    shape = source.layout.shape
    if math.prod(shape) * size <= WHOLE or target is None or source.undefined:
        return array
    chunks = tuple(max(1, min(pair)) for pair in zip(largest(source.layout.chunks), array.block, strict=True))
    for block in (chunks, array.block):
        counts = grid_of(shape, block)
        most = min(MOST_BLOCKS, math.prod(counts) // SPARSE)
        both = itertools.chain(source.list_occupied(block), target.list_occupied(block))
        stored = set(itertools.islice(both, 2 * most + 1))
        if next(both, None) is None and len(stored) <= most:
            draw = random.Random(f"{array.path} {shape}")
            fill = {tuple(draw.randrange(count) for count in counts) for _ in range(SAMPLE)}
            return array._replace(block=block, indices=tuple(sorted(stored | fill)))
    return array


def verify_elsewhere(plan: Plan, lossy: frozenset[str], place: str, target: Checked, report: Report) -> str | None:
    """Compare the target at `place` with its source, as read by its format's library.

    Returns the library's name and version, or None if the format has no such
    library, it is not installed or reads no array, or the target or a target of
    its references is not local. The name tells if only a part of the fill of
    sparse arrays was read. `lossy`: variables with accepted losses, which are
    skipped, as are undefined cells and lists.
    `target`: the target as this package reads it.
    Reports unequal-target and unread-variable. Raises OSError.
    """
    library = plan.form.target.second_reader
    if library is None or not os.path.exists(place):
        return None
    if not all(map(importlib.util.find_spec, MODULES[library])):
        return None
    arrays = list(_arrays(plan, lossy, target))
    if library == "references" and any(array.source.distant for array in arrays):
        return None
    request = {"library": library, "path": local_paths.absolute(place), "arrays": [array.request() for array in arrays]}
    idle = _idle.get()
    process = idle.pop() if idle else None
    if process is None or process.poll() is not None:
        process = _start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        first = process.stdout.readline()
        if not first:
            report.error("unequal-target", f"`{place}` cannot be opened by {library}")
            return None
        used: str = json.loads(first)["library"]
        unread = 0
        for array in arrays:
            answer, expected = _next_answer(process, used), ""
            if "opened" in answer:
                expected = array.digest()  # while the library reads the array
                answer = _next_answer(process, used)
            if "error" in answer:
                unread += 1
                report.warning("unread-variable", f"{used} does not read `{array.path}`: {answer['error']}")
            elif answer["sha256"] != expected:
                report.error("unequal-target", f"`{array.path}` is not equal in `{place}` when read by {used}")
        if idle is not None and "closed" in _next_answer(process, used):  # the target may be changed from here on
            idle.append(process)
    finally:
        if idle is None or process not in idle:
            _end(process)
    if arrays and unread == len(arrays):
        return None
    sparse = sum(array.indices is not None for array in arrays)
    if sparse:
        used += f" ({sparse} sparse array{'s' if sparse > 1 else ''}: all stored chunks, and a sample of the fill)"
    return used


_idle: ContextVar[list[subprocess.Popen[bytes]] | None] = ContextVar("idle processes", default=None)


@contextmanager
def share_process() -> Iterator[None]:
    """Let all verifications of this thread in the block use one process: importing a library takes a second."""
    processes: list[subprocess.Popen[bytes]] = []
    token = _idle.set(processes)
    try:
        yield
    finally:
        _idle.reset(token)
        for process in processes:
            _end(process)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, which waits for a request or was interrupted."""
    process.kill()
    with suppress(BrokenPipeError), process:  # closes the pipes and waits
        pass


def _next_answer(process: subprocess.Popen[bytes], used: str) -> dict[str, Any]:
    """Return the next answer of the process; an error if it has ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    answer: dict[str, Any] = json.loads(line) if line else {"error": f"{used} ended with status {process.wait()}"}
    return answer


def _arrays(plan: Plan, lossy: frozenset[str], target: Checked) -> Iterator[_TargetArray]:
    """Yield every array that the library can read: parts of variables in stores, whole variables in files."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        if (
            0 in checked.shapes[path]
            or path in lossy
            or lossy.intersection(map(str, variable.dimensions))
            or variable.storage.no_fill
        ):
            continue
        if plan.storage.get(path, variable.storage).quantize is not None:
            continue
        whole = variable.type == "string" or is_fixed(variable.type, checked.types)
        if not whole and not isinstance(plan, StorePlan):
            continue
        for part, source in whole_parts(checked, path).items():
            name, layout = names.split(path), source.layout
            chunks: tuple[tuple[int, ...], ...] = (layout.chunks,)
            if isinstance(plan, StorePlan):
                name = tuple(plan.prefix(path, part).rstrip("/").split("/"))
                chunks = (layout.chunks, plan.targets[path][part].layout.chunks)
            block = block_shape(layout.shape, chunks, itemsize(layout.dtype) or TEXT)
            yield _sparse_blocks(_TargetArray(path, name, source, block), target.parts.get(path, {}).get(part))
