"""CDL files, and random changes of them."""

from __future__ import annotations

import random
from pathlib import Path

from tests.conftest import ROOT, shared_folder


def own() -> list[Path]:
    return sorted((ROOT / "samples").glob("*.cdl"))


def corpus() -> list[Path]:
    """Small real CDL files, ours first."""
    folder = shared_folder()
    shared = [] if folder is None else sorted((folder / "data" / "netcdf-c" / "cdl").rglob("*.cdl"))
    return [*own(), *(path for path in shared if path.stat().st_size < 4000)]


def mutate(data: bytes, pick: random.Random) -> bytes:
    """One to four random changes: a byte, a deletion, a repetition, a swap, a token of the language."""
    out = bytearray(data)
    for _ in range(pick.randint(1, 4)):
        at = pick.randrange(len(out) + 1)
        match pick.randrange(6):
            case 0 if at < len(out):
                out[at] = pick.randrange(256)
            case 1:
                del out[at : at + pick.randint(1, 20)]
            case 2:
                out[at:at] = out[at : at + pick.randint(1, 40)]
            case 3:
                other = pick.randrange(len(out) + 1)
                out[at:at] = out[other : other + pick.randint(1, 40)]
            case 4:
                out[at:at] = pick.choice(TOKENS)
            case _:
                out[at:at] = bytes(pick.randrange(256) for _ in range(pick.randint(1, 4)))
    return bytes(out)


WORDS = "{ } ( ) ; : = , _ \" ' \\ / /* */ // 0x NaN NIL * netcdf group: data: types: UNLIMITED compound"
TOKENS = [
    *(word.encode() for word in f"{WORDS} enum opaque string char :_FillValue= :_ChunkSizes=".split()),
    b"9" * 400,
    b"-1", b"1e999", b"99999999999", b"\xff", b"\x00", b"\xed\xa0\x80", b"(" * 300, b"{" * 3000, b"\xef\xbb\xbf",
]  # fmt: skip
