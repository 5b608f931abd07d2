"""netCDF → stores → netCDF, by us and by others, and what is left of it: the work of test_exactness.py and of
docs/explanation/exactness.md.

A file is exact if `nc-same` (the C API: names, order, types, bits, storage) and `ncdump -s -p 9,17`, lines that name
the library that made the file aside, see the same in it before and after.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from nczarr import registry
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_path

from . import corpus, dumps
from .odd_files import FILES
from .worker import MEMORY, Worker

ROUTES = (("nczarr",), ("nczarr3",), ("nczarr", "nczarr3"), ("zarr3-2019",), ("awkward0",), ("ncstream",))
"""Stores, archives and streams on the way from netCDF to netCDF."""

DUMPED = 64 << 20
"""Bytes of values that ncdump prints; of larger files it prints the header, and nc-same alone compares the values."""

SECONDS = 120
"""Time that a program has for one step."""

Word = Literal["exact", "values", "different", "refused", "crashed"]
"""`values`: names, types, attributes and values are equal, storage or the kind of file is not."""


class Subject(NamedTuple):
    """One netCDF file and the group of files that it belongs to."""

    group: str
    path: Path

    @property
    def name(self) -> str:
        """What names it in lists."""
        return f"{self.group}/{self.path.name}"


def real_folder() -> Path | None:
    """Where the tool `real-files` put its files: NCZARR_REAL, or `real` in the folder for temporary files."""
    folder = Path(os.environ.get("NCZARR_REAL") or Path(tempfile.gettempdir()) / "real")
    return folder if (folder / ".complete").exists() else None


def real(folder: Path) -> Iterator[Subject]:
    """The real files that are netCDF already."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".nc", ".cdf", ".nc4", ".h5"):
            yield Subject(path.parent.name, path)


def texts(shared: Path, folder: Path | None) -> list[Path]:
    """Every CDL text: those of the netCDF project's tests, and real ones."""
    return [*corpus.files(shared), *(sorted(folder.rglob("*.cdl")) if folder is not None else ())]


def compiled(cdl: Path, folder: Path, ncgen: str) -> Iterator[Subject]:
    """What ncgen makes of a text, of the kind that it takes for itself and of netCDF-4; empty where it refuses."""
    for kind, flags in (("own", ()), ("nc4", ("-4",))):
        target = folder / f"{cdl.stem}.{kind}.nc"
        made = subprocess.run(
            [ncgen, *flags, "-o", str(target), str(cdl)], capture_output=True, check=False, env=_env()
        )
        if not made.returncode:
            yield Subject("ncgen", target)
        else:
            target.unlink(missing_ok=True)


def _env() -> dict[str, str]:
    """netCDF4-python names its own plug-ins to all of the process; ncgen's HDF5 is another."""
    return {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}


def odd(folder: Path) -> Iterator[Subject]:
    """The files of `odd_files.py`."""
    for name, make in FILES.items():
        path = folder / f"{name}.nc"
        make(path)
        yield Subject("odd", path)


def read(path: Path) -> tuple[Checked | None, list[str]]:
    """The dataset of a file or store, None where it is refused, and what was said."""
    report = Report()
    checked = phases.read(open_path(str(path)), report, Options())
    return (None if report.errors else checked), [each.message for each in report.list_sorted()]


def through(source: Path, folder: Path, route: tuple[str, ...]) -> tuple[Path | None, list[str]]:
    """The netCDF file that comes back from a way through stores, made by us; None and why where a step is refused."""
    here = source
    for number, name in enumerate((*route, "netcdf")):
        checked, said = read(here)
        if checked is None:
            return None, said
        there = folder / f"{number}.{'nc' if name == 'netcdf' else 'zarr'}"
        form, report = registry.find_format(name), Report()
        assert form is not None
        options = Options.of(
            kind=checked.dataset.kind if name == "netcdf" else None,
            max_size=1 << 50,
            allow_loss=frozenset({"unread", "json-attribute"}),  # what is not in the tree is not compared
            rename_illegal=True,
        )
        if not phases.write(checked, str(there), form, report, options):
            return None, [each.message for each in report.list_sorted()]
        here = there
    return here, []


def declared(checked: Checked) -> int:
    """Bytes of values that a dataset declares."""
    types = checked.types
    return sum(
        math.prod(checked.shapes[path]) * (size(each.type, types) if is_fixed(each.type, types) else 16)
        for path, each in checked.variables.items()
    )


def judge(source: Path, target: Path, tools: Path, ncdump: str, *, data: bool = True) -> tuple[Word, list[str]]:
    """Whether two files are the same, and what differs."""
    found = same(source, target, tools)
    found += dumps.unlike(ncdump, source, target, data=data)
    if not found:
        return "exact", []
    return ("different" if same(source, target, tools, "--no-storage") else "values"), found


def same(source: Path, target: Path, tools: Path, *flags: str) -> list[str]:
    """Return the differences between two files that `nc-same` prints."""
    answer = _worker().ask("\t".join([str(tools / "nc-same"), *flags, str(source), str(target)]))
    if "error" in answer:
        return [answer["error"]]
    found: list[str] = answer["text"].splitlines() if answer["status"] else []
    return found


@functools.cache
def _worker() -> Worker:
    """One process that compares files, for all of a run."""
    worker = Worker("nc_same.py")
    atexit.register(worker.close)
    return worker


class Copier:
    """Programs that take a file through stores and back; each `copy` says what came of it and why.

    Ours and xarray run in workers, because loading them takes longer than their work; nccopy runs as itself.
    """

    def __init__(self, tools: Path) -> None:
        self.tools = tools
        self._workers = {name: Worker(f"copy_{name}.py", 4 * MEMORY) for name in ("ours", "xarray")}

    def names(self) -> list[str]:
        """All ways, ours first."""
        return [*(" → ".join(route) for route in ROUTES), "nccopy", "xarray"]

    def copy(self, name: str, source: Path, *, data: bool) -> tuple[Word, list[str]]:
        """Take a file one way, and compare what comes back; without `data`, ncdump compares headers."""
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            target = folder / "back.nc"
            if name == "nccopy":
                word, said = by_nccopy(source, folder)
            else:
                worker = self._workers["xarray" if name == "xarray" else "ours"]
                arguments = [str(source), str(target), str(folder), *([] if name == "xarray" else name.split(" → "))]
                answer = worker.ask("\t".join(arguments))
                word, said = answer.get("word", "crashed"), [answer.get("error", "")]
            return judge(source, target, self.tools, "ncdump", data=data) if word == "exact" else (word, said)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers.values():
            worker.close()


def by_nccopy(source: Path, folder: Path) -> tuple[Word, list[str]]:
    """Copy with nccopy into an NCZarr store and back into a file of the same kind."""
    kind = subprocess.run(["ncdump", "-k", str(source)], capture_output=True, check=False).stdout.decode().strip()
    store = f"file://{folder / 'store'}#mode=nczarr,file"
    for command in (["nccopy", str(source), store], ["nccopy", "-k", kind, store, str(folder / "back.nc")]):
        try:
            done = subprocess.run(command, capture_output=True, check=False, env=_env(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "crashed", [f"not done after {SECONDS} seconds"]
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
            return ("crashed" if done.returncode < 0 else "refused"), said[:1]
    return "exact", []
