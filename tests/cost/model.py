"""Model of costs: the data that an operation must touch, and the resources that it may use for them."""

from __future__ import annotations

import math
from typing import NamedTuple

from tests.cost.operations import Case, Work, ranges_of, requested
from tests.cost.routes import OF_VALUES, REPEATS, REQUESTS, chunk_of, viewed
from tests.cost.sources import SHAPES, SHARDS

FACTOR = 3.0
"""How many times the expected cost an operation may take, on a machine that does other work as well."""


class Touched(NamedTuple):
    """Data that an operation must touch."""

    runs: float
    """Once for each run."""
    chunks: int
    """Stored chunks of the source with an index of the section."""
    megabytes: float
    """Decoded size of these chunks."""
    index: int
    """Chunks in the index of the source, which is one document or one structure of the file."""
    entries: int
    """Entries of the indices of shards that are read."""
    keys: int
    """Chunks of the result."""
    result: float
    """Megabytes of the result."""
    variables: int


SECONDS = Touched(0.3, 100e-6, 8e-3, 12e-6, 0.1e-6, 150e-6, 10e-3, 0.6e-3)
"""Processor time for each."""

MEGABYTES = Touched(50, 1e-4, 1.5, 4e-4, 5e-5, 1e-4, 1.5, 0.01)
"""Memory for each."""

READ = Touched(5, 1e-4, 1.3, 3e-4, 16e-6 * 1.1, 1e-4, 1.0, 2e-3)
"""Megabytes read for each."""

SHARES = {"verify": 4.0, "dry-run": 1.0, "diff": 2.0, "refs": 2.0, "append": 2.0, "zarr_store": 2.0, "check": 1.0}
"""How many times an operation does the work of a conversion."""

LOADED = 0.4
"""Share of the costs of a run that the requests of a server have, which has loaded everything."""

READERS = ("handle", "engine", "zarr_store")

CONVERSIONS = ("convert", "verify", "dry-run")

LIMIT = 800.0
"""Megabytes that no operation exceeds: three quarters of the default of `--memory`."""


class Extra(NamedTuple):
    """Cost beside that of the tables, which another library causes or the form of a target."""

    seconds: Touched
    read: Touched


NOTHING = Touched(0, 0, 0, 0, 0, 0, 0, 0)

OF_TARGETS = {
    "cdl": Extra(NOTHING._replace(result=0.5), NOTHING),  # numbers as text
    "netcdf4": Extra(NOTHING._replace(variables=1e-3), NOTHING._replace(variables=0.3)),  # HDF5 reads its links again
}

OF_OPERATIONS = {
    "zarr_store": Extra(NOTHING._replace(runs=0.3, keys=1e-3), NOTHING),  # zarr-python, for each chunk of a region
    "verify": Extra(NOTHING._replace(runs=0.2, variables=1e-3), NOTHING._replace(runs=5)),  # start of the second reader
}


def touched(case: Case) -> Touched:
    """Return what an operation must touch."""
    shape = SHAPES[case.shape]
    if case.operation == "serve folder":
        counts = [(shape.count, shape.variables) for shape in SHAPES.values()]
        return NOTHING._replace(runs=1, index=sum(c for c, _ in counts), variables=sum(v for _, v in counts))
    if case.operation in REQUESTS and case.operation not in OF_VALUES:
        return NOTHING._replace(runs=1, index=shape.count, variables=shape.variables)
    ranges, stored = _ranges(case), shape.stored
    lengths = tuple(map(len, ranges))
    if stored is None:
        chunks = math.prod(_met(part, c) for part, c in zip(ranges, shape.chunks, strict=True))
    else:
        chunks = sum(_meets(index, ranges, shape.chunks) for index in stored)
    volume, block = math.prod(shape.chunks), _block(case)
    everything = case.operation in (*READERS, *REQUESTS) or case.target in ("cdl", "netcdf3", "ncstream")
    keys, cells = chunks, math.prod(lengths) if everything else min(math.prod(lengths), chunks * volume)
    if block is not None:  # a chunk of the result is made whole
        cut = math.prod(-(-min(n, c) // b) + 1 for n, c, b in zip(lengths, shape.chunks, block, strict=True))
        keys = min(chunks * cut, math.prod(-(-n // b) for n, b in zip(lengths, block, strict=True)))
        cells = max(cells, keys * math.prod(block))
    if case.operation in ("zarr_store", "serve dods", "serve dap"):
        keys = math.prod(_met(part, c) for part, c in zip(ranges, shape.chunks, strict=True))
    size = shape.itemsize / 1e6
    every = shape.variables
    return Touched(
        1,
        chunks * every,
        chunks * volume * size,
        shape.count,
        _entries(case, chunks),
        keys * every,
        cells * size,
        every,
    )


def _ranges(case: Case) -> tuple[range, ...]:
    """The indices whose values an operation reads."""
    shape = SHAPES[case.shape]
    ranges = ranges_of(shape, case.section)
    if case.operation == "serve view":
        return viewed(ranges)
    return chunk_of(ranges, shape) if case.operation == "serve chunk" else ranges


def _block(case: Case) -> tuple[int, ...] | None:
    """The requested chunk lengths."""
    options = requested(case) if case.operation in ("convert", "verify", "dry-run") else []
    return tuple(map(int, options[1].partition("=")[2].split(","))) if options else None


def _met(part: range, length: int) -> int:
    """The number of chunks with one of some indices."""
    return len(part) if part.step >= length else part[-1] // length - part[0] // length + 1


def _entries(case: Case, chunks: int) -> int:
    """The entries of the indices of shards that are read."""
    shape = SHAPES[case.shape]
    if case.form != "shards" or shape.name not in SHARDS:
        return 0
    per_shard = math.prod(s // c for s, c in zip(SHARDS[shape.name], shape.chunks, strict=True))
    return per_shard * (-(-chunks // per_shard) if shape.stored is None else len(shape.stored))


def _meets(index: tuple[int, ...], ranges: tuple[range, ...], chunks: tuple[int, ...]) -> bool:
    """Whether a chunk has an index of a section."""
    return all(
        any(at in part for at in range(number * c, (number + 1) * c))
        if part.step > 1
        else number * c < part.stop and part.start < (number + 1) * c
        for number, part, c in zip(index, ranges, chunks, strict=True)
    )


def expected(case: Case) -> Work:
    """Return what an operation may take."""
    parts, share = touched(case), SHARES.get(case.operation, 1.0)
    work = _repeated(parts) if case.operation in REQUESTS else parts
    seconds, megabytes, read = (
        sum(cost * amount for cost, amount in zip(table, amounts, strict=True))
        for table, amounts in ((SECONDS, work), (MEGABYTES, parts._replace(runs=work.runs)), (READ, work))
    )
    for table in (OF_TARGETS.get(case.target), OF_OPERATIONS.get(case.operation)):
        if table is not None and (table is not OF_TARGETS.get(case.target) or case.operation in CONVERSIONS):
            seconds += sum(cost * amount for cost, amount in zip(table.seconds, parts, strict=True))
            read += sum(cost * amount for cost, amount in zip(table.read, parts, strict=True))
    return Work(seconds * share, min(megabytes, LIMIT), read * max(share, 1.0), "")


def _repeated(parts: Touched) -> Touched:
    """Return what several requests of one server touch, of which the first one opens the dataset."""
    once = parts._replace(index=0, variables=0, runs=0)
    again = Touched(*(REPEATS * amount for amount in once))
    return again._replace(index=parts.index, variables=parts.variables, runs=LOADED)


def ratio(case: Case, work: Work) -> float:
    """Return how many times the expected cost an operation took: of its worst resource."""
    need = expected(case)
    return max(work.seconds / need.seconds, work.megabytes / need.megabytes, work.read / need.read)
