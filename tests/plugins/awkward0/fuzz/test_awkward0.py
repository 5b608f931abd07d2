"""Mutated documents of Awkward 0.x persistence and mutated blobs: values or diagnostics, in bounded time and memory."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics import render
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.awkward0.columns.nodes import Column
from tests.conftest import shared_folder
from tests.support.fuzz_limits import limits
from tests.support.ragged import CASES, OTHERS, Storage

VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    3,
    2**31,
    2**62,
    2**63,
    2**200,
    1.5,
    1e300,
    float("nan"),
    "",
    "1",
    "int64",
    "|b1",
    ">U2",
    "|V0",
    "O",
    "x" * 300,
    "\ud800",
    "\0",
    "utf-16",
    [],
    {},
    [[]],
    [1, "a"],
    [1, 2],
    [0, 0],
    [2**40, 2**40],
    [-1],
    ["<i2", [2]],
    [["a", "<i4"], ["b", ["|u1", [3]]]],
    ["awkward0", "IndexedMaskedArray"],
    ["awkward0", "JaggedArray", "fromoffsets"],
    ["awkward0", "ChunkedArray"],
    ["awkward0", "Table"],
    ["os", "system"],
    {"ref": 0},
    {"ref": 1},
    {"ref": 7},
    {"json": 2},
    {"json": [0, 1]},
    {"json": None},
    {"read": "1"},
    {"list": [{"json": [1]}, {"json": ["a"]}]},
    {"dtype": "<i8"},
    {"call": ["zlib", "decompress"], "args": [{"read": "1"}]},
    {"python": "gAJLAS4="},
    {"function": ["numpy", "frombuffer"]},
]
NAMES = [
    "id",
    "ref",
    "args",
    "kwargs",
    "call",
    "read",
    "absolute",
    "prefix",
    "json",
    "content",
    "counts",
    "mask",
    "view",
]


def vectors() -> list[Storage]:
    """The documents of the shared data, where they are; the small ones of the tests always."""
    found = [dict(storage) for storage, _ in (*CASES.values(), *OTHERS.values())]
    folder = shared_folder()
    for path in sorted((folder / "data/awkward0").glob("*.json")) if folder is not None else []:
        vector = json.loads(path.read_text())
        if "schema" in vector and isinstance(vector.get("blobs"), dict):
            blobs = {name: base64.b64decode(blob["base64"]) for name, blob in vector["blobs"].items()}
            found.append({"": json.dumps(vector["schema"]).encode(), **blobs})
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in places(item, (*path, key)))]


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def changed(document: Any, pick: random.Random) -> Any:
    """A document with another value, one taken away, one moved, renamed or repeated."""
    found = json.loads(json.dumps(document))
    everywhere = places(found)[1:]
    if not everywhere:
        return pick.choice(VALUES)
    path = pick.choice(everywhere)
    holder, last = at(found, path[:-1]), path[-1]
    match pick.randrange(8):
        case 0:
            del holder[last]
        case 1 if isinstance(holder, dict):
            holder[pick.choice(NAMES)] = holder.pop(last)
        case 2:
            holder[last] = json.loads(json.dumps(at(found, pick.choice(everywhere))))
        case 3 if isinstance(holder, list):
            holder.insert(last, json.loads(json.dumps(pick.choice(holder))))
        case 4 if isinstance(holder[last], int) and not isinstance(holder[last], bool):
            holder[last] += pick.choice([-1, 1, 7, 2**32])
        case 5 if isinstance(holder, dict):
            holder[pick.choice(NAMES)] = pick.choice(VALUES)
        case _:
            holder[last] = pick.choice(VALUES)
    return found


def mutated(storage: Storage, pick: random.Random) -> Storage:
    found = dict(storage)
    for _ in range(pick.randint(1, 3)):
        key = pick.choice(sorted(found)) if pick.random() < 0.4 else ""
        data = found.get(key, b"")
        match pick.randrange(10):
            case 0 if key or pick.random() < 0.3:
                found[key] = data[: pick.randrange(len(data) + 1)]
            case 1 | 2 if key or pick.random() < 0.3:
                place = pick.randrange(len(data) + 1)
                found[key] = data[:place] + bytes([pick.randrange(256)]) + data[place + 1 :]
            case 3 if key:
                del found[key]
            case 4 if key:
                found[key] = zlib.compress(data)
            case _ if key:
                found[key] = bytes(pick.choice([0, 1, 127, 128, 255]) for _ in data)
            case _:
                try:
                    document = json.loads(data)
                except ValueError:
                    continue
                found[key] = json.dumps(changed(document, pick)).encode("utf-8", "surrogatepass")
    return found


def judge(storage: Storage) -> bool:
    """Whether a document was accepted: then its arrays have as many items as they say, here and in awkward."""
    with limits():
        try:
            found = nczarr.awkward0.columns(storage)
        except CompileError as error:
            said(error)
            return False
        for column in _columns(found):
            try:
                items = nczarr.awkward0.items(column, 200_000)
            except ValueError:
                continue
            assert len(items) == len(column)
        try:
            nczarr.awkward0.deserialize(storage)
        except CompileError as error:
            said(error)
    return True


def said(error: CompileError) -> None:
    assert any(each.severity == "error" for each in error.diagnostics)
    assert all(each.code != "internal-error" for each in error.diagnostics)
    text = "".join(render.human(error.diagnostics))
    assert all(character.isprintable() or character == "\n" for character in text if ord(character) < 0x300)


def _columns(value: Any) -> list[Any]:
    if isinstance(value, Column):
        return [value]
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [column for each in below for column in _columns(each)]


def run(count: int, seed: int) -> None:
    pick = random.Random(seed)
    storages = vectors()
    accepted = sum(judge(mutated(pick.choice(storages), pick)) for _ in range(count))
    assert count // 100 < accepted < count, "mutations that change nothing, or always the same"


@pytest.mark.parametrize("seed", range(2))
def test_mutated_documents(seed: int) -> None:
    run(500, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_mutated_documents_at_length(seed: int) -> None:
    run(2000, seed if os.environ.get("NCZARR_RANDOM") != "1" else random.SystemRandom().randrange(1 << 30))


@pytest.mark.slow
def test_every_document_cut_off_everywhere() -> None:
    for storage in vectors():
        text = storage[""]
        for length in range(0, len(text), max(1, len(text) // 40)):
            judge(storage | {"": text[:length]})


def damaged(data: bytes, pick: random.Random) -> bytes:
    """A file with some bytes of it changed."""
    found = bytearray(data)
    first = pick.choice([0, max(0, len(data) - 400)])
    for _ in range(pick.randint(1, 4)):
        place = pick.randrange(first, len(found))
        new = pick.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", bytes([pick.randrange(256)]), b""])
        found[place : place + len(new or b"123")] = new
    return bytes(found)


def judge_container(open_: Callable[[], Any]) -> bool:
    """Whether all arrays of a container were read."""
    with limits():
        try:
            found = open_()
            for name in found if isinstance(found, Mapping) else ():
                found[name]
        except CompileError as error:
            said(error)
            return False
    return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_archives(how: int, tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        for name, data in CASES["counts"][0].items():
            archive.writestr(name or "a.json", data)
        archive.writestr("b.json", CASES["indexed"][0][""])
    pick, path, read = random.Random(how), tmp_path / "x.awkd", 0
    for _ in range(500):
        path.write_bytes(damaged(made.getvalue(), pick))
        read += judge_container(lambda: nczarr.awkward0.load(path))
    assert read < 500


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nczarr.plugins.awkward0.write.serialize.LostPartsWarning")
def test_damaged_groups(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for number, (storage, _) in enumerate(list(CASES.values())[:6]):
            nczarr.awkward0.hdf5(file)[f"a{number}"] = nczarr.awkward0.columns(storage)
    data, pick, read = (tmp_path / "x.h5").read_bytes(), random.Random(1), 0
    for number in range(300):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(damaged(data, pick))
        try:
            file = h5py.File(path)
        except (OSError, RuntimeError, KeyError, ValueError):
            continue
        read += judge_container(lambda: nczarr.awkward0.hdf5(file))  # noqa: B023
        file.close()
    assert read < 300
