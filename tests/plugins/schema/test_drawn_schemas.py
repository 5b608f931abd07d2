"""Drawn schemas: what `--emit ast` prints compiles to the same bytes, and generated programs write the same dataset."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.formats.notation import backend
from nczarr.plugins.testing.strategies import datasets, datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Unchecked
from tests.conftest import missing_peer, run_command
from tests.support.generated import load_program, write_files
from tests.support.proof import WHOLE, share

MOST = 2000
"""Drawn schemas in the whole proof."""

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
@settings(relaxed, max_examples=share(MOST))
def test_many_schemas(dataset: Dataset) -> None:
    check_emitted(dataset)


class Program(NamedTuple):
    """How the program of a language is compiled and run, on how many drawn schemas."""

    peers: tuple[str, ...]
    """Packages of Python that it needs."""
    examples: int
    """Of a program in Python 2,000 in the whole proof: nothing is compiled."""
    suffix: str = ".nc"
    build: tuple[str, ...] = ()
    """Command of the compiler, which makes `program`."""
    library: tuple[str, str] = ("", "")
    """File that shows that the library is there, and the name of its package."""


C = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "drawn.c", "drawn_main.c", "-lnetcdf")
FORTRAN = ("gfortran", "-std=f2008", "-Wall", "-Wextra", "-Werror", "-I/usr/include", "drawn.f90", "drawn_main.f90")

PROGRAMS = {
    "python-zarr": Program(("zarr",), 200, ".zarr"),
    "python-netcdf4": Program(("netCDF4",), 200),
    "xarray": Program(("xarray", "netCDF4"), 400),
    "c": Program((), 40, build=C, library=("/usr/include/netcdf.h", "libnetcdf-dev")),
    "fortran": Program((), 80, build=(*FORTRAN, "-lnetcdff"), library=("/usr/include/netcdf.mod", "libnetcdff-dev")),
}

drawn = st.one_of(
    datasets().map(lambda dataset: (dataset, {})),
    datasets_with_data(cdl=True),
    datasets_with_data(classic=True),
    datasets_with_data(wide=True),
)
"""Schemas of the whole model, most of which a language refuses, and plainer ones with values."""


def make_handle(dataset: Dataset, parts: dict[str, Parts]) -> nczarr.DatasetHandle:
    """Return a dataset with its values."""
    report = Report()
    checked = check(Unchecked(dataset, parts=parts), report)
    assert checked is not None, report.list_sorted()
    return nczarr.DatasetHandle(checked)


def count_examples(program: Program) -> int:
    """Return how many schemas this run draws."""
    return MOST if WHOLE and not program.build else share(program.examples)


def has_library(program: Program, tool: Callable[[str], str]) -> None:
    """Skip visibly without the compiler or the library of a language."""
    if program.build:
        tool(program.build[0])
        if not Path(program.library[0]).exists():
            missing_peer(program.library[1])


def find_differences(source: nczarr.DatasetHandle, target: Path) -> list[str]:
    """Return how the dataset of a program differs from that of `compile`, the order of attributes aside."""
    wanted: nczarr.DatasetHandle | Path = source
    if nczarr.diff(source, target) or nczarr.digest(source) != nczarr.digest(target):  # not all targets hold everything
        wanted = target.with_stem("own")
        form = "netcdf" if target.suffix == ".nc" else "nczarr3"
        nczarr.write(source, wanted, format=form, allow_loss=["all"], rename_illegal=True)
    differences = nczarr.diff(wanted, target)
    if not differences and nczarr.digest(wanted) != nczarr.digest(target):
        return ["the digests differ"]
    return [each.message for each in differences if each.kind != "attribute-order"]


def check_program(language: str, source: nczarr.DatasetHandle) -> bool:
    """Whether the language has a program for the schema; it writes what `compile` writes."""
    try:
        files = dict(nczarr.generate(language, source, name="drawn"))
    except nczarr.CompileError as error:
        unnamed = [each.message for each in error.diagnostics if not REFUSAL.match(each.message)]
    else:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, f"out{PROGRAMS[language].suffix}")
            if PROGRAMS[language].build:
                was_written = write_by_compiler(files, PROGRAMS[language].build, target)
            else:
                was_written = write_by_python(files, target)
            if was_written:
                assert find_differences(source, target) == []
            else:  # the library of the machine has few filters
                assert any(variable.storage.codecs for variable in source.checked.variables.values())
            return was_written
    assert unnamed == [], "a refusal names a node"
    return False


REFUSAL = re.compile("`/.*` has no ", re.DOTALL)
"""Beginning of the messages about what a language cannot express."""


def write_by_python(files: dict[str, str], target: Path) -> bool:
    """Run a program in this process: the libraries take a second to load."""
    program = load_program(files)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(sys, "argv", ["drawn.py", str(target)])
        program["main"]()
    return True


def write_by_compiler(files: dict[str, str], build: tuple[str, ...], target: Path) -> bool:
    """Compile and run a program; False if the library lacks a filter."""
    write_files(files, target.parent)
    made = subprocess.run([*build, "-o", "program"], cwd=target.parent, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([target.parent / "program", target], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if "undefined filter" in said:
        return False
    assert done.returncode == 0, said
    return True


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_of_drawn_schemas(language: str, peer: Callable[[str], object], tool: Callable[[str], str]) -> None:
    for name in PROGRAMS[language].peers:
        peer(name)
    has_library(PROGRAMS[language], tool)
    made = 0

    @given(drawn)
    @settings(relaxed, max_examples=count_examples(PROGRAMS[language]))
    def draw(dataset: tuple[Dataset, dict[str, Parts]]) -> None:
        nonlocal made
        made += check_program(language, make_handle(*dataset))

    draw()
    assert made
