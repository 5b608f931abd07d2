"""Row C2: a million entries of one generator of two dimensions, written as version 0, against fsspec with full
templates.

Goals: 2 µs an entry in processor time, a hundredth of fsspec's time an entry. fsspec expands a hundredth of the
entries, since it needs about a millisecond for each. Compared: the entries that both have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness import OURS, execute, main, need, show

MEASURES = ("formats/reference", "plugins/refs")

SCALE = 100
PEER = """
import json, sys
from fsspec.implementations.reference import ReferenceFileSystem
made = ReferenceFileSystem(json.load(open(sys.argv[1])), simple_templates=False)
json.dump({key: made.references[key] for key in made.references}, open("theirs.json", "w"))
"""


def document(rows: int, columns: int) -> dict[str, object]:
    """Chunks of a regular array in one file."""
    item = {
        "key": "t/{{i}}.{{j}}",
        "url": "{{u}}",
        "offset": f"{{{{(i*{columns}+j)*4096+2048}}}}",
        "length": "4096",
        "dimensions": {"i": {"stop": rows}, "j": {"stop": columns}},
    }
    return {"version": 1, "templates": {"u": "file:///data/a.nc"}, "gen": [item]}


def row(folder: Path, quick: bool) -> bool:
    """Both in turn; the whole processes less what they need for a document of one entry."""
    need("fsspec", "jinja2")
    rows, columns = (300, 1000) if quick else (1000, 1000)
    for name, count in (("full", rows), ("part", rows // SCALE), ("one", 0)):
        made = document(count or 1, columns if count else 1)
        (folder / f"{name}.json").write_text(json.dumps(made))
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(3):
        ours.append(
            _work(["full.json", "one.json"], folder, [*OURS, "refs", "expand"], ["-o", "ours.json", "--overwrite"])
        )
        theirs.append(_work(["part.json", "one.json"], folder, [sys.executable, "-c", PEER], []))
    execute([*OURS, "refs", "expand", "full.json", "-o", "ours.json", "--overwrite"], folder)
    execute([sys.executable, "-c", PEER, "part.json"], folder)
    found, wanted = (json.loads((folder / f"{name}.json").read_text()) for name in ("ours", "theirs"))
    if len(found) != rows * columns or any(found[key] != list(value) for key, value in wanted.items()):
        raise AssertionError("the expansions differ")
    mine = [each / (rows * columns) * 1e6 for each in ours]
    peers = [each / (rows // SCALE * columns) * 1e6 for each in theirs]
    ratios = [each / peer for each, peer in zip(mine, peers, strict=True)]
    met = show("C2", ratios, 0.01, peer_us=round(sorted(peers)[1], 1), compared=f"{len(wanted)} entries")
    return show("C2, work", mine, 2.0, unit="µs an entry", decimals=3) and met


def _work(names: list[str], folder: Path, command: list[str], behind: list[str]) -> float:
    """Processor seconds for the first document beyond those for the second."""
    first, second = (execute([*command, name, *behind], folder).work for name in names)
    return first - second


if __name__ == "__main__":
    main(row)
