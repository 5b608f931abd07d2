"""Try every command of a wheel in a clean environment with the base dependencies alone.

`python tools/package_check.py WHEEL` makes the environment in a temporary folder and installs the wheel there. Sources
of every format are made by this interpreter, which has all extras. A command must succeed, or end with status 3, the
diagnostic `missing-library` and the line that installs the extra. The exit status is 1 if one does neither.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nczarr.__main__ import main as nczarr  # noqa: E402
from nczarr.cli import help as topics  # noqa: E402
from nczarr.cli import list_commands  # noqa: E402

SOURCES = {
    "s.cdl": None,
    "s.ncz": None,
    "s.ast.json": None,
    "s3.nc": None,
    "s5.nc": None,
    "s4.nc": None,
    "s.zarr": None,
    "s.zip": None,
    "zarr2.zarr": None,
    "zarr3.zarr": None,
    "nczarr3.zarr": None,
    "draft.zarr": None,
    "zstd.zarr": None,
    "s3.json": None,
    "s4.json": None,
    "s4.parq": "references",
    "s4.nc.dmrpp": None,
    "s.awkd": None,
    "s.ncs": "ncstream",
}
"""Sources, and the extra that reading each needs."""

TARGETS = {
    "o.cdl": None,
    "o.ncz": None,
    "o.ast.json": None,
    "o.nc": None,
    "o.nc --kind nc6": None,
    "o.nc --kind nc5": None,
    "o.nc --kind nc4": "netcdf",
    "o.nc --kind nc7": "netcdf",
    "o.h5": "netcdf",
    "o.zarr": None,
    "o.zarr --verify": None,
    "o.zip": None,
    "o.zarr --to zarr2": None,
    "o.zarr --to zarr3 --shards auto": None,
    "o.zarr --to nczarr3": None,
    "o.zarr --to zarr3-2019": None,
    "o.zarr --codec blosc:lz4:5": None,
    "o.json": None,
    "o.parq": "references",
    "o.awkd": None,
    "o.ncs": "ncstream",
    "o.zarr --dask tcp://127.0.0.1:1": "dask",
    "file://o.zarr#mode=nczarr,file": None,
    "o.zarr --progress": None,
}
"""Targets of `convert s3.nc`, and the extra that writing each needs."""

JINJA = '{"version": 1, "templates": {"u": "b"}, "refs": {"k": ["{% if 1 %}a{{u}}{% endif %}.nc"]}}'
"""A reference document with a template beyond the built-in grammar."""

URLS = (
    "s3://b/t.zarr", "s3://b/t.nc", "s3://b/t.json", "gs://b/t.zarr", "abfs://b/t.zarr", "memory://b/t.zarr",
    "http://127.0.0.1:1/t.zarr", "https://127.0.0.1:1/t.nc", "ftp://h/t.nc", "sftp://h/t.nc",
    "zip://t.zarr::s3://b/t.zip", "simplecache::s3://b/t.nc", "https://h/b/a.zarr#mode=nczarr,s3",
)  # fmt: skip
"""One URL of each kind. All need the extra `remote`."""


def cases() -> Iterator[tuple[str, str | None]]:
    """Yield command lines, and the extra that each needs."""
    for source, extra in SOURCES.items():
        for command in ("dump -h", "check", "digest", "diff -q s.cdl", "convert --allow-loss all"):
            lossy = source in ("s.ncz", "s.ast.json", "zarr2.zarr", "zarr3.zarr") and command.startswith("diff")
            target = " o.cdl" if command.startswith("convert") else ""
            if not lossy:
                yield f"{command} {source}{target}", extra
    yield from ((f"convert s3.nc {target} --allow-loss all", extra) for target, extra in TARGETS.items())
    yield "convert vlen.cdl o.nc", "netcdf"
    yield "convert s3.nc - --to ncstream", "ncstream"
    for url in URLS:
        yield f"dump {url}", "remote"
        if not url.startswith("memory:"):  # which ends with the command
            yield f"convert s3.nc {url}", "remote"
    for command in ("convert {} o.nc", "compile s.cdl -o {}", "diff s.cdl {}", "refs verify {}", "refs expand {}",
                    "refs expand s3.json -o {}", "refs combine s3.nc -o {} --along time"):  # fmt: skip
        yield command.format(URLS[0]), "remote"
    yield "dump cdmremote:http://127.0.0.1:1/t.nc", "remote"
    yield "compile s.cdl", None
    yield "compile s.cdl -o o.zarr", None
    yield "compile s.cdl -o o.ncs", "ncstream"
    yield "compile s.cdl --emit keys", None
    yield "generate c s.cdl -o o", "references"
    yield "check s.zarr --for netcdf3", None
    yield "check s.zarr --for ncstream", None
    yield "check s.zarr --schema s.cdl", None
    yield "check s.cdl --cf", None
    yield "digest --check digests.txt", None
    yield "refs combine s3.nc s3.zarr -o o.json --along time --unsorted", None
    yield "refs combine s3.nc s3.nc -o o.zarr --new-dim run --along temperature", None
    yield "refs combine s3.nc s3.nc -o o.ncs --new-dim run --along temperature", "ncstream"
    yield "append s3.nc s3.zarr --along time --region auto", None
    yield "rechunk s3.nc o.zarr --chunks time=1", None
    yield "edit s3.nc --rename /temperature=temp --dry-run", None
    yield "edit s.zarr --rename /temperature=t --dry-run", None
    yield "edit s4.nc --set @n=1 --dry-run", "netcdf"
    yield "migrate zarr2.zarr --to zarr3 --dry-run", None
    yield "revisions o", "icechunk"
    yield from ((f"info {source}", None) for source in ("s.cdl", "s3.nc", "s4.nc", "s.zarr", "s3.json"))
    yield "info s.zarr --stac", None
    yield "fmt --diff s.cdl", None
    yield "info s.zarr --checksum zarr", None
    yield "refs append first.json rest.nc --along time --dry-run", None
    yield "combine s3.nc s3.zarr o.json --along time --unsorted", None
    yield "refs verify s3.json", None
    yield "refs verify s4.parq", "references"
    yield "refs expand s3.json", None
    yield "refs expand jinja.json --jinja", "references"
    yield "refs compact s3.json -o o.json", None
    yield "refs compact s4.parq -o o.json", "references"
    yield "refs ls s3.json", None
    yield "refs cat s3.json .zgroup", None
    yield "pyramid s3.nc o.zarr --along time,station", None
    yield "nwb s4.nc o.zarr", "netcdf"
    yield "nwb zarr2.zarr o.nwb", "netcdf"
    yield "plugins", None
    yield "serve .", "serve"
    yield "completion bash", "completion"
    yield "lsp", "lsp"
    yield "explain", None
    yield "explain missing-library", None
    yield "formats", None
    yield "help", None
    yield from ((f"help {name}", None) for name in [*list_commands(), *topics.topics()])
    yield "--version", None


def make_sources() -> None:
    """Make the sources in the current folder, with all libraries."""
    sample, lists = ROOT / "samples" / "01-station.cdl", ROOT / "samples" / "03-compound-vlen.cdl"
    shutil.copy(sample, "s.cdl")
    shutil.copy(lists, "vlen.cdl")
    Path("jinja.json").write_text(JINJA)
    made = ["s.zarr", "s.zip", "s.awkd", "s.ncs", "s3.nc --kind nc3", "s5.nc --kind nc5", "s4.nc --kind nc4"]
    made += [f"{name}.zarr --to {name}" for name in ("zarr2", "zarr3", "nczarr3")]
    made += ["draft.zarr --to zarr3-2019", "zstd.zarr --codec zstd:3", "s.ncz", "s.ast.json"]
    lines = [f"convert s.cdl {each}" for each in made]
    lines += [f"convert s{n}.nc s{n}.json --relative --inline 0" for n in (3, 4)]
    lines += ["convert s3.nc first.nc --dim time=0:0", "convert s3.nc rest.nc --dim time=1:2"]
    lines += ["convert first.nc first.json --relative --inline 0"]
    lines += ["convert s4.nc s4.parq --relative", "convert s4.nc s4.nc.dmrpp", "convert s3.nc s3.zarr"]
    for line in lines:
        if nczarr([*line.split(), "-q", "--allow-loss", "all"]) != 0:
            raise SystemExit(f"cannot make a source: nczarr {line}")


def problem(line: str, extra: str | None, program: Path, folder: Path) -> str | None:
    """Run a command in a folder and return what is wrong with its outcome, or None."""
    found = set(folder.iterdir())
    command = [program, *line.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    left = sorted(path.name for path in set(folder.iterdir()) - found)
    for name in left:
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
    if extra is None:
        return None if done.returncode == 0 else f"status {done.returncode}\n{done.stderr}"
    wanted = f"`pip install 'nczarr[{extra}]'`"
    said = "error[missing-library]" in done.stderr and wanted in done.stderr
    if done.returncode != 3 or not said or "internal-error" in done.stderr:
        return f"status {done.returncode} instead of 3, missing-library and {wanted}\n{done.stderr}"
    return f"it left {', '.join(left)}" if left else None


def main() -> int:
    """Check the wheel and print each failed command."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python tools/package_check.py WHEEL\n")
        return 2
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        venv.create(environment, with_pip=True)
        scripts = environment / "bin"
        subprocess.run([ROOT / "tools" / "install", scripts / "python", wheel], check=True)
        work = Path(folder) / "work"
        work.mkdir()
        return check(work, scripts / "nczarr")


def check(work: Path, program: Path) -> int:
    """Run all cases in a folder; return the exit status."""
    with contextlib.chdir(work):
        make_sources()
        digests = subprocess.run([program, "digest", "s.cdl", "s.zarr"], capture_output=True, check=True).stdout
        Path("digests.txt").write_bytes(digests)
    lines = list(cases())
    folders: Queue[Path] = Queue()  # one for each command under way, so that what a command leaves is seen
    for number in range(os.cpu_count() or 2):
        folders.put(Path(shutil.copytree(work, work.with_name(f"work{number}"))))

    def outcome(case: tuple[str, str | None]) -> str | None:
        folder = folders.get()
        try:
            return problem(*case, program, folder)
        finally:
            folders.put(folder)

    with ThreadPoolExecutor(folders.qsize()) as pool:
        found = list(pool.map(outcome, lines))
    failed = {line: said for (line, _), said in zip(lines, found, strict=True) if said}
    unasked = [name for name in list_commands() if not any(line.startswith(name) for line, _ in lines)]
    failed |= {f"{name} …": "the command is not tried" for name in unasked}
    for line, found in failed.items():
        print(f"nczarr {line}: {found}")
    print(f"{len(lines)} commands in a clean environment, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
