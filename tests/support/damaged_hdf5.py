"""Damaged HDF5 files: sources with every kind of structure, and changes of their bytes."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.conftest import ROOT

SIGNATURES = (
    b"GCOL", b"TREE", b"SNOD", b"HEAP", b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"FAHD", b"FADB",
    b"EAHD", b"EAIB", b"\x89HDF",
)  # fmt: skip
"""Signatures of the structures of HDF5 files."""

_OLD_HEADER = re.compile(rb"\x01\0..\x01\0\0\0..\0\0\0\0\0\0", re.DOTALL)
"""Object header of version 1."""

_BYTES = (0, 1, 2, 4, 8, 16, 0x7F, 0x80, 0xFE, 0xFF)

RUN = """
import sys
from nczarr.formats.netcdf4 import isolation
from tests.support.damaged_hdf5 import use
isolation.SECONDS_OF_HEADERS = 0.5  # HDF5 does not return from some damaged headers
for path in sys.argv[1:]:
    print(path, flush=True)
    use(path)
"""


def write_every_structure(h5py: ModuleType, path: Path, version: str) -> None:
    """Write a file with texts, lists, records, references, many attributes, links and all layouts."""
    texts, lists = h5py.string_dtype(), h5py.vlen_dtype("i4")
    with h5py.File(path, "w", libver=version) as file:
        file.create_dataset("texts", data=np.array(["ab", "cde", ""] * 3, object), dtype=texts)
        data = file.create_dataset("lists", (4,), dtype=lists)
        data[0], data[2] = [1, 2, 3], [5]
        data = file.create_dataset("chunked", (6,), dtype=lists, chunks=(2,), compression="gzip")
        data[1], data[5] = [1], [2, 3]
        record = file.create_dataset("record", (2,), dtype=np.dtype([("a", "i4"), ("s", texts), ("l", lists)]))
        record[0] = 1, "xx", np.array([1, 2], "i4")
        file.create_dataset("references", data=np.array([file["texts"].ref], object), dtype=h5py.ref_dtype)
        for number in range(12):
            file["texts"].attrs[f"a{number}"] = f"text {number}"
        file.attrs["names"] = np.array([f"value{number}" for number in range(7)] + [""], object)
        group = file.create_group("g")
        group.create_dataset("x", data=np.arange(20.0), chunks=(5,), maxshape=(None,), compression="gzip", shuffle=True)
        group.create_dataset("y", data=np.arange(24).reshape(4, 6), chunks=(2, 3))
        group.create_dataset("z", (6, 6), "i2", chunks=(2, 2), maxshape=(None, None))[:] = 3
        group.create_dataset("scaled", data=np.arange(12), chunks=(4,), scaleoffset=0)  # the library reads it
        group.create_dataset("fixed", data=np.array([b"abc", b"de"], "S4"))
        group.create_dataset("enum", data=[0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i1"))
        file["link"] = h5py.SoftLink("/g/x")


def changed(data: bytes, pick: random.Random) -> bytes:
    """Return the bytes of a file with one to six changes, most of them in its structures; or cut off."""
    if pick.random() < 0.05:
        return data[: pick.randrange(len(data))]
    places = [match.start() for name in SIGNATURES for match in re.finditer(re.escape(name), data)]
    places += [match.start() for match in _OLD_HEADER.finditer(data) if match.start() % 8 == 0]
    out = bytearray(data)
    for _ in range(pick.choice((1, 1, 2, 3, 6))):
        at = pick.choice(places) + int(pick.expovariate(1 / 60)) if pick.random() < 0.9 else pick.randrange(len(out))
        width = pick.choice((1, 1, 2, 4, 8))
        match pick.randrange(4):
            case 0:
                new = bytes(pick.choice(_BYTES) for _ in range(width))
            case 1:
                new = pick.choice((b"\xff", b"\0")) * width
            case 2:
                number = int.from_bytes(out[at : at + width], "little") + pick.choice((-1, 1, 8, -8, 256))
                new = (number % (1 << 8 * width)).to_bytes(width, "little")
            case _:
                new = pick.randbytes(width)
        if at + width <= len(out):
            out[at : at + width] = new
    return bytes(out)


MANY = 1 << 27
"""Cells of which one is read: as much memory may not be there."""


def use(path: str) -> None:
    """Open a file and read all of it. Damage is an error of the package, or a warning."""
    import nczarr
    from nczarr import CompileError

    def read(group: nczarr.GroupHandle) -> None:
        for variable in group.variables.values():
            try:
                variable[... if variable.size < MANY else (0,) * len(variable.shape)]
            except (CompileError, OSError):
                continue
        for child in group.groups.values():
            read(child)

    try:
        dataset = nczarr.open(path)
    except (CompileError, OSError):
        return
    with dataset:
        read(dataset)


def run_all(paths: list[Path]) -> tuple[int, str, str]:
    """Use files one after the other in one process. Return its status, the last file, its standard error."""
    command = [sys.executable, "-W", "ignore", "-c", RUN, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout.splitlines() or [""])[-1], done.stderr
