"""Row H1: ten million ragged values from Awkward 0.x persistence, beside awkward0 itself.

Goal: at most awkward0's time. NCZARR_AWKWARD0 names an interpreter that has awkward0 0.15.5. The document, written by
awkward0, is a JaggedArray of three million lists in an archive: counts as int64, deflated by its default policy, and
content as float64. Both sides read it into memory and are then timed from `deserialize` of the storage to the array,
nine times in a process each, of which the first is not counted: imports are not part of it. Compared: the sums, by
lists, of all values. `columns` is the time to plain columns, without awkward.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from harness import execute, main, need_beside, show

MEASURES = ("formats/common", "plugins/awkward0")

MAKE = """
import sys, numpy, awkward0
lists, values = int(sys.argv[2]), int(sys.argv[3])
counts = numpy.bincount(numpy.random.RandomState(1).randint(0, lists, values), minlength=lists).astype("i8")
content = numpy.random.RandomState(2).rand(values)
awkward0.save(sys.argv[1], awkward0.JaggedArray.fromcounts(counts, content), mode="w")
"""
READ = """
import json, sys, time, zipfile, numpy
def seconds(read, times=9):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        made = read()
        found.append(time.perf_counter() - start)
    return made, found[1:]
archive = zipfile.ZipFile(sys.argv[1])
storage = {name: archive.read(name) for name in archive.namelist()}
"""
THEIRS = (
    READ
    + """
import awkward0
made, found = seconds(lambda: awkward0.deserialize(storage, ".json"))
json.dump({"seconds": found, "first": made.counts[:9].tolist(), "sum": float(made.content.sum()),
           "sums": float((made.sum() * (numpy.arange(len(made)) % 97)).sum())}, open(sys.argv[2], "w"))
"""
)
OURS = (
    READ
    + """
import awkward, nczarr.awkward0
made, found = seconds(lambda: nczarr.awkward0.deserialize(storage, ".json"))
_, columns = seconds(lambda: nczarr.awkward0.columns(storage, ".json"))
sums = awkward.sum(made, axis=1).to_numpy()
json.dump({"seconds": found, "columns": columns, "first": awkward.num(made)[:9].to_list(),
           "sum": float(awkward.sum(awkward.flatten(made))),
           "sums": float((sums * (numpy.arange(len(made)) % 97)).sum())}, open(sys.argv[2], "w"))
"""
)
GOAL = 1.0
ROUNDS = 5


def row(folder: Path, quick: bool) -> bool:
    """Both in turn, five rounds that count."""
    interpreter = need_beside("NCZARR_AWKWARD0", "awkward0")
    scale = 10 if quick else 1
    lists, values = 3_000_000 // scale, 10_000_000 // scale
    execute([interpreter, "-c", MAKE, "ragged.awkd", str(lists), str(values)], folder)
    sides = {"theirs": (interpreter, THEIRS), "ours": (sys.executable, OURS)}
    rounds = []
    for _ in range(ROUNDS + 1):
        found = {}
        for name, (python, script) in sides.items():
            execute([python, "-c", script, "ragged.awkd", f"{name}.json"], folder)
            found[name] = json.loads((folder / f"{name}.json").read_text())
        rounds.append(found)
    for each in rounds:
        theirs, ours = each["theirs"], each["ours"]
        close = all(abs(ours[name] - theirs[name]) <= 1e-9 * abs(theirs[name]) for name in ("sum", "sums"))
        if theirs["first"] != ours["first"] or not close:
            raise SystemExit("benchmark: the outputs differ")
    medians = [{name: statistics.median(each[name]["seconds"]) for name in sides} for each in rounds[1:]]
    columns = [statistics.median(each["ours"]["columns"]) for each in rounds[1:]]
    return show(
        "H1",
        [each["ours"] / each["theirs"] for each in medians],
        GOAL,
        peer_seconds=round(statistics.median(each["theirs"] for each in medians), 4),
        our_seconds=round(statistics.median(each["ours"] for each in medians), 4),
        columns_seconds=round(statistics.median(columns), 4),
        compared=f"{values} values in {lists} lists",
    )


if __name__ == "__main__":
    main(row)
