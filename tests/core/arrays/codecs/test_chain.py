from __future__ import annotations

import numcodecs
import numpy as np
import pytest

from nczarr.arrays.codecs.chain import encode, expressible, from_configs, nearest, of_hdf5, parse, portable, to_configs
from nczarr.ast import Codec

CHAINS = ["none", "zlib:5", "zlib:0", "shuffle+zlib:9", "zstd:3", "bz2:1", "blosc:lz4:5", "blosc:zstd:0", "fletcher32",
          "shuffle+fletcher32", "shuffle+zstd:19+fletcher32", "gzip:5", "shuffle+gzip:1+crc32c"]  # fmt: skip


@pytest.mark.parametrize("text", CHAINS)
@pytest.mark.parametrize("dtype", ["<f8", "<i2", "|u1"])
def test_numcodecs_decodes_what_we_encode(text: str, dtype: str) -> None:
    chain = parse(text)
    values = np.arange(1000).astype(dtype)
    data = encode(chain, values.tobytes(), values.itemsize)
    for config in reversed(to_configs(chain, values.itemsize)):
        data = numcodecs.get_codec(config).decode(data)
    assert bytes(data) == values.tobytes()


@pytest.mark.parametrize("text", CHAINS)
def test_configurations_read_back(text: str) -> None:
    chain = parse(text)
    assert from_configs(to_configs(chain, 8)) == chain


def test_gzip_is_deflate_where_there_is_none() -> None:
    chain = (Codec(id=2), Codec(id=65537, parameters=(5,)), Codec(id=65538))
    assert nearest(chain, frozenset({1, 2, 65537})) == chain
    assert nearest(chain, frozenset({1, 2}))[1] == Codec(id=1, parameters=(5,))
    assert of_hdf5(chain) == (Codec(id=2), Codec(id=1, parameters=(5,)))


def test_gzip_has_no_time_in_it() -> None:
    assert encode(parse("gzip:5"), b"abc", 1)[4:8] == bytes(4)


def test_no_codec_of_our_own_reads_back() -> None:
    assert from_configs([{"id": "delta", "dtype": "<i4"}]) is None


@pytest.mark.parametrize("text", ["zlib:12", "lz77", "zlib:", "zlib:5:5", "shuffle:4", "blosc:snappy:5", "", "zstd:-1"])
def test_bad_specifications(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_filters_without_a_name_are_not_expressible() -> None:
    assert not expressible([Codec(id=4, parameters=(32, 8))])
    assert not expressible([Codec(id=1, parameters=(5,)), Codec(id=32013)])
    assert not expressible([Codec(id=307, parameters=(12,))])
    assert not expressible([Codec(id=32001, parameters=(0, 0, 0, 0, 5, 1, 3))])  # snappy
    assert expressible([Codec(id=2), Codec(id=1)])


def test_shuffle_comes_before_what_changes_the_length() -> None:
    fletcher, shuffle, deflate = Codec(id=3), Codec(id=2), Codec(id=1, parameters=(2,))
    assert portable((fletcher, shuffle, deflate), 35) == (shuffle, fletcher, deflate)
    assert portable((fletcher, shuffle, deflate), 4) == (fletcher, shuffle, deflate)
    assert portable((deflate, shuffle), 4) == (shuffle, deflate)
    assert portable((shuffle, deflate), 8) == (shuffle, deflate)


def test_shuffle_never_has_element_size_zero() -> None:
    assert to_configs([Codec(id=2)], 4) == [{"id": "shuffle", "elementsize": 4}]
