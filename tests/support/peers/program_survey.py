"""Programs that ncgen and `nczarr generate` make of a text: made, compiled, run, and compared with ncgen's file.

`survey` takes one text through every tool. The oracle is `nc-same`, which reads both files through libnetcdf's C API.
"""

from __future__ import annotations

import ast
import atexit
import functools
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import nczarr
from nczarr import registry
from nczarr.ast import Kind
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from tests.conftest import ROOT
from tests.support.netcdf_java import find_jar
from tests.support.peers.exactness import declared, same

Word = Literal["refused", "uncompiled", "compiled", "failed", "different", "order", "own", "equal"]
"""Step at which a program failed, or how its file compares: `equal` to ncgen's; `own`: equal to that of `nczarr
compile`, which is not ncgen's; `order`: equal but for `_FillValue`, which is the first attribute; `compiled`: it needs
a library that is not here."""

LARGEST = 4 << 20
"""Most bytes that a text may declare: larger files are left out."""

TOO_LARGE = "the file has more than 4 MiB"

SECONDS, MEMORY = 120, 4 << 30
"""Time and memory of a step."""

KINDS: dict[str, Kind] = {
    "classic": "nc3",
    "64-bit offset": "nc6",
    "cdf5": "nc5",
    "netCDF-4": "nc4",
    "netCDF-4 classic model": "nc7",
}
"""Kinds by what `ncdump -k` prints."""


class Attempt(NamedTuple):
    """Result of the program that one tool generates from one text."""

    word: Word
    reason: str = ""


class Task(NamedTuple):
    """A text that ncgen and we take, with ncgen's file."""

    text: Path
    checked: Checked
    file: Path
    kind: Kind


def list_texts(folders: Iterable[Path]) -> list[Path]:
    """Return every CDL text below some folders, each content once."""
    contents: dict[bytes, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.cdl")):
            if path.is_file():
                contents.setdefault(path.read_bytes(), path)
    return list(contents.values())


def find_folders(shared: Path) -> list[Path]:
    """Return the folders that have the corpus."""
    return [ROOT / "samples", ROOT / "tests", shared / "data"]


def _limit_files() -> None:
    """End a program that takes gigabytes: some sources of ncgen have every cell of a large file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_step(command: list[str | Path], folder: Path) -> str | None:
    """Run a command; return None if it succeeds, else what it printed."""
    # netCDF4-python names its own plug-ins to all of the process; the system's libnetcdf has another HDF5
    environment = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        preexec_fn=_limit_files,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # a compiler runs others
        process.communicate()
        return f"not done after {SECONDS} seconds"
    said = printed.decode("utf-8", "replace").strip()
    return None if not process.returncode else said or f"status {process.returncode}"


def read_task(text: Path, folder: Path) -> Task | str:
    """Return a text with ncgen's file, or why it is left out."""
    file = folder / "source.nc"
    if (said := run_step(["ncgen", "-b", "-o", file, text], folder)) is not None:
        return TOO_LARGE if said == f"status {-signal.SIGXFSZ}" else "ncgen refuses"
    printed = subprocess.run(["ncdump", "-k", file], capture_output=True, text=True, check=True).stdout.strip()
    kind, report = KINDS[printed], Report()
    checked = phases.read(Source(text.name, text.read_bytes()), report, Options.of(kind=kind))
    if checked is None or report.errors:
        return "nczarr refuses"
    return Task(text, checked, file, kind) if declared(checked) <= LARGEST else TOO_LARGE


def compare(task: Task, made: Path, tools: Path) -> Attempt:
    """Compare the file that a program wrote with ncgen's."""
    if not made.exists():
        return Attempt("failed", "no file")
    found = same(task.file, made, tools, "--no-type-order")
    if not found:
        return Attempt("equal")
    if all(map(_is_fill_first, found)):
        return Attempt("order")
    own = made.with_name("own.nc")
    form, report = registry.find_format("netcdf"), Report()
    assert form is not None
    written = phases.write(task.checked, str(own), form, report, Options.of(kind=task.kind))
    left = same(own, made, tools, "--no-type-order") if written else found
    return Attempt("own" if all(map(_is_fill_first, left)) else "different", "\n".join(found))


def _is_fill_first(difference: str) -> bool:
    """Return whether a difference is that `_FillValue` is the first attribute of the second file."""
    found = re.fullmatch(r".*: order of attributes: A (\[.*\]) \| B (\[.*\])", difference)
    if found is None:
        return False
    theirs, ours = (ast.literal_eval(names) for names in found.groups())
    return bool(ours[0] == "_FillValue" and ours[1:] == [name for name in theirs if name != "_FillValue"])


def write_ours(language: str, task: Task, folder: Path) -> list[str] | str:
    """Write the program of a language; return the names of its files, or why it is refused."""
    try:
        files: Mapping[str, str] = nczarr.generate(language, nczarr.DatasetHandle(task.checked), name="program")
    except nczarr.CompileError as error:
        return "\n".join(one.message for one in error.diagnostics)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    return [*files]


def build_ours(language: str, folder: Path, files: list[str]) -> str | None:
    """Compile a program of ours with all warnings; return what the compiler said of an error."""
    if language == "c":
        flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
        sources = [name for name in files if name.endswith(".c")]
        return run_step(["gcc", *flags, "-o", "program", *sources, "-lnetcdf"], folder)
    if language == "fortran":
        flags = ("-std=f2008", "-Wall", "-Wextra", "-Werror", "-I/usr/include")
        return run_step(["gfortran", *flags, "-o", "program", *files, "-lnetcdff"], folder)
    return None


def try_ours(language: str, task: Task, folder: Path, tools: Path) -> Attempt:
    """Make, compile, run and compare the program of a language."""
    files = write_ours(language, task, folder)
    if isinstance(files, str):
        return Attempt("refused", files)
    if language == "java":
        can_run = "Version.netcdf3" in (folder / "Program.java").read_text("utf-8")
        attempt = _java().run(folder, "Program", "made.nc" if can_run else None)
        return attempt or compare(task, folder / "made.nc", tools)
    if (said := build_ours(language, folder, files)) is not None:
        return Attempt("uncompiled", said)
    program = [sys.executable, "-W", "ignore", *files] if language == "python-netcdf4" else [folder / "program"]
    if (said := run_step([*program, "made.nc"], folder)) is not None:
        return Attempt("failed", said)
    return compare(task, folder / "made.nc", tools)


def try_ncgen(language: str, task: Task, folder: Path, tools: Path) -> Attempt:
    """Make, compile, run and compare the program that ncgen makes."""
    words = ["ncgen", "-k", task.kind, "-l", language, "-o", "made.nc", task.text]
    made = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    if made.returncode or not made.stdout.strip():
        return Attempt("refused", made.stderr.decode("utf-8", "replace").strip() or "nothing is printed")
    source = folder / {"c": "main.c", "f77": "main.f", "java": "Main.java"}[language]
    source.write_bytes(made.stdout)
    if language == "java":
        return _java().run(folder, "Main", "") or compare(task, folder / "made.nc", tools)
    compiler = ["gcc", "-w"] if language == "c" else ["gfortran", "-w", "-I/usr/include"]
    library = "-lnetcdf" if language == "c" else "-lnetcdff"
    if (said := run_step([*compiler, "-o", "program", source.name, library], folder)) is not None:
        return Attempt("uncompiled", said)
    if (said := run_step([folder / "program"], folder)) is not None:
        return Attempt("failed", said)
    return compare(task, folder / "made.nc", tools)


class JavaRunner:
    """A machine of Java that compiles and runs one class after another; it starts in a second."""

    def __init__(self, jar: Path) -> None:
        program = Path(__file__).with_name("RunClasses.java")
        self._process = subprocess.Popen(
            ["java", "-cp", jar, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def run(self, folder: Path, name: str, file: str | None) -> Attempt | None:
        """Compile a class, and run it unless `file` is None; return what stopped it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        argument = "" if file is None else str(folder / file)
        self._process.stdin.write(f"{folder}\t{name}\t{argument}\n")
        self._process.stdin.flush()
        word, _, reason = self._process.stdout.readline().rstrip("\n").partition("\t")
        if word in ("uncompiled", "failed"):
            return Attempt("uncompiled" if word == "uncompiled" else "failed", reason)
        assert word == "done", "the machine of Java has ended"
        return Attempt("compiled") if file is None else None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@functools.cache
def _java() -> JavaRunner:
    """One machine for all of a run."""
    jar = find_jar()
    assert jar is not None, "look first whether `find_jar` has one"
    runner = JavaRunner(jar)
    atexit.register(runner.close)
    return runner


TOOLS = (
    *("ncgen c", "ncgen f77", "ncgen java"),
    *("nczarr c", "nczarr fortran", "nczarr java", "nczarr python-netcdf4"),
)


def survey(task: Task, tools: Path, names: Iterable[str] = TOOLS) -> Iterator[tuple[str, Attempt]]:
    """Yield what comes of the programs of each tool."""
    for name in names:
        maker, language = name.split(" ")
        with tempfile.TemporaryDirectory() as folder:
            attempt = try_ncgen if maker == "ncgen" else try_ours
            yield name, attempt(language, task, Path(folder), tools)
