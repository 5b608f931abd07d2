"""`--zarr-names registered`: the registry's types and codecs, with the same values for every reader."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.chain import parse, register_chain
from tests.support.peers import newest_python

REGISTERED = {"bytes", "gzip", "zstd", "blosc", "crc32c", "vlen-utf8", "sharding_indexed"}
OF_NUMCODECS = {f"numcodecs.{name}" for name in ("bz2", "fletcher32", "shuffle", "zlib")}
"""Of the names in the registry (zarr-developers/zarr-extensions) those that filters of HDF5 need."""

CHAINS: dict[str, dict[str, Any]] = {
    "deflate": {"zlib": True, "shuffle": False},
    "shuffled": {"zlib": True, "shuffle": True, "complevel": 9},
    "summed": {"zlib": True, "shuffle": False, "fletcher32": True},
    "all": {"zlib": True, "shuffle": True, "fletcher32": True},
    "bzip2": {"compression": "bzip2", "shuffle": False},
    "zstd": {"compression": "zstd", "shuffle": True},
    "plain": {},
}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("zlib:7", "gzip:7"),
        ("bz2:9", "zstd:3"),
        ("shuffle+zlib:5", "blosc:zlib:5"),
        ("shuffle+zstd:19", "blosc:zstd:9"),
        ("shuffle", "blosc:lz4:1"),
        ("fletcher32+shuffle+zlib:1", "crc32c+blosc:zlib:1"),
        ("shuffle+fletcher32", "blosc:lz4:1+crc32c"),
        ("gzip:3+crc32c", "gzip:3+crc32c"),
        ("none", "none"),
    ],
)
def test_chains(given: str, made: str) -> None:
    assert register_chain(parse(given)) == parse(made)


@pytest.fixture
def source(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 100)
        for name, chain in CHAINS.items():
            file.createVariable(name, "f4", ("x",), chunksizes=(30,), **chain)[:] = np.arange(100) / 4
        record = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "record_t")
        values = np.zeros(100, record.dtype)
        values["a"] = np.arange(100)
        file.createVariable("record", record, ("x",))[:] = values
        file.createVariable("char", "S1", ("x",))[:] = np.array([b"a", b"b"] * 50)
    return tmp_path / "a.nc"


def test_other_readers_read_registered_names(source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    tensorstore = peer("tensorstore")
    done = nczarr.convert(source, tmp_path / "a.zarr", "zarr3", zarr_names="registered")
    found = [each.code for each in done.diagnostics]
    assert found.count("encoded-again") == 5  # one note for each chain
    assert found.count("unregistered-name") == 1
    for name in CHAINS:
        metadata = json.loads((tmp_path / "a.zarr" / name / "zarr.json").read_text())
        assert {each["name"] for each in metadata["codecs"]} <= REGISTERED
        store = {"driver": "file", "path": str(tmp_path / "a.zarr" / name)}
        array = tensorstore.open({"driver": "zarr3", "kvstore": store}).result()
        assert array[...].read().result().tolist() == (np.arange(100) / 4).tolist(), name
    metadata = json.loads((tmp_path / "a.zarr/record/zarr.json").read_text())
    assert metadata["data_type"]["name"] == "struct"
    assert metadata["fill_value"] == {"a": 0, "b": 0.0}
    assert nczarr.diff(source, tmp_path / "a.zarr", variables=["record", *CHAINS]) == []


def test_the_newest_zarr_python_reads_structs(source: Path, tmp_path: Path) -> None:
    nczarr.convert(source, tmp_path / "a.zarr", "nczarr3", zarr_names="registered")
    script = (
        "import sys, numpy as np, zarr\n"
        "array = zarr.open_group(sys.argv[1], mode='r')['record']\n"
        "assert array.dtype == np.dtype([('a', '<i4'), ('b', '<f8')])\n"
        "assert array[...]['a'].tolist() == list(range(100))"
    )
    subprocess.run([newest_python(), "-W", "ignore", "-c", script, str(tmp_path / "a.zarr")], check=True)


def test_common_names_are_the_default(source: Path, tmp_path: Path) -> None:
    done = nczarr.convert(source, tmp_path / "a.zarr", "zarr3", variables=["record", *CHAINS])
    assert {each.code for each in done.diagnostics} == {"lost-annotations"}
    assert (done.copied_chunks, done.transcoded_chunks) == (4 * len(CHAINS), 0)
    for name in CHAINS:
        codecs = json.loads((tmp_path / "a.zarr" / name / "zarr.json").read_text())["codecs"]
        assert {each["name"] for each in codecs} <= REGISTERED | OF_NUMCODECS
    metadata = json.loads((tmp_path / "a.zarr/record/zarr.json").read_text())
    assert metadata["data_type"]["name"] == "structured"
    codecs = json.loads((tmp_path / "a.zarr/shuffled/zarr.json").read_text())["codecs"]
    assert [each["name"] for each in codecs] == ["bytes", "numcodecs.shuffle", "numcodecs.zlib"]
