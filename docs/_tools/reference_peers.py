"""Write the table of docs/how-to/references.md: every variable of every file through references of ours and others.

Needs the shared data, the files that `real-files` brings, and an interpreter with kerchunk and VirtualiZarr; takes
half an hour. Run it from the clone: `NCZARR_KERCHUNK=PYTHON python docs/_tools/reference_peers.py ../shared REAL`;
`--check` says whether the page is current.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.peers import exactness, odd_files, odd_references, references  # noqa: E402
from tests.support.peers.references import TOOLS, Word  # noqa: E402

PAGE = ROOT / "docs" / "how-to" / "references.md"
SETS = {
    "samples": "ten files made for references",
    "real": "real files of NCAR Graphics, Iris and the compliance checker",
    "shapes": "files of odd shapes (tests/support/peers/odd_references.py, odd_files.py)",
}
OURS = {
    "ours, `zarr2`": ("zarr2", 2, "zarr"),
    "ours, `zarr3`": ("zarr3", 3, "zarr"),
    "ours, `nczarr`, read by us": ("nczarr", 2, "ours"),
}
"""Columns of ours: the metadata, the version of Zarr, who reads."""
WORDS: dict[Word, str] = {
    "wrong": "wrong", "lost": "lost", "named": "named", "unreadable": "fail", "no document": "no document"
}  # fmt: skip
ROWS = (
    "netCDF-3, fixed", "netCDF-3, records", "netCDF-3, the only record variable", "CDF-5, fixed", "CDF-5, records",
    "CDF-5, the only record variable", "contiguous", "chunked", "compact", "external files", "virtual",
    "deflate, shuffle", "fletcher32, first", "fletcher32, last", "fletcher32, alone", "filter masks", "szip", "lzf",
    "n-bit", "scale-offset",
    "other filters", "scalar", "big-endian", "char", "text of any length", "text of fixed length", "vlen", "compound",
    "enum", "opaque", "in a group", "a length of 0", "never written, default fill", "never written, with `_FillValue`",
    "chunks never written, default fill", "chunks never written, with `_FillValue`", "never written, no fill",
    "chunks never written, no fill", "hidden from netCDF",
)  # fmt: skip
"""Classes in the order of the table."""


class Case(NamedTuple):
    """One file: its set, the classes of its variables, and what became of them by tool."""

    kind: str
    path: Path
    classes: dict[str, list[str]]
    words: dict[str, dict[str, Word]]


def subjects(shared: Path, real: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file with its set."""
    for path in sorted((shared / "data/references").glob("*.nc")):
        yield "samples", path
    for subject in exactness.real(real):
        yield "real", subject.path
    for name, make in {**odd_files.FILES, **odd_references.FILES}.items():
        if name not in odd_references.NOT_THEIRS:
            path = folder / f"{name}.nc"
            make(path)
            yield "shapes", path


def survey(kind: str, path: Path, folder: Path, interpreter: str) -> Case:
    """One file through every tool."""
    found = references.truth(path)
    words: dict[str, dict[str, Word]] = {}
    for tool in TOOLS:
        document = folder / f"{kind}.{path.stem}.{tool}.json"
        made, said = references.by_others(tool, interpreter, path, document)
        words[tool] = references.judge(found, references.read(document, found) if made else None, said)
    for column, (metadata, form, reader) in OURS.items():
        document = folder / f"{kind}.{path.stem}.{metadata}.json"
        made, said = references.by_us(path, document, "--metadata", metadata)
        words[column] = references.judge(found, references.read(document, found, reader, form) if made else None, said)
    return Case(kind, path, found.classes, words)


def main(shared: Path, real: Path) -> list[Case]:
    """All files."""
    interpreter = references.others_interpreter()
    if interpreter is None:
        raise SystemExit("NCZARR_KERCHUNK names no interpreter with kerchunk and VirtualiZarr")
    found = []
    with tempfile.TemporaryDirectory() as name:
        for kind, path in subjects(shared, real, Path(name)):
            try:
                case = survey(kind, path, Path(name), interpreter)
            except AssertionError as error:
                print(path.name, error, file=sys.stderr)
                continue
            found.append(case)
            counts = {tool: dict(Counter(words.values())) for tool, words in case.words.items()}
            print(kind, path.name, counts, file=sys.stderr, flush=True)
    return found


COLUMNS = {"kerchunk": "kerchunk", "kerchunk-inline0": "kerchunk, inline 0", "virtualizarr": "VirtualiZarr"}
COLUMNS |= {column: column for column in OURS}


def text(cases: list[Case]) -> str:
    """The table."""
    lines = [f"| variables | all | {' | '.join(COLUMNS.values())} |\n", "|---" * (len(COLUMNS) + 2) + "|\n"]
    known = [(case, name) for case in cases for name in case.words[TOOLS[0]]]
    for kind, what in SETS.items():
        lines.append(_row(what, [(case, name) for case, name in known if case.kind == kind]))
    lines += [_row(row, [(case, name) for case, name in known if row in case.classes[name]]) for row in ROWS]
    return "".join(lines)


def _row(what: str, chosen: list[tuple[Case, str]]) -> str:
    """How many variables were right, and what became of the others."""
    cells = []
    for tool in COLUMNS:
        counts = Counter(case.words[tool][name] for case, name in chosen)
        others = ", ".join(f"{counts[word]} {said}" for word, said in WORDS.items() if counts[word])
        cells.append(f"{counts['right']}{'; ' if others else ''}{others}")
    return f"| {what} | {len(chosen)} | {' | '.join(cells)} |\n" if chosen else ""


def page(cases: list[Case]) -> str:
    """docs/how-to/references.md with the table between its marks."""
    old = PAGE.read_text(encoding="utf-8")
    made = text(cases)
    return re.sub(
        r"(<!-- peers -->\n).*?(<!-- end -->)", lambda match: match[1] + made + match[2], old, flags=re.DOTALL
    )


if __name__ == "__main__":
    folders = [Path(argument).resolve() for argument in sys.argv[1:] if not argument.startswith("--")]
    shared_folder = folders[0] if folders else ROOT.parent / "shared"
    real_files = folders[1] if len(folders) > 1 else exactness.real_folder()
    if real_files is None:
        raise SystemExit("name the folder of real files: `../shared/tools/real-files REAL` brings them")
    made = page(main(shared_folder, real_files))
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == made else "docs/how-to/references.md is stale")
    PAGE.write_text(made, encoding="utf-8")
