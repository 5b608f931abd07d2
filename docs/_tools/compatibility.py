"""Write docs/reference/compatibility.md: every variable of the corpus through every reader.

Needs the peers and the shared data.

Run it from the clone: `python docs/_tools/compatibility.py ../shared`; `--check` says whether the page is current.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.peers import corpus  # noqa: E402
from tests.support.peers.survey import FORMATS, survey  # noqa: E402
from tests.support.peers.worker import Worker  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "compatibility.md"
HEAD = """# What other programs see of our stores

Every CDL file of the netCDF project's tests that compiles is written as `nczarr`, `zarr2`, `nczarr3` and `zarr3`, each
as a folder and as a zip archive; zarr-python {zarr}, xarray {xarray} and tensorstore {tensorstore} open them all and
read every variable, libnetcdf {netcdf} the folders of `nczarr`. Numbers count variables, or parts of variables that
are stored as a group, of the folders; in the archives each reader sees the same. `docs/_tools/compatibility.py` made
this page; the tests in `tests/peers` demand that no dataset fails to open and that no value, type, dimension name or
attribute differs.

- **equal**: the values are equal bit by bit, and so are dimension names; libnetcdf: types and attributes as well.
  A char reads as a string of one letter, an enum as its integers, an array field of a compound as its raw bytes.
- **hidden**: stored, but not listed for libnetcdf, which would refuse the whole dataset because of it.
- **shape only**: the reader opens the array and gives numpy no bytes of it.
- **unknown**: the reader knows no such type, filter or codec, says so, and reads everything else. tensorstore opens
  array by array; of Zarr v3 it knows no texts or chars, of records only those of plain numbers, one field at a time, no
  codec whose name begins with `numcodecs.`, and no array with two axes of one name, which the specification allows.

In Zarr v3 a record or opaque array is never sharded: zarr-python {zarr} reads such arrays, but not in shards.

"""


def main(shared: Path) -> str:
    """The page."""
    import importlib.metadata

    workers = {"netcdf": Worker("read_netcdf.py"), "zarr": Worker("read_zarr.py")}
    counts: dict[tuple[str, str, str, str], int] = {}
    datasets = files = 0
    for path in corpus.files(shared):
        dataset = corpus.checked(path)
        if dataset is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = survey(dataset, Path(folder), workers, path)
        wrong = corpus.unexcused(path, outcome.differences)
        if wrong:
            raise SystemExit(f"{path.name}: {wrong[0]}")
        datasets, files = datasets + 1, files + outcome.files
        for key, count in outcome.counts.items():
            counts[key] = counts.get(key, 0) + count
    for worker in workers.values():
        worker.close()
    versions = {name: importlib.metadata.version(name) for name in ("zarr", "xarray", "tensorstore")}
    import netCDF4

    page = HEAD.format(netcdf=netCDF4.__netcdf4libversion__, **versions)
    page += (
        f"{datasets} datasets; for {files} of them libnetcdf sees in the store what it sees in the file that ncgen\n"
    )
    page += "makes of the same text, except:\n\n"
    page += "".join(f"- {stem}, `{start.strip()}`: {reason}\n" for (stem, start), reason in corpus.EXCUSED.items())
    for form in FORMATS:
        page += f"\n## {form}\n\n" + table(counts, form)
    return page


def table(counts: dict[tuple[str, str, str, str], int], form: str) -> str:
    """One row a type, one column a reader."""
    readers = sorted({reader for reader, other, _, _ in counts if other == form})
    types = sorted({kind for _, other, kind, _ in counts if other == form})
    lines = ["| type | " + " | ".join(readers) + " |", "|" + "---|" * (len(readers) + 1)]
    for kind in types:
        cells = []
        for reader in readers:
            found = {
                what: number
                for (who, other, its, what), number in counts.items()
                if (who, other, its) == (reader, form, kind)
            }
            cells.append(", ".join(f"{number} {what}" for what, number in sorted(found.items())) or "–")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    made = main(Path(arguments[0] if arguments else ROOT.parent / "shared").resolve())
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text() == made else "docs/reference/compatibility.md is stale")
    PAGE.write_text(made)
