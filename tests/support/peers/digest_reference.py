"""docs/reference/digest.md (`nczarr-digest-1`) once more, written from that page alone, with hashlib and numpy.

A group is a dict: `types` {name: definition}, `dimensions` {name: (length, unlimited)}, `attributes` [(name, type,
array)], `variables` {name: (type, [(dimension, length)], attributes, array)}, `groups` {name: group}. Definitions:
("enum", base, [(name, bytes)]), ("opaque", size), ("vlen", base), ("compound", [(name, type, lengths)]). Strings are
bytes or None in arrays of objects, lists are arrays in such, records are structured. `types`: definitions by FQN.
"""

from hashlib import sha256

import numpy as np

NAMES = "byte ubyte char short ushort int uint int64 uint64 float double string".split()
SIZES = dict(zip(NAMES, (1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16), strict=True))
VERSION = "nczarr-digest-1"


def number(n):
    return int(n).to_bytes(8, "little")


def text(s):
    data = s if isinstance(s, bytes) else s.encode("utf-8", "surrogateescape")
    return number(len(data)) + data


def hashed(*pieces):
    return sha256(b"".join(pieces)).digest()


def listed(named):
    return number(len(named)) + b"".join(text(name) + named[name] for name in sorted(named, key=str.encode))


def weight(kind, types):
    word, *rest = types.get(kind, ("",))
    if word == "compound":
        return sum(int(np.prod(lengths)) * weight(field, types) for _, field, lengths in rest[0])
    if word == "opaque":
        return rest[0]
    return 16 if word == "vlen" else SIZES[rest[0] if word == "enum" else kind]


def elements(kind, a, types):
    word, *rest = types.get(kind, ("",))
    if not a.dtype.hasobject:
        return a.astype(a.dtype.newbyteorder("<")).tobytes()
    if word == "compound":
        return b"".join(elements(field, a[name].reshape(-1), types) for name, field, _ in rest[0])
    if word == "vlen":
        inner = elements(rest[0], np.concatenate(list(a)), types) if len(a) else b""
        return b"".join(number(len(each)) for each in a) + inner
    return b"".join(b"\xff" * 8 if each is None else text(each) for each in a)


def values(kind, a, types):
    most = max(1, 65536 // weight(kind, types))
    if a.size <= most:
        return hashed(elements(kind, a.reshape(-1), types))
    k = max(1, most // a[:1].size)
    h = [values(kind, a[i] if a[:1].size > most else a[i : i + k], types) for i in range(0, len(a), k)]
    while len(h) > 1:
        h = [hashed(*h[i : i + 256]) for i in range(0, len(h), 256)]
    return h[0]


def attributes(given, types):
    found = ((name, kind, a.size, elements(kind, a.reshape(-1), types)) for name, kind, a in given)
    return number(len(given)) + b"".join(text(n) + text(t) + number(size) + text(data) for n, t, size, data in found)


def definition(word, *rest):
    if word in ("opaque", "vlen"):
        return text(word) + (number if word == "opaque" else text)(rest[0])
    if word == "enum":
        return text(word) + text(rest[0]) + number(len(rest[1])) + b"".join(text(n) + value for n, value in rest[1])
    fields = (text(n) + text(t) + number(len(shape)) + b"".join(map(number, shape)) for n, t, shape in rest[0])
    return text(word) + number(len(rest[0])) + b"".join(fields)


def variable(kind, axes, given, a, types):
    model = text(kind) + number(len(axes)) + b"".join(text(name) + number(length) for name, length in axes)
    return hashed(text(VERSION), text("variable"), model, attributes(given, types), values(kind, a, types))


def group(it, types):
    defined = {name: definition(*each) for name, each in it["types"].items()}
    dimensions = {name: number(length) + number(grows) for name, (length, grows) in it["dimensions"].items()}
    own = attributes(it["attributes"], types) + listed(defined) + listed(dimensions)
    variables = listed({name: variable(*each, types) for name, each in it["variables"].items()})
    groups = listed({name: group(each, types) for name, each in it["groups"].items()})
    return hashed(text(VERSION), text("group"), hashed(text(VERSION), text("model"), own), variables, groups)
