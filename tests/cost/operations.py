"""Operations whose cost is measured: each is run in a process of its own, forked from one that has imported all."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import pkgutil
import resource
import shutil
import signal
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nczarr
from nczarr.__main__ import main
from nczarr.formats.netcdf4 import isolation
from tests.cost.routes import OF_SECTIONS, REQUESTS, send
from tests.cost.sources import FORMS, SHAPES, Shape, made

LIMIT = 60
"""Seconds of processor time after which the system ends an operation."""

SECTIONS = ("cell", "column", "plane", "stride", "corner", "whole")

STORAGES = ("as stored", "tiny", "huge", "transposed", "shards")

TARGETS = ("nczarr", "zarr3", "netcdf4", "netcdf3", "reference", "ncstream", "cdl", "zip")

OPERATIONS = (
    *("convert", "verify", "dry-run", "append", "diff", "digest", "refs", "dump", "check"),
    *("handle", "engine", "zarr_store"),
    *REQUESTS,
)


class Case(NamedTuple):
    """One operation on a part of one source."""

    operation: str
    shape: str
    form: str
    section: str = "whole"
    request: str = "as stored"
    target: str = "nczarr"

    def __str__(self) -> str:
        parts = [self.operation, self.shape, self.form, self.section]
        if self.operation in ("convert", "verify", "dry-run"):
            parts += [self.request, self.target]
        return ", ".join(parts)


class Work(NamedTuple):
    """Resources that an operation used."""

    seconds: float
    """Processor time of the operation and its processes."""
    megabytes: float
    """Peak of resident memory beyond that of the parent process."""
    read: float
    """Megabytes read by system calls."""
    failure: str
    """Output of an operation that failed; empty for others."""


def ranges_of(shape: Shape, section: str) -> tuple[range, ...]:
    """The indices of a section. Sections of sparse arrays have a stored chunk, and many that are not stored."""
    lengths, chunks = shape.lengths, shape.chunks
    if section == "cell":
        return tuple(range(n - 1, n) for n in lengths)
    if section == "column":
        return (range(lengths[0]), *(range(n - 1, n) for n in lengths[1:]))
    if section == "plane":
        return (range(lengths[0] - 1, lengths[0]), *map(range, lengths[1:]))
    if section == "stride":
        return tuple(range(0, n, max(1, n // 7)) for n in lengths)
    if section == "corner":
        return tuple(range(min(2 * c, n)) for n, c in zip(lengths, chunks, strict=True))
    return tuple(map(range, lengths))


def spelled(ranges: tuple[range, ...]) -> str:
    """A section in CDM syntax."""
    parts = (f"{part[0]}:{part[-1]}" + (f":{part.step}" if part.step > 1 else "") for part in ranges)
    return f"v({','.join(parts)})"


def requested(case: Case) -> list[str]:
    """Options of the requested chunks."""
    shape = SHAPES[case.shape]
    lengths = tuple(map(len, ranges_of(shape, case.section)))
    rank = len(lengths)
    chunks = {
        "tiny": tuple(max(1, min(n, c // 4)) for n, c in zip(lengths, shape.chunks, strict=True)),
        "huge": tuple(min(n, 64 if rank > 1 and axis == 0 else 640) for axis, n in enumerate(lengths)),
        "transposed": tuple(min(n, c) for n, c in zip(lengths, (200, *(16,) * (rank - 1)), strict=True)),
        "shards": tuple(min(n, c) for n, c in zip(lengths, shape.chunks, strict=True)),
    }.get(case.request)
    if chunks is None:
        return []
    spec = f"/v={','.join(map(str, chunks))}"
    if case.request != "shards":
        return ["--chunks", spec]
    shards = ",".join(str(c * min(4, -(-n // c))) for n, c in zip(lengths, chunks, strict=True))
    return ["--chunks", spec, "--shards", f"/v={shards}"]


SUFFIXES = {"zarr3": ".zarr", "cdl": ".cdl", "ncstream": ".ncs", "reference": ".json", "zip": ".zip", "nczarr": ".zarr"}


def command(*words: str) -> None:
    """Run a command line; raise RuntimeError with its messages unless it succeeds."""
    out, err = io.StringIO(), io.StringIO()
    binary = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(binary), contextlib.redirect_stderr(err):
        status = main(words)
    if status:
        raise RuntimeError(f"status {status}: {' '.join(words)}\n{out.getvalue()}{err.getvalue()}")


def _convert(case: Case, source: Path, folder: Path) -> None:
    form = "nczarr" if case.target == "zip" else case.target
    target = folder / f"target{SUFFIXES.get(case.target, '.nc')}"
    words = ["convert", str(source), str(target), "--to", form, "--allow-loss", "all", "-q"]
    if case.section != "whole":
        words += ["--var", "v", "--section", spelled(ranges_of(SHAPES[case.shape], case.section))]
    words += {"verify": ["--verify"], "dry-run": ["--dry-run"]}.get(case.operation, [])
    command(*words, *requested(case))


def _append(case: Case, source: Path, folder: Path) -> None:
    command("append", str(source), str(folder / "base.zarr"), "--along", "t", "--allow-loss", "all", "-q")


def _selected(case: Case) -> tuple[slice, ...]:
    ranges = ranges_of(SHAPES[case.shape], case.section)
    return tuple(slice(part.start, part.stop, part.step) for part in ranges)


def _handle(case: Case, source: Path, folder: Path) -> None:
    import nczarr

    with nczarr.open(source) as dataset:
        assert dataset["/v"][_selected(case)].size == _size(case)


def _engine(case: Case, source: Path, folder: Path) -> None:
    import xarray

    with xarray.open_dataset(source, engine="nczarr", decode_cf=False) as dataset:
        assert dataset["v"][_selected(case)].values.size == _size(case)


def _zarr_store(case: Case, source: Path, folder: Path) -> None:
    import zarr

    import nczarr

    array = zarr.open_group(nczarr.zarr_store(source), mode="r")["v"]
    assert array[_selected(case)].size == _size(case)


def _serve(case: Case, source: Path, folder: Path) -> None:
    shape = SHAPES[case.shape]
    send(case.operation, source, ranges_of(shape, case.section), shape)


def _size(case: Case) -> int:
    size = 1
    for part in ranges_of(SHAPES[case.shape], case.section):
        size *= len(part)
    return size


RUN: dict[str, Callable[[Case, Path, Path], None]] = {
    "convert": _convert,
    "verify": _convert,
    "dry-run": _convert,
    "append": _append,
    "diff": lambda case, source, folder: command("diff", str(source), str(source), "-q"),
    "digest": lambda case, source, folder: command("digest", str(source), "-q"),
    "refs": lambda case, source, folder: command(
        "refs", "combine", str(source), str(source), "-o", str(folder / "all.json"), "--along", "t", "--unsorted", "-q"
    ),
    "dump": lambda case, source, folder: command("dump", str(source), "-h", "-q"),
    "check": lambda case, source, folder: command("check", str(source), "-q"),
    "handle": _handle,
    "engine": _engine,
    "zarr_store": _zarr_store,
    **dict.fromkeys(REQUESTS, _serve),
}


def measured(case: Case, folder: Path) -> Work | None:
    """Run an operation in a forked process; None if it makes no sense for the source."""
    _import_all()
    source = made(SHAPES[case.shape], case.form, folder)
    if source is None:
        return None
    own = folder / f"run-{os.getpid()}"
    own.mkdir()
    if case.operation == "append":
        shutil.copytree(made(SHAPES[case.shape], "nczarr", folder) or source, own / "base.zarr")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _in_child(case, source, own, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    shutil.rmtree(own)
    if not answer:
        return Work(LIMIT, 0, 0, f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "no answer")
    work: Work = pickle.loads(answer)
    return work


@cache
def _import_all() -> None:
    """Import what operations use, which is no cost of theirs."""
    for library in ("netCDF4", "pyarrow.parquet", "xarray", "zarr"):
        importlib.import_module(library)
    for module in pkgutil.walk_packages(nczarr.__path__, "nczarr."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # of libraries that are not installed
                importlib.import_module(module.name)


def _in_child(case: Case, source: Path, folder: Path, writer: int) -> None:
    """Run the operation, send what it took, and end the process."""
    failure = ""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
        isolation.prepare()  # what another process does is not measured
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resident, read = _peak(), _read()
        try:
            RUN[case.operation](case, source, folder)
        except BaseException:
            failure = traceback.format_exc()[-1500:]
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(one.ru_utime + one.ru_stime for one in usage)
        work = Work(seconds, (_peak() - resident) / 1024, (_read() - read) / 1e6, failure)
        os.write(writer, pickle.dumps(work))
    finally:
        os._exit(0)


def _peak() -> int:
    """Peak resident kilobytes of this process."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


def _read() -> int:
    """Bytes read by system calls of this process."""
    return int(Path("/proc/self/io").read_text().partition("rchar:")[2].split()[0])


def every_case() -> list[Case]:
    """All cases: conversions of each source to each target, and every other operation on each source and section."""
    cases = []
    for shape in SHAPES.values():
        sections = SECTIONS if shape.variables == 1 else ("whole",)
        for form in FORMS:
            for section in sections:
                if section == "whole" and shape.name == "sparse":
                    sized = ("nczarr", "zarr3", "netcdf4", "reference", "zip")
                else:
                    sized = TARGETS
                if (section, shape.name) in (("plane", "sparse"), ("column", "tiny")):
                    sized = tuple(t for t in sized if t not in ("cdl", "netcdf3", "ncstream"))
                cases += [Case("convert", shape.name, form, section, target=target) for target in sized]
                cases += [
                    Case("convert", shape.name, form, section, request, target)
                    for request in STORAGES[1:]
                    for target in ("zarr3", "netcdf4")
                    if (request, target) != ("shards", "netcdf4") and shape.variables == 1
                    if (section, shape.name, request) != ("whole", "tiny", "tiny")  # 2.6 million chunks take minutes
                ]
                cases += [Case("verify", shape.name, form, section, target=t) for t in ("nczarr", "zarr3", "netcdf4")]
                cases += [Case("dry-run", shape.name, form, section, r, "zarr3") for r in ("as stored", "tiny")]
                if (section, shape.name) not in (("whole", "sparse"), ("plane", "sparse")):
                    cases += [Case(name, shape.name, form, section) for name in ("handle", "engine", "zarr_store")]
                cases += [Case(name, shape.name, form, section) for name in OF_SECTIONS]
            cases += [Case(name, shape.name, form) for name in ("diff", "digest", "dump", "check")]
            alike = (*OF_SECTIONS, "serve folder")
            cases += [Case(name, shape.name, form) for name in REQUESTS if name not in alike]
            if shape.name in ("dense", "sparse"):
                cases += [Case(name, shape.name, form) for name in ("append", "refs")]
    return [*cases, Case("serve folder", "broad", "zip")]
