"""Run by an interpreter that has awkward0: makes arrays of all kinds, and prints what it persists of them.

Arguments: seed and number. Standard output: one JSON object a line, `{"name": key of the document, "storage": {key:
base64}, "value": …}`; the value as `read_awkward0.marked` has it of the array that awkward0 reads back. Python 3.8.
"""

import base64
import io
import json
import random
import sys

import awkward0
import numpy

sys.stdin = io.StringIO()  # the module answers questions that stand there
from read_awkward0 import marked  # noqa: E402

NUMBERS = ["i1", "<i2", ">i4", "i8", ">i8", "u1", "u2", "u8", "f2", "f4", ">f8", "c16", "bool", "M8[ms]"]


def elements(pick, length):
    kind = pick.randrange(6)
    if kind == 0:
        return numpy.array(["a", "bcd", "é", ""] * length)[:length]
    if kind == 1:
        return numpy.array([b"a", b"b\0c", b""] * length, "S3")[:length]
    if kind == 2:
        return numpy.arange(length * 6).reshape(length, 2, 3)
    if kind == 3:
        found = numpy.zeros(length, [("x", "i4"), ("y", ">f8", (2,)), ("z", [("p", "u1")])])
        found["x"] = numpy.arange(length)
        return found
    return numpy.array([pick.randrange(100) for _ in range(length)], "i8").astype(pick.choice(NUMBERS))


def lists(pick, length, depth):
    if pick.random() < 0.5:
        counts = [pick.randrange(4) for _ in range(length)]
        return awkward0.JaggedArray.fromcounts(counts, made(pick, sum(counts) + pick.randrange(3), depth))
    starts = numpy.array([pick.randrange(5) for _ in range(length)], "i8")
    stops = starts + numpy.array([pick.randrange(5) for _ in range(length)], "i8")
    return awkward0.JaggedArray(starts, stops, made(pick, 10, depth))


def texts(pick, length, _):
    if pick.random() < 0.5:
        return awkward0.StringArray.fromiter([pick.choice(["", "a", "日本"]) for _ in range(length)])
    return awkward0.StringArray.fromiter([pick.choice([b"", b"\xff", b"xyz"]) for _ in range(length)], encoding=None)


def table(pick, length, depth):
    names = pick.choice([["a"], ["a", "b"], ["x", "é", ""]])
    found = awkward0.Table.frompairs([(name, made(pick, length + pick.randrange(2), depth)) for name in names])
    return found[:: pick.choice([1, 2, -1])] if pick.random() < 0.3 else found


def masked(pick, length, depth):
    mask = numpy.array([pick.random() < 0.5 for _ in range(length)], bool)
    when = pick.random() < 0.5
    if pick.random() < 0.3:
        return awkward0.MaskedArray(mask, made(pick, length + pick.randrange(2), depth), maskedwhen=when)
    if pick.random() < 0.5:
        order = pick.random() < 0.5
        return awkward0.BitMaskedArray.fromboolmask(mask, made(pick, length, depth), maskedwhen=when, lsborder=order)
    index = [pick.randrange(-1, 4) for _ in range(length)]
    return awkward0.IndexedMaskedArray(numpy.array(index, "i8"), made(pick, 5, depth))


def indexed(pick, length, depth):
    index = numpy.array([pick.randrange(5) for _ in range(length)], pick.choice(["i8", "i4", "u1"]))
    return awkward0.IndexedArray(index, made(pick, 5, depth))


def sparse(pick, length, _):
    index = numpy.array(sorted(pick.sample(range(length), min(length, 3))), "i8")
    return awkward0.SparseArray(length, index, numpy.arange(1.0, len(index) + 1), default=pick.choice([None, 5.5, 3]))


def union(pick, length, depth):
    if not length:
        return elements(pick, length)
    tags = numpy.array([pick.randrange(2) for _ in range(length)], "u1")
    contents = [made(pick, length, depth), made(pick, length, depth)]
    if pick.random() < 0.5:
        return awkward0.UnionArray.fromtags(tags, contents)
    return awkward0.UnionArray(tags, numpy.array([pick.randrange(length) for _ in range(length)], "i8"), contents)


def chunks(pick, length, _):
    cut, values = pick.randrange(length + 1), elements(pick, length)
    return awkward0.ChunkedArray([values[:cut], values[cut:]])


def value(pick, depth):
    kind = pick.random()
    if not depth or kind < 0.3:
        return pick.choice([1, 2.5, True, None, "s", "é"])
    if kind < 0.7:
        return [value(pick, depth - 1) for _ in range(pick.randrange(4))]
    return {"a": value(pick, depth - 1), "b": pick.randrange(5)}


def made(pick, length, depth):
    """An array of this length, with arrays in it to this depth."""
    kinds = [lists, lists, texts, table, masked, indexed, sparse, union, chunks]
    return pick.choice(kinds)(pick, length, depth - 1) if depth and pick.random() < 0.9 else elements(pick, length)


def persisted(pick):
    """A storage, the key of its document, and the value of the array."""
    length = pick.randrange(6)
    if pick.random() < 0.3:
        array = awkward0.fromiter([value(pick, 3) for _ in range(length)])
    else:
        array = made(pick, length, 3)
    if pick.random() < 0.3:
        array = array[1:]
    storage, name = {}, pick.choice(["", "v"])
    suffixes = pick.choice([{}, {"suffix": ".raw", "schemasuffix": ".json"}])
    awkward0.persist.serialize(array, storage, name, compression=pick.choice([None, True]), **suffixes)
    key = name + suffixes.get("schemasuffix", "")
    return key, storage, marked(awkward0.persist.deserialize(storage, key))


def stored(data):
    """The bytes of what awkward0 puts into a dictionary."""
    return data.tobytes() if isinstance(data, numpy.ndarray) else data


pick, wanted = random.Random(int(sys.argv[1])), int(sys.argv[2])
while wanted:
    try:
        key, storage, content = persisted(pick)
    except Exception as error:  # awkward0 does not read all that it writes
        print("{}: {}".format(type(error).__name__, error), file=sys.stderr)  # noqa: UP032
        continue
    blobs = {name: base64.b64encode(stored(data)).decode() for name, data in storage.items()}
    print(json.dumps({"name": key, "storage": blobs, "value": content}))
    wanted -= 1
