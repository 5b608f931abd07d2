from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import parse
from nczarr.arrays.codecs.table import ROWS
from nczarr.ast import Codec
from nczarr.ast.dataset import FILTER_NAMES, FILTER_NUMBERS


def test_each_name_and_number_stands_once() -> None:
    kinds = table.kinds()
    numbers = [kind.number for kind in kinds if kind.number is not None]
    assert len({kind.config_id for kind in kinds}) == len(kinds)
    assert len(set(numbers)) == len(numbers)


def test_named_codecs_are_those_of_the_model() -> None:
    assert FILTER_NUMBERS == {
        "deflate": 1, "shuffle": 2, "fletcher32": 3, "szip": 4, "bzip2": 307, "blosc": 32001, "zstd": 32015,
        "gzip": 65537, "crc32c": 65538,
    }  # fmt: skip
    assert Codec(id=307).name == "bzip2"
    assert Codec(id=32000).name is None


def test_targets_name_these_codecs() -> None:
    assert table.nameable("hdf5") == {1, 2, 3, 307, 32001, 32015}
    assert table.nameable("all") == {1, 2, 3, 307, 32001, 32015, 65537, 65538}
    assert table.nameable("none") == frozenset()
    assert table.list_decoded_filters() == {1, 2, 3, 307, 32000, 32001, 32004, 32008, 32015}


def test_the_help_names_what_is_encoded() -> None:
    for kind in table.kinds():
        assert (kind.usage() in table.usage()) == ROWS[kind.config_id].encodes
        if ROWS[kind.config_id].encodes:
            assert parse(kind.config_id)[0].id == kind.number


def test_each_codec_of_a_module_has_a_row() -> None:
    rows = {name: row for name, row in ROWS.items() if ":" not in row.module}  # others are those of plugins
    modules = {row.module for row in rows.values()}
    listed = {kind.config_id for module in modules for kind in import_module(f"nczarr.arrays.codecs.{module}").CODECS}
    assert listed == rows.keys()
    assert FILTER_NAMES.keys() <= {row.number for row in ROWS.values()}


INVERT = """
from nczarr.arrays.codecs.lengths import check_size
from nczarr.arrays.codecs.table import CodecKind, Row
from nczarr.arrays.lazy_numpy import np

ROWS = {"x-invert": Row("invert", 65599, encodes=True)}


class Invert(CodecKind):
    config_id, stage, length_added = "x-invert", "bytes", 0

    def encode(self, data, parameters, itemsize):
        return np.invert(np.frombuffer(data, np.uint8)).tobytes()

    def decode(self, data, step, itemsize, limit):
        return check_size(self.encode(data, (), itemsize), limit)


CODECS = (Invert(),)
"""

USE = """
import sys
from nczarr.arrays import codecs
codecs.__path__.append(sys.argv[1])
import nczarr
schema = nczarr.from_cdl("netcdf a { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, -2, 3 ; }")
nczarr.convert(schema, "a.zarr", "zarr3", codecs=sys.argv[2], allow_loss="all", overwrite=True)
print(open("a.zarr/v/zarr.json").read().count("x-invert"), *open("a.zarr/v/c/0", "rb").read()[:4])
print(nczarr.open("a.zarr")["v"][...].tolist())
"""


def test_a_new_codec_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "invert.py").write_text(INVERT)
    run = partial(subprocess.run, capture_output=True, text=True, check=False, cwd=tmp_path)
    done = run([sys.executable, "-c", USE, str(tmp_path), "x-invert"])
    assert (done.stdout, done.stderr) == ("1 254 255 255 255\n[1, -2, 3]\n", "")
    failed = run([sys.executable, "-c", USE, str(tmp_path), "x-inverse"])
    assert "unknown codec `x-inverse`; known codecs are" in failed.stderr
    assert "x-invert, zlib, zstd" in failed.stderr


def test_a_codec_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys; from nczarr.arrays.codecs.chain import parse; parse('zlib:5'); "
    code += "print(sorted(name.split('.')[-1] for name in sys.modules if 'arrays.codecs.' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "deflate" in done.stdout
    assert not any(name in done.stdout for name in ("zstd", "lzma", "sharding_indexed"))
