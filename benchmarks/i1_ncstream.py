"""Row I1: decoding and encoding 200 MB of data messages, beside siphon and beside a copy in memory.

Goals: decode in a tenth of siphon's time, each kind of message that siphon reads; encode doubles
within twice the time of copying them in memory. Each kind is a stream of its own, in memory for both sides; a side
reads it twice in a process of its own, of which the first is not counted. Streams of strings, lists and structures have
a tenth of the size. Compared: the shapes and sums of all values. Encoding writes to a file object that takes the bytes
and drops them; the copy is `array.copy()`.

What bounds the kinds: numbers are views; deflated ones take what inflating takes; strings and lists of the first kind
what making one Python object a value takes, which is most of siphon's time too. Siphon makes a text of every protobuf
message for a log that is off, and that is nearly all of its time for columns and structures.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from harness import execute, main, need, show

MEASURES = ("plugins/ncstream",)

KINDS = ("doubles", "deflated", "strings", "lists", "structure", "columns", "column lists", "column structure")
GOAL, ENCODE_GOAL = 0.1, 2.0
ROUNDS = 3

MAKE = """
import io, sys
import numpy as np
import nczarr.ncstream as door
kind, size, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(1)
def doubles(count):
    return np.round(rng.standard_normal(count), 2)
def lists(count):
    counts = rng.integers(0, 40, count)
    ends = np.cumsum(counts)
    made = np.empty(count, object)
    made[:] = np.split(doubles(int(ends[-1])), ends[:-1])
    return made
def records(count):
    made = np.zeros(count, [("id", "<i4"), ("t", "<f8"), ("p", "<f4"), ("q", "u1")])
    for name in made.dtype.names:
        made[name] = rng.integers(0, 100, count)
    return made
if kind == "doubles":
    made = [door.data("v", doubles(size // 8))]
elif kind == "deflated":
    made = [door.data("v", doubles(size // 8))]
    made[0].deflate = 4
elif kind == "strings":
    made = [door.data("v", np.array([f"station {n}" for n in rng.integers(0, 10**6, size // 160)], object))]
elif kind == "lists":
    made = [door.data("v", lists(size // 1600), column=False)]
elif kind == "structure":
    made = [door.data("v", records(size // 170), column=False)]
elif kind == "columns":
    made = [door.data("v", doubles(size // 8), column=True)]
elif kind == "column lists":
    made = [door.data("v", lists(size // 1600))]
elif kind == "column structure":
    made = [door.data("v", records(size // 170))]
with open(path, "wb") as out:
    door.write_messages(made, out)
"""

READ = """
import io, json, sys, time
import numpy as np
stream = open(sys.argv[1], "rb").read()
def seconds(read, times=2):
    found = []
    for _ in range(times):
        made = None
        start = time.perf_counter()
        made = read()
        found.append(time.perf_counter() - start)
    return made, found[1:]
def summed(values):
    if values.dtype.names:
        return [summed(values[name]) for name in values.dtype.names]
    if values.dtype.kind == "V":
        return [int(np.frombuffer(values.tobytes(), "u1").sum(dtype="i8"))]
    if values.dtype.kind == "O":
        some = values.ravel()
        if isinstance(some[0], str):
            return [len(some), sum(map(len, some)), some[-1]]
        return [len(some), sum(map(len, some)), round(float(np.concatenate(list(some)).sum(dtype="f8")), 3)]
    return [values.size, round(float(values.sum(dtype="f8")), 3)]
def done(made, found, values):
    json.dump({"seconds": found, "sum": summed(values)}, open(sys.argv[2], "w"))
"""
THEIRS = (
    READ
    + """
import siphon.cdmr.ncstream as siphon
made, found = seconds(lambda: siphon.read_ncstream_messages(io.BytesIO(stream)))
values = made[0].view(f"V{made[0].dtype.itemsize}") if made[0].dtype.names and sys.argv[3] == "structure" else made[0]
done(made, found, values)
"""
)
OURS = (
    READ
    + """
import nczarr.ncstream as door
def read():
    made = list(door.read_messages(stream))
    made[0].values
    return made
made, found = seconds(read)
done(made, found, made[0].values)
"""
)
ENCODE = """
import json, sys, time
import numpy as np
import nczarr.ncstream as door
array = np.random.default_rng(1).standard_normal(int(sys.argv[1]) // 8)
class Drop:
    size = 0
    def write(self, data):
        self.size += len(data)
ratios, found = [], {"copy": [], "encode": [], "columns": []}
for _ in range(7):
    for name in found:
        made = None
        message = door.data("v", array, column=name == "columns")
        start = time.perf_counter()
        if name == "copy":
            made = array.copy()
        else:
            out = Drop()
            door.write_messages([message], out)
        found[name].append(time.perf_counter() - start)
        assert name == "copy" or out.size > array.nbytes
json.dump({name: each[1:] for name, each in found.items()}, open(sys.argv[2], "w"))
"""


def row(folder: Path, quick: bool) -> bool:
    """Each kind in turn, three rounds that count; then encoding."""
    need("siphon")
    size, rounds = (2_000_000, 1) if quick else (200_000_000, ROUNDS)
    met = []
    for kind in KINDS:
        execute([sys.executable, "-c", MAKE, kind, str(size), "v.ncs"], folder)
        met.append(_decode(folder, kind, rounds))
        (folder / "v.ncs").unlink()
    execute([sys.executable, "-c", ENCODE, str(size), "encode.json"], folder)
    found = json.loads((folder / "encode.json").read_text())
    ratios = {
        name: [ours / copy for ours, copy in zip(found[name], found["copy"], strict=True)]
        for name in ("encode", "columns")
    }
    more = {"to_columns": round(statistics.median(ratios["columns"]), 3), "compared": "sizes"}
    seconds = round(statistics.median(found["copy"]), 4)
    return show("I1, encode", ratios["encode"], ENCODE_GOAL, peer_seconds=seconds, **more) and all(met)


def _decode(folder: Path, kind: str, count: int) -> bool:
    rounds = []
    for _ in range(count + 1):
        found = {}
        for name, script in (("theirs", THEIRS), ("ours", OURS)):
            execute([sys.executable, "-c", script, "v.ncs", f"{name}.json", kind], folder)
            found[name] = json.loads((folder / f"{name}.json").read_text())
        if found["theirs"]["sum"] != found["ours"]["sum"]:
            raise SystemExit(f"benchmark: the values of {kind} differ: {found}")
        rounds.append({name: statistics.median(each["seconds"]) for name, each in found.items()})
    counted = rounds[1:]
    return show(
        f"I1, {kind}",
        [each["ours"] / each["theirs"] for each in counted],
        GOAL,
        peer_seconds=round(statistics.median(each["theirs"] for each in counted), 4),
        our_seconds=round(statistics.median(each["ours"] for each in counted), 5),
        compared="shapes and sums of all values",
    )


if __name__ == "__main__":
    main(row)
