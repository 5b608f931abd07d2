"""Single bytes changed inside values: a fifth are accepted at least, with the value that a byte-exact reading predicts.

The predictions are made here from the grammar's own words, by other code than the compiler's.
"""

from __future__ import annotations

import random
import re
import struct

import pytest

from nczarr.semantics.checked import Checked
from tests.support.fuzz_limits import compiled

HEAD = b"netcdf t {\ndimensions:\n  x = 4 ;\nvariables:\n"

INTEGER = re.compile(rb"[+-]?(?:0|[1-9][0-9]*|0[0-7]+)\Z")
REAL = re.compile(rb"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?\Z")
BOUNDS = {"byte": 2**7, "short": 2**15, "int": 2**31, "int64": 2**63}


def text(kind: str, items: list[bytes]) -> bytes:
    return HEAD + f"  {kind} v(x) ;\ndata:\n  v = ".encode() + b", ".join(items) + b" ;\n}\n"


def predicted(kind: str, item: bytes) -> float | int | None:
    """The value of one plain number, None where this simple reading does not say."""
    if INTEGER.match(item):
        digits = item.lstrip(b"+-")
        value = int(digits, 8 if digits.startswith(b"0") and len(digits) > 1 else 10) * (
            -1 if item.startswith(b"-") else 1
        )
        if kind in BOUNDS:
            return value if -BOUNDS[kind] <= value < BOUNDS[kind] else None
        return _rounded(kind, value) if abs(value) < 2**63 else None
    if REAL.match(item) and kind in ("float", "double"):
        return _rounded(kind, float(item))
    return None


def _rounded(kind: str, value: float) -> float | None:
    if kind == "double":
        return float(value)
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None
    return single


def values_of(checked: Checked) -> list[float | int]:
    source = checked.parts["/v"][""]
    return source.read((slice(0, checked.shapes["/v"][0]),)).tolist()


NUMBERS = {
    "byte": (-128, 127), "short": (-32768, 32767), "int": (-(2**31), 2**31 - 1), "int64": (-(2**62), 2**62),
}  # fmt: skip


def number(kind: str, pick: random.Random) -> bytes:
    if kind in NUMBERS:
        return b"%d" % pick.randint(*NUMBERS[kind])
    return pick.choice((f"{pick.uniform(-1000, 1000):.4f}", f"{pick.uniform(-1, 1):.3e}", "0.5", "-2.")).encode()


@pytest.mark.parametrize("kind", ["byte", "short", "int", "int64", "float", "double"])
def test_numbers(kind: str) -> None:
    pick = random.Random(f"numbers {kind}")
    accepted = judged = 0
    for _ in range(150):
        items = [number(kind, pick) for _ in range(4)]
        position = pick.randrange(4)
        item = bytearray(items[position])
        item[pick.randrange(len(item))] = pick.choice(b"0123456789.+-eE")
        items[position] = bytes(item)
        checked, found = compiled(text(kind, items))
        if checked is None:
            assert found
            assert predicted(kind, items[position]) is None, (kind, items[position], found)
            continue
        accepted += 1
        wanted = [predicted(kind, each) for each in items]
        if None not in wanted and not found:
            judged += 1
            assert values_of(checked) == wanted, items
    assert accepted >= 30
    assert judged >= 30


ESCAPES = {
    b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11, b"\\": 92, b"'": 39, b'"': 34, b"?": 63,
}  # fmt: skip


def unescaped(body: bytes) -> bytes | None:
    """The bytes of a string constant, None if it is none or an escape is doubtful."""
    out, at = bytearray(), 0
    while at < len(body):
        byte = body[at : at + 1]
        if byte == b'"':
            return None
        if byte != b"\\":
            out += byte
            at += 1
            continue
        octal = re.match(rb"\\([0-3][0-7]{2})", body[at:])
        hexadecimal = re.match(rb"\\x([0-9a-fA-F]{2})", body[at:])
        if octal:
            out.append(int(octal.group(1), 8))
            at += 4
        elif hexadecimal:
            out.append(int(hexadecimal.group(1), 16))
            at += 4
        elif body[at + 1 : at + 2] in ESCAPES:
            out.append(ESCAPES[body[at + 1 : at + 2]])
            at += 2
        else:
            return None
    return bytes(out)


def test_texts() -> None:
    pick = random.Random("texts")
    accepted = 0
    for _ in range(300):
        body = bytearray(b"some text \\t and \\351 or \\\\ and \\x41.")
        body[pick.randrange(len(body))] = pick.choice(b"abcxyzXYZ 0123457\"\\'?;{}")
        wanted = unescaped(bytes(body))
        checked, found = compiled(b'netcdf t {\n  :a = "' + bytes(body) + b'" ;\n}\n')
        if checked is None:
            assert wanted is None, (bytes(body), found)
            continue
        accepted += 1
        if wanted is not None and not found:
            assert checked.dataset.attributes[0].value.data == wanted
    assert accepted >= 60
