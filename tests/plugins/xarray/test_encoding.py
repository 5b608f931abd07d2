"""Storage in the words of xarray's engines. No test here imports xarray."""

from __future__ import annotations

import pytest

from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.ast.dataset import Codec, Storage
from nczarr.plugins.xarray.data_store import storage_encoding
from nczarr.registry import ChunkKeys
from nczarr.stores.memory import MemoryStore

NONE = {
    **dict.fromkeys(("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle", "fletcher32"), False),
    "complevel": 0,
}
CHUNKED = {"contiguous": False, "chunksizes": (2, 3), "preferred_chunks": {"y": 2, "x": 3}}


def stored() -> KeyChunkArray:
    """An array of a store, in shards."""
    layout = Layout("<i4", (4, 6), (2, 3), shards=(4, 6))
    return KeyChunkArray(layout, MemoryStore({}), ChunkKeys(), Encoding("<i4", ()))


STORED: ArraySource = stored()
LOCAL = fill_source(Layout("<i4", (4, 6), (4, 6)))


def test_formats_without_storage() -> None:
    assert storage_encoding(Storage(), ("y", "x"), LOCAL) == {}
    assert storage_encoding(Storage(), (), None) == {}


def test_contiguous_and_scalars() -> None:
    found = storage_encoding(Storage(layout="contiguous"), ("y", "x"), LOCAL)
    assert found == {**NONE, "contiguous": True, "chunksizes": None}
    assert storage_encoding(Storage(layout="compact"), (), None) == found


@pytest.mark.parametrize(
    ("codecs", "wanted"),
    [
        ([], {}),
        ([Codec(id=2), Codec(id=1, parameters=(5,))], {"shuffle": True, "zlib": True, "complevel": 5}),
        ([Codec(id=3), Codec(id=307, parameters=(9,))], {"fletcher32": True, "bzip2": True, "complevel": 9}),
        ([Codec(id=32015, parameters=(2**32 - 5,))], {"zstd": True, "complevel": -5}),
        (
            [Codec(id=32001, parameters=(0, 0, 8, 24, 3, 2, 1))],
            {
                "blosc": {"compressor": "blosc_lz4", "shuffle": 2},
                "complevel": 3,
                "compression": "blosc_lz4",
                "blosc_shuffle": 2,
            },
        ),
        ([Codec(id=32001, parameters=(2,))], {}),
        ([Codec(id=32013, parameters=(1,))], {}),
    ],
)
def test_filters_of_files(codecs: list[Codec], wanted: dict[str, object]) -> None:
    storage = Storage(layout="chunked", chunks=(2, 3), codecs=tuple(codecs))
    assert storage_encoding(storage, ("y", "x"), LOCAL) == {**NONE, **CHUNKED, **wanted}


def test_stores_have_chunks_and_shards() -> None:
    found = storage_encoding(Storage(chunks=(2, 3), codecs=(Codec(id=65537, parameters=(4,)),)), ("y", "x"), STORED)
    assert found == {**NONE, **CHUNKED, "zlib": True, "complevel": 4, "chunks": (2, 3), "shards": (4, 6)}
    blosc = Codec(id=32001, parameters=(0, 0, 8, 24, 3, 2, 1))
    assert "compression" not in storage_encoding(Storage(chunks=(2, 3), codecs=(blosc,)), ("y", "x"), STORED)


def test_stores_that_record_another_layout_have_the_chunks_of_their_keys() -> None:
    found = storage_encoding(Storage(layout="contiguous"), ("y", "x"), STORED)
    assert found["contiguous"] is True
    assert found["chunks"] == (2, 3)
    assert found["preferred_chunks"] == {"y": 2, "x": 3}
    assert storage_encoding(Storage(), ("y", "x"), STORED) == {
        "chunks": (2, 3),
        "shards": (4, 6),
        "preferred_chunks": {"y": 2, "x": 3},
    }


def test_keys_are_not_listed() -> None:
    """An opening asks no store for the chunks of its arrays."""
    array = stored()
    assert storage_encoding(Storage(), ("y", "x"), array)["shards"] == (4, 6)
    assert array._own == []
