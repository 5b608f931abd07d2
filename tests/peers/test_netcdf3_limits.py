"""Sizes at the limits of each classic kind: what ncgen takes, we take, with the same header and length; and no more.

`ncgen -x` fills nothing, so files of gigabytes are holes on the disk.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nczarr.ast import Kind
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.netcdf3.backend import header
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.classic_layout import CLASSIC_KINDS, lay_out

pytestmark = [pytest.mark.peer, pytest.mark.program]

Sizes = tuple[int, ...]
GIB2, GIB4 = 2**31, 2**32


def cases() -> Iterator[tuple[Sizes, Sizes]]:
    """Bytes of the fixed variables, and bytes of a record of the record variables."""
    for limit in (GIB2, GIB4):
        for size in range(limit - 6, limit + 2):
            yield (size,), ()
            yield (size, 4), ()
            yield (4, size), ()
            yield (size, size), ()
            yield (size,), (1,)
            yield (), (size,)
            yield (), (size, 1)
            yield (), (1, size)
    for size in range(GIB2 - 404, GIB2, 4):  # where the second variable begins just before the limit, or just behind
        yield (size, 8), ()
        yield (4, size), (4,)
        yield (), (4, size, 4)


def text(fixed: Sizes, records: Sizes) -> str:
    """Byte variables of these sizes, of two dimensions so that none is too long for CDL."""
    dimensions: set[int] = set()
    variables = []
    for number, (size, record) in enumerate([*((size, False) for size in fixed), *((size, True) for size in records)]):
        lengths = factors(size)
        dimensions.update(lengths)
        axes = ", ".join([*(["t"] if record else []), *(f"d{length}" for length in lengths)])
        variables.append(f"byte v{number}({axes}) ;")
    declared = " ".join(f"d{length} = {length} ;" for length in sorted(dimensions))
    return f"netcdf t {{ dimensions: t = UNLIMITED ; {declared} variables: {' '.join(variables)} }}"


def factors(size: int) -> tuple[int, ...]:
    first = next((factor for factor in range(2, 100_000) if size % factor == 0), 1)
    return (first, size // first)


def sayable(*sizes: int) -> bool:
    """Whether ncgen reads the lengths: it takes none above the largest int in 64-bit offset files."""
    return all(max(factors(size)) < GIB2 for size in sizes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "step"),
    [("nc3", 5), *(pytest.param(kind, 1, marks=pytest.mark.slow, id=kind) for kind in CLASSIC_KINDS)],
)
def test_the_limits_are_those_of_the_library(kind: Kind, step: int, tmp_path: Path, tool: Callable[[str], str]) -> None:
    source, target = tmp_path / "t.cdl", tmp_path / "t.nc"
    wrong, taken = [], 0
    for fixed, records in itertools.islice(cases(), 0, None, step):
        if not sayable(*fixed, *records):
            continue
        written = text(fixed, records)
        source.write_text(written)
        target.unlink(missing_ok=True)
        command = [tool("ncgen"), "-x", "-k", kind, "-o", str(target), str(source)]
        accepted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        checked = phases.read(Source("t.cdl", written.encode()), Report(), Options.of(kind=kind))
        if (checked is not None) != accepted:
            wrong.append((fixed, records, accepted))
        if checked is None or not accepted:
            continue
        taken += 1
        layout = lay_out(checked, kind)
        made = header(checked, kind, layout)
        assert len(made) == layout.header
        with target.open("rb") as file:
            assert file.read(len(made)) == made
        assert os.path.getsize(target) == layout.end
    assert wrong == []
    assert taken > 50 // step
