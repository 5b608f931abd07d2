"""Drawn schemas: what `--emit ast` prints compiles to the same bytes, and generated programs write the same dataset."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.ast import Dataset
from nczarr.formats.notation import backend
from nczarr.plugins.testing.strategies import datasets
from tests.conftest import run_command
from tests.support.proof import share

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def compiled(path: Path, form: str) -> dict[str, bytes] | None:
    """The documents and chunks of a store by key; None if the format refuses the schema."""
    target = path.with_suffix(f".{form}.zarr")
    ran = run_command("compile", str(path), "-o", str(target), "--to", form, "--overwrite", "--allow-loss", "all", "-q")
    if ran.status:
        return None
    files = (each for each in target.rglob("*") if each.is_file())
    return {str(each.relative_to(target)): each.read_bytes() for each in files}


def check_emitted(dataset: Dataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        schema, emitted = Path(folder, "s.ncz"), Path(folder, "e.ast.json")
        schema.write_text(backend.text(dataset), encoding="utf-8", errors="surrogateescape")
        ran = run_command("compile", str(schema), "--emit", "ast", "-q")
        assert ran.status == 0, ran.err
        emitted.write_bytes(ran.out)
        for form in ("zarr2", "zarr3", "nczarr"):
            assert compiled(schema, form) == compiled(emitted, form)


@given(datasets())
@settings(relaxed, max_examples=15)
def test_what_is_emitted_compiles_to_the_same_bytes(dataset: Dataset) -> None:
    check_emitted(dataset)


@pytest.mark.slow
@given(datasets())
@settings(relaxed, max_examples=share(2000))
def test_many_schemas(dataset: Dataset) -> None:
    check_emitted(dataset)


PROGRAMS = {"python-zarr": ("zarr", [], ".zarr"), "python-netcdf4": ("netCDF4", [], ".nc")}


def check_program(language: str, dataset: Dataset) -> bool:
    """Whether the language has a program for the schema; it writes what `compile` writes."""
    handle = nczarr.open(dataset)
    try:
        files = dict(nczarr.generate(language, handle, name="drawn"))
    except nczarr.CompileError:
        return False  # refused by name, which other tests look at
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8", errors="surrogateescape")
        target = Path(folder, f"out{PROGRAMS[language][2]}")
        words = [sys.executable, "-W", "ignore", Path(folder, "drawn.py"), target]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        differences = [each for each in nczarr.diff(handle, target) if each.kind != "attribute-order"]
        assert differences == [], json.dumps([each.message for each in differences])
    return True


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_of_drawn_schemas(language: str, peer: object) -> None:
    assert callable(peer)
    peer(PROGRAMS[language][0])
    made = 0

    @given(datasets())
    @settings(relaxed, max_examples=share(200))
    def draw(dataset: Dataset) -> None:
        nonlocal made
        made += check_program(language, dataset)

    draw()
    assert made
