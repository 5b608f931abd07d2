"""Count the netCDF files that come back unchanged from a Zarr store, by nczarr, nccopy and xarray (`make compare`).

Needs the environment of `make test` and nothing beside the clone. Real files come from packages: iris-sample-data and
compliance-checker by pip, libncarg-data by apt-get, where there is one. What cannot be fetched is named and left out.
nccopy is compared if it is on PATH (Debian: netcdf-bin). The other files are made here, from the texts of `samples/`
and by `tests/support/peers/odd_files.py`.

`--write` puts the figures into README.md and docs/explanation/exactness.md; `--keep FOLDER` keeps the fetched files.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import nczarr  # noqa: E402
from tests.support.peers import exactness, odd_files  # noqa: E402
from tests.support.peers.worker import MEMORY, Worker  # noqa: E402

SUFFIXES = (".nc", ".cdf", ".nc4", ".h5")
LARGEST = 60 << 20
"""Bytes of a real file; larger ones would take most of the time."""

README, PAGE = ROOT / "README.md", ROOT / "docs" / "explanation" / "exactness.md"
MARKED = re.compile(r"(<!-- compare -->\n)(.*?)(<!-- end -->)", re.DOTALL)
REAL, MADE = "real netCDF files", "files of samples and corner cases"
"""Titles of the two tables."""

ORIGIN = "texts of `samples/` as their own kind and as netCDF-4, and odd files made with h5py and netCDF4"

WORDS = ("identical", "storage differs", "content differs", "no file")


class Package(NamedTuple):
    """A public package with real netCDF files."""

    name: str
    command: tuple[str, ...]
    """Program and arguments that bring its archive into the working folder."""


PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps")
PACKAGES = (
    Package("iris-sample-data", (*PIP, "--only-binary", ":all:", "iris-sample-data==2.5.2")),
    Package("compliance-checker", (*PIP, "--no-binary", "compliance-checker", "compliance-checker==6.1.0")),
    Package("libncarg-data", ("apt-get", "--quiet", "download", "libncarg-data")),
)


def fetch(package: Package, folder: Path) -> str:
    """Unpack a package into a folder. Returns why it is missing, or nothing."""
    if any(folder.rglob("*")):
        return ""
    if shutil.which(package.command[0]) is None:
        return f"{package.command[0]} is not on PATH"
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(package.command, cwd=place, capture_output=True, text=True, check=False)
        archives = sorted(Path(place).iterdir())
        if done.returncode or not archives:
            said = done.stderr.strip().splitlines()
            return said[-1] if said else f"status {done.returncode}"
        folder.mkdir(parents=True, exist_ok=True)
        unpack(archives[0], folder)
    return ""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a wheel, a source archive or a Debian package."""
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(folder)
    elif archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder)], check=True)
    else:
        with tarfile.open(archive) as members:
            members.extractall(folder, filter="data")


def real_files(folder: Path) -> list[Path]:
    """Return the netCDF files of a package, each name once."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= LARGEST:
            found.setdefault(path.name, path)
    return list(found.values())


def made_files(folder: Path) -> Iterator[Path]:
    """Yield the files that the repository makes: texts as their own kind and as netCDF-4, and odd files."""
    for text in sorted((ROOT / "samples").glob("*.cdl")):
        for kind in (None, "nc4"):
            target = folder / f"{text.stem}{'.nc4' if kind else ''}.nc"
            nczarr.convert(text, target, kind=kind)
            yield target
    for name, make in odd_files.FILES.items():
        make(folder / f"{name}.nc")
        yield folder / f"{name}.nc"


class Comparison:
    """Tools that take a file through a store and back, and a reader that says what came of it."""

    def __init__(self) -> None:
        self._reader = Worker("read_everything.py", 4 * MEMORY)
        self._copiers = {name: Worker(f"copy_{name}.py", 4 * MEMORY) for name in ("ours", "xarray")}
        self.tools = ["nczarr", *(["nccopy"] if shutil.which("nccopy") else []), "xarray"]

    def close(self) -> None:
        """End the processes."""
        for worker in (self._reader, *self._copiers.values()):
            worker.close()

    def copy(self, tool: str, source: Path) -> tuple[str, str]:
        """Return the result for one file, one of `WORDS`, and the first difference."""
        with tempfile.TemporaryDirectory() as place:
            target = Path(place, "back.nc")
            if tool == "nccopy":
                word, said = exactness.by_nccopy(source, Path(place))
                why = "".join(said)
            else:
                words = [str(source), str(target), place, *(["nczarr"] if tool == "nczarr" else [])]
                answer = self._copiers["ours" if tool == "nczarr" else tool].ask("\t".join(words))
                word, why = answer.get("word", "crashed"), answer.get("error", "")
            return self._judge(source, target) if word == "exact" else ("no file", why)

    def unreadable(self, path: Path) -> str:
        """Return why netCDF-C cannot read a file, or nothing."""
        return str(self._reader.ask(str(path)).get("error", ""))

    def _judge(self, source: Path, target: Path) -> tuple[str, str]:
        answers = [self._reader.ask(str(path)) for path in (source, target)]
        for path, answer in zip((source, target), answers, strict=True):
            if "error" in answer:
                return "content differs", f"{path.name} cannot be read: {answer['error']}"
        before, after = (answer["facts"] for answer in answers)
        if before == after:
            return "identical", ""
        why = next(
            (f"{where}: {fact!r} | {dict(after).get(where)!r}" for where, fact in before if (where, fact) not in after),
            "the order, or something more",
        )
        content = [[each for each in facts if not is_storage(each[0])] for facts in (before, after)]
        return ("storage differs" if content[0] == content[1] else "content differs"), why


def is_storage(where: str) -> bool:
    """Whether a fact is about the way that a file stores its content."""
    return (
        where == "kind of file"
        or re.search(r": (layout|byte order|checksum|filters|fill mode|fill value)$", where) is not None
    )


def table(results: dict[str, Counter[str]], total: int) -> str:
    """Return one row for each tool."""
    lines = [f"| tool | files | {' | '.join(WORDS)} |", "|---" * (len(WORDS) + 2) + "|"]
    lines += [
        f"| {tool} | {total} | {' | '.join(str(words[word]) for word in WORDS)} |" for tool, words in results.items()
    ]
    return "\n".join(lines) + "\n"


def readable(comparison: Comparison, files: Iterable[Path]) -> list[Path]:
    """Return the files that netCDF-C reads; the others cannot be compared, and are named on standard error."""
    found = []
    for path in files:
        why = comparison.unreadable(path)
        if why:
            print(f"left out: {path.name}: netCDF-C cannot read it: {why}", file=sys.stderr)
        else:
            found.append(path)
    return found


def survey(comparison: Comparison, files: list[Path]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Count the results of each tool. Returns also the files that do not come back unchanged from nczarr."""
    results: dict[str, Counter[str]] = {tool: Counter() for tool in comparison.tools}
    failed: list[str] = []
    for number, path in enumerate(files, 1):
        print(f"\r{number}/{len(files)} {path.name[:60]:60}", end="", file=sys.stderr, flush=True)
        for tool in comparison.tools:
            word, why = comparison.copy(tool, path)
            results[tool][word] += 1
            if tool == "nczarr" and word != "identical":
                failed.append(f"`{path.name}` ({word})")
                print(f"\rnczarr, {path.name}: {word}; {why[:200]}", file=sys.stderr)
    print("\r" + " " * 80 + "\r", end="", file=sys.stderr)
    return results, failed


def versions(comparison: Comparison) -> dict[str, str]:
    """Return the release of each tool."""
    found = {"nczarr": nczarr.__version__, "xarray": importlib.metadata.version("xarray")}
    if "nccopy" in comparison.tools:
        usage = subprocess.run(["nccopy"], capture_output=True, text=True, check=False).stderr
        release = re.search(r"library version (\S+)", usage)
        found["nccopy"] = release[1] if release else "of unknown version"
    return found


def gather(keep: Path, made: Path) -> tuple[dict[str, list[Path]], dict[str, list[Path]]]:
    """Fetch and make the files. Returns them by the title of their table, and the real ones by package."""
    real: dict[str, list[Path]] = {}
    for package in PACKAGES:
        missing = fetch(package, keep / package.name)
        if missing:
            print(f"left out: the files of {package.name}: {missing}", file=sys.stderr)
        else:
            real[package.name] = real_files(keep / package.name)
    made.mkdir()
    everything = [path for files in real.values() for path in files]
    return {REAL: everything, MADE: list(made_files(made))}, real


def write(tables: dict[str, dict[str, Counter[str]]], totals: dict[str, int], text: str, known: dict[str, str]) -> None:
    """Put the figures into the README, and the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda match: match[1] + text + match[3], page), encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    for title, results in tables.items():
        counts = {tool: words["identical"] for tool, words in results.items()}
        others = ", ".join(f"{tool} {known[tool]}: {counts[tool]}" for tool in counts if tool != "nczarr")
        row = f"| {totals[title]} {title}: identical after netCDF → Zarr → netCDF | {counts['nczarr']} | {others} |"
        readme, count = re.subn(rf"^\| \d+ {re.escape(title)}:.*$", lambda _, row=row: row, readme, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"README.md has {count} rows that begin with `{title}`")
    today = f"measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    readme = re.sub(r"measured on \d{4}-\d{2}-\d{2}", today, readme)
    README.write_text(readme, encoding="utf-8")


def main() -> int:
    """Fetch, make, copy, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    comparison = Comparison()
    if "nccopy" not in comparison.tools:
        print("left out: nccopy: it is not on PATH (Debian has it in netcdf-bin)", file=sys.stderr)
    with tempfile.TemporaryDirectory() as place:
        gathered, real = gather((options.keep or Path(place, "real")).resolve(), Path(place, "made"))
        files = {title: readable(comparison, paths) for title, paths in gathered.items()}
        surveys = {title: survey(comparison, paths) for title, paths in files.items()}
    comparison.close()
    totals = {title: len(paths) for title, paths in files.items()}
    known = versions(comparison)
    packages = ", ".join(f"{len(paths)} of {name}" for name, paths in real.items())
    text = f"Measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with "
    text += ", ".join(f"{tool} {known[tool]}" for tool in comparison.tools) + ".\n"
    for title, (results, failed) in surveys.items():
        origin = packages if title == REAL else ORIGIN
        text += f"\n{totals[title]} {title} ({origin}):\n\n{table(results, totals[title])}"
        if failed:
            text += f"\nNot identical by nczarr: {', '.join(failed)}.\n"
    print(text, end="")
    if options.write:
        write({title: results for title, (results, _) in surveys.items()}, totals, text, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
