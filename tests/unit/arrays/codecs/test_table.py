from __future__ import annotations

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import parse
from nczarr.ast import Codec


def test_each_name_and_number_stands_once() -> None:
    kinds = table.kinds()
    numbers = [kind.number for kind in kinds if kind.number is not None]
    assert len({kind.config_id for kind in kinds}) == len(kinds)
    assert len(set(numbers)) == len(numbers)


def test_named_codecs_are_those_of_the_model() -> None:
    assert table.numbers() == {
        "deflate": 1, "shuffle": 2, "fletcher32": 3, "szip": 4, "bzip2": 307, "blosc": 32001, "zstd": 32015,
        "gzip": 65537, "crc32c": 65538,
    }  # fmt: skip
    assert Codec(id=307).name == "bzip2"
    assert Codec(id=32000).name is None


def test_targets_name_these_codecs() -> None:
    assert table.nameable("hdf5") == {1, 2, 3, 307, 32001, 32015}
    assert table.nameable("all") == {1, 2, 3, 307, 32001, 32015, 65537, 65538}
    assert table.nameable("none") == frozenset()
    assert table.decoded_filters() == {1, 2, 3, 307, 32000, 32001, 32004, 32008, 32015}


def test_documents_name_harmless_codecs_only() -> None:
    assert table.is_decoded("delta")
    assert not any(map(table.is_decoded, ("pickle", "szip", "transpose", "byteswap", "sharding_indexed")))


def test_the_help_names_what_is_encoded() -> None:
    for kind in table.kinds():
        assert (kind.usage() in table.usage()) == kind.encodes
        if kind.encodes:
            assert parse(kind.config_id)[0].id == kind.number
