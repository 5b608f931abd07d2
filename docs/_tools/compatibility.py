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
HEAD = """# Compatibility

Look up what netCDF-C, zarr-python, xarray and tensorstore see of the stores that nczarr writes.

Every CDL file of the netCDF project's tests that compiles is written as `nczarr`, `zarr2`, `nczarr3` and `zarr3`, as a
folder and as a zip archive. zarr-python {zarr}, xarray {xarray} and tensorstore {tensorstore} open all of them and read
every variable; libnetcdf {netcdf} opens the folders of `nczarr`. The tables count variables of the folders, or parts of
variables that are stored as a group. Readers see the same in the archives. `docs/_tools/compatibility.py` made this
page. The tests in `tests/peers` require that every dataset opens, and that values, types, dimension names and
attributes are equal.

- **equal**: values are equal bit by bit, and dimension names are equal; for libnetcdf also types and attributes. A char
  reads as a string of one letter, an enum as its integers, an array field of a compound as its raw bytes.
- **hidden**: stored, but not listed for libnetcdf, which would otherwise refuse the whole dataset.
- **shape only**: the reader opens the array, but gives NumPy no bytes of it.
- **unknown**: the reader does not know the type, filter or codec, reports that, and reads everything else. tensorstore
  opens array by array. Of Zarr v3 it does not know strings, chars, records with other members than numbers, codecs
  whose name begins with `numcodecs.`, and arrays with two dimensions of one name.

In Zarr v3 a record or opaque array is never sharded, because zarr-python {zarr} cannot read it in shards.

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
