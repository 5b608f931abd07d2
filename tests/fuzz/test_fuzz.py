"""Hostile CDL: cut off at every byte, mutated, huge declarations. Diagnostics, never a traceback, never a hang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.conftest import run_command
from tests.support.fuzz_limits import judge
from tests.support.mutants import corpus, mutate
from tests.support.proof import PART, PARTS
from tests.support.work import counted

"""The part of the slow cases that is run: `1/10` is a fixed tenth."""


def short(paths: list[Path], count: int) -> list[Path]:
    """A spread of files that are small enough to be cut at every byte."""
    fitting = [path for path in paths if 200 < path.stat().st_size < 1500]
    return fitting[:: max(1, len(fitting) // count)][:count]


@pytest.mark.slow
@pytest.mark.parametrize("path", short(corpus(), 10), ids=lambda path: path.name)
def test_cut_off_at_every_byte(path: Path) -> None:
    data = path.read_bytes()
    whole = judge(data)
    end = len(data.rstrip())
    for length in range(len(data)):
        accepted = judge(data[:length])
        assert not (accepted and length < end and data[end - 1 : end] == b"}"), f"accepted without its end, at {length}"
    assert isinstance(whole, bool)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100 + PART - 1, 140, PARTS))
def test_mutants(seed: int) -> None:
    files = corpus()
    pick = random.Random(seed)
    for number in range(200):
        path = pick.choice(files)
        data = mutate(path.read_bytes(), pick)
        try:
            judge(data)
        except Exception as error:
            pytest.fail(f"mutant {number} of seed {seed}, from {path.name}: {error!r}\n{data[:2000]!r}")


PATHOLOGICAL = [
    b"", b"netcdf", b"\x00" * 1000, b"{" * 100_000, b'"' * 100_001, b"/" * 50_000, b"/*" * 50_000,
    b"netcdf " + b"a" * 10**6,
    b"netcdf t {" + b"group: g {" * 5000,
    b"netcdf t { types: " + b"compound c { " * 5000,
    b"netcdf t { :a = " + b"{" * 20_000 + b" ; }",
    b"netcdf t { :a = " + b"1," * 50_000 + b"1 ; }",
    b"netcdf t { variables: int v(" + b"x," * 30_000 + b"x) ; }",
]  # fmt: skip


@pytest.mark.parametrize("data", PATHOLOGICAL, ids=lambda data: repr(data[:30]))
def test_pathological(data: bytes) -> None:
    judge(data)


def test_a_huge_declaration_costs_nothing(tmp_path: Path) -> None:
    """10^12 bytes declared in 70: a store of a few keys, made by few calls."""
    text = b"netcdf t {dimensions: x = 1000000000000; variables: byte v(x); v:_FillValue = -127b; data: v = 1;}"
    with counted(1_000_000):
        done = run_command("compile", "-", "-o", str(tmp_path / "t.zarr"), "--to", "nczarr", stdin=text)
    assert (done.status, done.err) == (0, "")
    assert len([path for path in (tmp_path / "t.zarr").rglob("*") if path.is_file()]) <= 6
