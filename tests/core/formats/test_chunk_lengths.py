"""Chunks of a wrong length are errors, wherever they lie and whatever is done with them."""

from __future__ import annotations

import gzip
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numcodecs
import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.crc32c import crc32c
from tests.conftest import run_command
from tests.support.plugins import skip_without

LENGTHS = re.compile(r"there are \d+ (bytes|strings), and .*\d")
SIZE = 12
"""Bytes of a chunk of numbers: three integers, of which the last chunk holds two within the array."""

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "element-short": lambda data: data[:-4],
    "byte-short": lambda data: data[:-1],
    "byte-long": lambda data: data + b"\0",
    "element-long": lambda data: data + data[:4],
    "twice": lambda data: data + data,
    "empty": lambda data: b"",
}

Pair = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]


def of(codec: Any) -> Pair:
    return (lambda data: bytes(codec.decode(data))), (lambda data: bytes(codec.encode(data)))


CODECS: dict[str, Pair] = {
    "none": (bytes, bytes),
    "zlib": (zlib.decompress, zlib.compress),
    "zstd": of(numcodecs.Zstd()),
    "blosc": of(numcodecs.Blosc()),
    "bz2": of(numcodecs.BZ2()),
    "gzip": (gzip.decompress, gzip.compress),
    "crc32c": (lambda data: data[:-4], lambda data: data + crc32c(data).to_bytes(4, "little")),
    "fletcher32": of(numcodecs.Fletcher32()),
}
PLAIN = ("none", "crc32c", "fletcher32")
"""Codecs behind which a wrong length shows without decoding."""

FORMS = [
    *(("zarr2", codec) for codec in ("none", "zlib", "zstd", "blosc", "bz2", "fletcher32")),
    *(("nczarr", codec) for codec in ("none", "zlib")),
    *((form, codec) for form in ("zarr3", "nczarr3") for codec in ("none", "gzip", "zstd", "blosc", "crc32c")),
    *(("zarr3-2019", codec) for codec in ("none", "gzip")),
]
VARIANTS = [
    (form, codec, damage)
    for form, codec in FORMS
    for damage in DAMAGES
    if not (damage == "empty" and codec in ("blosc", "fletcher32"))  # they encode nothing otherwise
]


def numbers() -> nczarr.DatasetHandle:
    return nczarr.from_cdl(
        "netcdf t {\ndimensions:\n  x = 5 ;\nvariables:\n  int v(x) ;\n    v:_ChunkSizes = 3 ;\n"
        "data:\n  v = 1, 2, 3, 4, 5 ;\n}\n"
    )


def texts() -> nczarr.DatasetHandle:
    return nczarr.from_cdl(
        "netcdf t {\ndimensions:\n  x = 5 ;\nvariables:\n  string v(x) ;\n    v:_ChunkSizes = 3 ;\n"
        'data:\n  v = "one", "two", "three", "four", "five" ;\n}\n'
    )


def store(folder: Path, form: str, codec: str, dataset: Callable[[], nczarr.DatasetHandle] = numbers) -> Path:
    path = folder / "whole.zarr"
    losses = ["all"] if "zarr" in form and not form.startswith("nczarr") else []
    nczarr.write(dataset(), path, form, chunks={"/v": (3,)}, codecs=codec, allow_loss=losses)
    return path


def last_chunk(path: Path) -> Path:
    """The file of the chunk at the edge."""
    (found,) = [each for each in path.rglob("*") if each.is_file() and re.fullmatch(r"(c/|c)?1", each.name)]
    return found


def damaged(folder: Path, form: str, codec: str, damage: str) -> Path:
    path = store(folder, form, codec)
    chunk = last_chunk(path)
    decode, encode = CODECS[codec]
    plain = decode(chunk.read_bytes())
    assert len(plain) == SIZE
    chunk.write_bytes(encode(DAMAGES[damage](plain)))
    return path


def says(action: Callable[[], Any], key: str = "1") -> None:
    """An action fails with the key and both lengths."""
    with pytest.raises(nczarr.CompileError) as caught:
        action()
    (found,) = [each for each in caught.value.diagnostics if each.code == "unreadable-chunk"]
    assert LENGTHS.search(found.message), found.message
    assert found.primary is not None
    assert found.primary.key is not None
    assert found.primary.key.endswith(key)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("form", "codec", "damage"), VARIANTS)
def test_a_wrong_length_is_an_error_wherever_values_are_read(
    form: str, codec: str, damage: str, tmp_path: Path
) -> None:
    path = damaged(tmp_path, form, codec, damage)
    assert nczarr.open(path)["v"][:3].tolist() == [1, 2, 3]
    says(lambda: nczarr.open(path)["v"][...])
    says(lambda: nczarr.open(path)["v"][4:5])
    says(lambda: nczarr.digest(path))
    says(lambda: nczarr.diff(path, numbers()))
    ran = run_command("dump", str(path))
    assert ran.status == 1
    assert "error[unreadable-chunk]" in ran.err


@pytest.mark.sampled(7)
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize(("form", "codec", "damage"), VARIANTS)
def test_a_wrong_length_is_not_moved(form: str, codec: str, damage: str, verify: bool, tmp_path: Path) -> None:
    if codec not in PLAIN and not verify:
        pytest.skip("a packed chunk is moved as it is")
    path = damaged(tmp_path, form, codec, damage)
    peer = {"zarr2": "nczarr", "nczarr": "zarr2", "zarr3": "nczarr3", "nczarr3": "zarr3"}.get(form, "zarr2")
    for target, name in (("s.zarr", peer), ("t.nc", "netcdf4"), ("r.json", "reference"), ("p.zarr", "zarr3")):
        made = tmp_path / target
        says(partial(nczarr.convert, path, made, name, allow_loss=["all"], verify=verify))
        assert not made.exists()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", ["zip", "memory", "inline", "target", "whole-target"])
def test_a_wrong_length_is_an_error_in_every_kind_of_store(place: str, damage: str, tmp_path: Path) -> None:
    path = damaged(tmp_path, "zarr2", "none", damage)
    files = {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    if place == "zip":
        found: Any = tmp_path / "t.zip"
        with zipfile.ZipFile(found, "w") as archive:
            for key, data in files.items():
                archive.writestr(key, data)
    elif place == "memory":
        skip_without("remote")
        import fsspec

        found = f"memory://{tmp_path.name}-{damage}.zarr"
        fsspec.filesystem("memory").pipe({f"{found}/{key}": data for key, data in files.items()})
    else:
        found = tmp_path / "refs.json"
        refs: dict[str, Any] = {key: data.decode("latin-1") for key, data in files.items()}
        if place != "inline":
            (tmp_path / "target").write_bytes(files["v/1"])
            refs["v/1"] = ["target"] if place == "whole-target" else ["target", 0, len(files["v/1"])]
        found.write_text(json.dumps({"version": 1, "refs": refs}))
    says(lambda: nczarr.open(found)["v"][...])
    for name, target in (("zarr3", "s.zarr"), ("nczarr", "n.zarr"), ("netcdf4", "t.nc")):
        says(partial(nczarr.convert, found, tmp_path / target, name, allow_loss=["all"]))
    if place != "whole-target":  # of a whole target nobody asks the length before it is read
        says(lambda: nczarr.convert(found, tmp_path / "r.json", "reference", allow_loss=["all"]))
    says(lambda: nczarr.convert(found, tmp_path / "w.json", "reference", allow_loss=["all"], verify=True))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("codec", ["none", "gzip", "crc32c"])
def test_a_wrong_length_in_a_shard(codec: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / "t.zarr"
    nczarr.write(numbers(), path, "zarr3", chunks={"/v": (3,)}, shards={"/v": (6,)}, codecs=codec, allow_loss=["all"])
    shard = path / "v" / "c" / "0"
    data = shard.read_bytes()
    first, size, _, other = struct.unpack("<4Q", data[-36:-4])
    decode, encode = CODECS[codec]
    chunk = encode(DAMAGES[damage](decode(data[first + size : first + size + other])))
    index = struct.pack("<4Q", first, size, first + size, len(chunk))
    shard.write_bytes(data[first : first + size] + chunk + index + crc32c(index).to_bytes(4, "little"))
    assert nczarr.open(path)["v"][:3].tolist() == [1, 2, 3]
    says(lambda: nczarr.open(path)["v"][...], "v/c/0")
    for name, target in (("nczarr3", "s.zarr"), ("netcdf4", "t.nc"), ("reference", "r.json")):
        options: dict[str, Any] = {"allow_loss": ["all"], "verify": codec not in PLAIN}
        says(partial(nczarr.convert, path, tmp_path / target, name, **options), "v/c/0")


TEXT_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "text-short": lambda data: struct.pack("<I", 2) + data[4:-8],
    "byte-short": lambda data: data[:-1],
    "byte-long": lambda data: data + b"\0",
    "text-long": lambda data: struct.pack("<I", 4) + data[4:] + struct.pack("<I", 1) + b"x",
    "no-count": lambda data: data[:3],
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("damage", TEXT_DAMAGES)
@pytest.mark.parametrize(("form", "codec"), [("zarr2", "none"), ("zarr2", "zlib"), ("nczarr3", "none"),
                                             ("nczarr3", "gzip"), ("nczarr3", "crc32c")])  # fmt: skip
def test_texts_fill_their_chunk(form: str, codec: str, damage: str, tmp_path: Path) -> None:
    path = store(tmp_path, form, codec, texts)
    chunk = last_chunk(path)
    decode, encode = CODECS[codec]
    plain = decode(chunk.read_bytes())
    assert plain[:4] == struct.pack("<I", 3)
    chunk.write_bytes(encode(TEXT_DAMAGES[damage](plain)))
    says(lambda: nczarr.open(path)["v"][...])
    says(lambda: nczarr.digest(path))
    other = "nczarr" if form == "zarr2" else "zarr3"
    for name, target in ((other, "s.zarr"), ("netcdf4", "t.nc")):
        options: dict[str, Any] = {"allow_loss": ["all"], "verify": codec not in PLAIN}
        says(partial(nczarr.convert, path, tmp_path / target, name, **options))


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_length_is_not_served(damage: str, tmp_path: Path) -> None:
    from tests.support.serving import serving

    damaged(tmp_path, "zarr2", "none", damage)
    with serving(tmp_path) as served:
        assert served.get("/zarr2/whole.zarr/v/0").status == 200
        assert served.get("/zarr2/whole.zarr/v/1").status >= 400
        assert served.get("/zarr3/whole.zarr/v/c/1").status >= 400


def test_the_tree_of_a_dataset_with_a_wrong_length_is_shown(tmp_path: Path) -> None:
    path = damaged(tmp_path, "zarr2", "none", "byte-short")
    ran = run_command("dump", "--as", "tree", str(path))
    assert ran.status == 0
    assert b"23 B" in ran.out


# ---- netCDF-4 ------------------------------------------------------------------------------------------------------
HDF5: dict[str, tuple[dict[str, Any], Pair]] = {
    "none": ({}, CODECS["none"]),
    "zlib": ({"compression": "gzip"}, CODECS["zlib"]),
    "fletcher32": ({"fletcher32": True}, CODECS["fletcher32"]),
}


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "empty"])
@pytest.mark.parametrize("codec", HDF5)
def test_a_wrong_length_in_hdf5(codec: str, damage: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """libhdf5 shows what was in memory behind a short chunk."""
    h5py = peer("h5py")
    options, (_, encode) = HDF5[codec]
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("v", (5,), "<i4", chunks=(3,), **options)
        made[...] = [1, 2, 3, 4, 5]
        made.id.write_direct_chunk((3,), encode(DAMAGES[damage](np.array([4, 5, 0], "<i4").tobytes())))
    assert nczarr.open(path)["v"][:3].tolist() == [1, 2, 3]
    for action in (
        lambda: nczarr.open(path)["v"][...],
        lambda: nczarr.digest(path),
        lambda: nczarr.convert(path, tmp_path / "n.nc", "netcdf4", allow_loss=["all"], verify=codec == "zlib"),
        lambda: nczarr.convert(path, tmp_path / "s.zarr", "nczarr", allow_loss=["all"], verify=codec == "zlib"),
        lambda: nczarr.convert(path, tmp_path / "r.json", "reference", allow_loss=["all"], verify=codec == "zlib"),
    ):
        with pytest.raises(nczarr.CompileError, match=r"unreadable-chunk.*there are \d+ bytes, and a chunk has \d+"):
            action()
