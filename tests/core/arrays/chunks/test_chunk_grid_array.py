"""Regions made of chunks: the same values however many threads decode them, and only the chunks that are there."""

from __future__ import annotations

import itertools
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nczarr.arrays.chunks import chunk_grid_array
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs.chain import with_fill
from nczarr.arrays.codecs.lengths import vlen_texts
from nczarr.arrays.codecs.sharding_indexed import shard_step
from nczarr.arrays.execution import thread_pool
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, Selection, every_block, region_of
from nczarr.arrays.sources.memory import fill_array, pad_chunk
from nczarr.arrays.sources.sliced import slice_source
from nczarr.arrays.sources.source import Descr, Layout, little_descr, numpy_dtype
from nczarr.ast import Codec
from nczarr.diagnostics.report import CompileError
from nczarr.registry import ChunkKeys
from nczarr.stores.memory import MemoryStore
from tests.conftest import ROOT
from tests.support.reading_ways import WAYS, read_every_way, same, ways
from tests.support.signals import hear_interrupts
from tests.support.subsets import relaxed

DTYPES: list[Descr] = [
    "<f4", ">f4", "<i2", ">i2", "<f8", ">u8", "<u4", "|i1", "|S3", "|V5", "<c8", "|O",
    (("a", "<i2", ()), ("b", "<f4", (2,))),
]  # fmt: skip
CHAINS = [(), (1,), (2,), (2, 1), (1, 3), (2, 1, 3), (3, 2), (2, 2), (2, 65538), (32015,), (32001,), (2, 32015)]
"""Filters by number: 1 deflate, 2 shuffle, 3 fletcher32, 65538 crc32c, 32015 zstd, 32001 blosc."""
TEXTS = [b"", b"a", "\u00e9\u00e9\u00e9".encode()]


class Case(NamedTuple):
    """An array in a store, and all its values."""

    source: KeyChunkArray
    values: NDArray[Any]


def encoded(values: NDArray[Any], dtype: Descr, chain: tuple[int, ...], order: tuple[int, ...] | None) -> bytes:
    """Encode a whole chunk in the way of the store."""
    stored = values if order is None else values.transpose(order)
    if dtype == "|O":
        return codecs.encode(chain_of(chain), vlen_texts(stored.ravel().tolist()), 1)
    made = np.ascontiguousarray(stored.astype(numpy_dtype(dtype)))
    return codecs.encode(chain_of(chain), made.tobytes(), made.itemsize)


def chain_of(numbers: tuple[int, ...]) -> tuple[Codec, ...]:
    return tuple(Codec(id=number, parameters=(4,) if number == 1 else ()) for number in numbers)


def random_values(draw: st.DrawFn, dtype: Descr, shape: tuple[int, ...]) -> NDArray[Any]:
    random_numbers = np.random.default_rng(draw(st.integers(0, 1000)))
    if dtype == "|O":
        flat = np.empty(math.prod(shape), object)
        flat[:] = [TEXTS[number] for number in random_numbers.integers(0, 3, len(flat))]
        return flat.reshape(shape)
    wanted = numpy_dtype(little_descr(dtype))
    data = random_numbers.integers(0, 256, math.prod(shape) * wanted.itemsize, np.uint8)
    return data.view(wanted).reshape(shape)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    dtype = draw(st.sampled_from(DTYPES))
    order = tuple(draw(st.permutations(range(rank)))) if rank and draw(st.booleans()) else None
    chain = draw(st.sampled_from(CHAINS))
    kind = draw(st.sampled_from(["keys", "shards", "steps", "masks"]))
    layout = Layout(little_descr(dtype), shape, chunks)
    fill = draw(st.sampled_from([None, *TEXTS])) if dtype == "|O" else random_fill(draw, layout)
    layout = layout._replace(fill=fill)
    values = random_values(draw, dtype, shape)
    missing = {index for index in every_block(shape, chunks) if draw(st.booleans())}
    for index in missing:
        values[region_of(index, chunks, shape)] = fill_array(layout, ())[()]
    steps = tuple(codecs.to_configs(chain_of(chain), max(1, numpy_dtype(dtype).itemsize if dtype != "|O" else 1)))
    made: dict[Index, bytes] = {}
    masks: dict[Index, int] = {}
    for index in every_block(shape, chunks):
        if index in missing:
            continue
        mask = draw(st.integers(0, (1 << len(chain)) - 1)) if kind == "masks" else 0
        kept = tuple(number for place, number in enumerate(chain) if not mask >> place & 1)
        masks |= {index: mask} if mask else {}
        whole = pad_chunk(values[(*region_of(index, chunks, shape), ...)], chunks, b"\1" if dtype == "|O" else b"\0")
        made[index] = encoded(whole, dtype, kept, order)
    encoding = Encoding(dtype, steps, order)
    if kind == "shards" and rank:
        return Case(in_shards(draw, layout, encoding, made), values)
    if kind == "steps" and rank and dtype != "|O":
        return Case(in_steps(layout, encoding, made), values)
    store = MemoryStore({keys.key(index): data for index, data in made.items()})
    return Case(KeyChunkArray(layout, store, keys, encoding, masks=masks), values)


keys = ChunkKeys("v/", ".", "")


def random_fill(draw: st.DrawFn, layout: Layout) -> bytes | None:
    size = numpy_dtype(layout.dtype).itemsize
    return draw(st.sampled_from([None, bytes(size), bytes(range(1, size + 1))]))


def shard_of(chunks: dict[Index, bytes], counts: tuple[int, ...], first: Index) -> bytes:
    """Return a shard whose index is at its end, without a checksum."""
    data, table = b"", b""
    for place in every_block(counts, (1,) * len(counts)):
        chunk = chunks.get(tuple(a + b for a, b in zip(first, place, strict=True)))
        table += b"\xff" * 16 if chunk is None else struct.pack("<QQ", len(data), len(chunk))
        data += chunk or b""
    return data + table


def in_shards(draw: st.DrawFn, layout: Layout, encoding: Encoding, made: dict[Index, bytes]) -> KeyChunkArray:
    times = tuple(draw(st.integers(1, 3)) for _ in layout.shape)
    shards = tuple(each * count for each, count in zip(layout.chunks, times, strict=True))
    content = {}
    for index in every_block(layout.shape, shards):
        first = tuple(number * count for number, count in zip(index, times, strict=True))
        inner = itertools.product(*(range(a, a + b) for a, b in zip(first, times, strict=True)))
        if any(place in made for place in inner):
            content[keys.key(index)] = shard_of(made, times, first)
    encoding = encoding._replace(index_steps=({"id": "bytes", "endian": "little"},))
    return KeyChunkArray(layout._replace(shards=shards), MemoryStore(content), keys, encoding)


def in_steps(layout: Layout, encoding: Encoding, made: dict[Index, bytes]) -> KeyChunkArray:
    """Make each chunk a shard of one chunk, inside another one, as nested sharding does."""
    size, index = numpy_dtype(encoding.dtype).itemsize, ({"id": "bytes", "endian": "little"},)
    inner = shard_step(
        layout.chunks, layout.chunks, encoding.steps, encoding.permutation, size, index, index_first=False
    )
    outer = shard_step(layout.chunks, layout.chunks, (inner,), None, size, index, index_first=False)
    ones = (1,) * len(layout.shape)
    nested = {
        keys.key(place): shard_of({ones: shard_of({ones: data}, ones, ones)}, ones, ones)
        for place, data in made.items()
    }
    return KeyChunkArray(layout, MemoryStore(nested), keys, Encoding(encoding.dtype, with_fill((outer,), bytes(size))))


def regions(shape: tuple[int, ...]) -> st.SearchStrategy[Selection]:
    ends = [st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted) for length in shape]
    return st.tuples(*ends).map(lambda pairs: tuple(slice(*pair) for pair in pairs))


def stepped(length: int) -> st.SearchStrategy[range]:
    return st.builds(range, st.integers(0, length), st.just(length), st.integers(1, length + 1))


@pytest.mark.long
@given(st.data())
@settings(relaxed, max_examples=150)
def test_any_region_is_the_same_in_one_thread_and_in_several(data: st.DataObject) -> None:
    case = data.draw(cases())
    selection = data.draw(regions(case.values.shape))
    many = data.draw(st.sampled_from([0, 1 << 12]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_grid_array, "MANY", many)
        assert same(read_every_way(case.source, selection), case.values[(*selection, ...)])


@given(st.data())
@settings(relaxed, max_examples=50)
def test_steps_of_a_selection_do_not_matter(data: st.DataObject) -> None:
    case = data.draw(cases())
    axes = tuple(data.draw(stepped(length)) for length in case.values.shape)
    source = slice_source(case.source, axes)
    whole = tuple(slice(0, len(axis)) for axis in axes)
    wanted = case.values[np.ix_(*axes)] if axes else case.values
    assert same(read_every_way(source, whole), np.array(wanted))


@pytest.mark.long
@given(st.data())
@settings(relaxed, max_examples=50)
def test_cells_beyond_the_written_box_are_fill(data: st.DataObject) -> None:
    case = data.draw(cases())
    selection = data.draw(regions(case.values.shape))
    within = tuple(data.draw(st.integers(0, length)) for length in case.values.shape)
    wanted = case.values[(*selection, ...)].copy()
    for axis, (part, end) in enumerate(zip(selection, within, strict=True)):
        beyond = [slice(None)] * len(selection)
        beyond[axis] = slice(max(0, end - part.start), None)
        wanted[tuple(beyond)] = fill_array(case.source.layout, ())[()]
    for workers, least in WAYS:
        with ways(workers, least):
            out = np.empty(wanted.shape, wanted.dtype)
            chunk_grid_array.assemble(out, case.source, case.source.layout, selection, within)
            assert same(out, wanted), (workers, least)


class Scripted:
    """Chunks of four numbers each, made by a function that may fail or wait."""

    layout = Layout("<i4", (64,), (4,), fill=b"\7\0\0\0")

    def __init__(self, work: Callable[[int], bool]) -> None:
        self.work = work
        self.done: list[int] = []

    def chunk(self, index: Index) -> NDArray[Any] | None:
        raise AssertionError("whole chunks are decoded into the result")

    def put(self, index: Index, inside: Selection, out: NDArray[Any]) -> bool:
        there = self.work(index[0])
        if there:
            out[...] = np.arange(index[0] * 4, index[0] * 4 + 4)[inside]
        self.done.append(index[0])
        return there


def read(chunks: Scripted) -> NDArray[Any]:
    return chunk_grid_array.assemble_region(chunks, chunks.layout, (slice(0, 64),), (64,))


def alive() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.is_alive()}


@ways(3)
def test_missing_chunks_alone_are_filled() -> None:
    found = read(Scripted(lambda number: number % 3 != 0))
    assert found.reshape(16, 4)[::3].tolist() == [[7] * 4] * 6
    assert found.reshape(16, 4)[1].tolist() == [4, 5, 6, 7]


@ways(4)
def test_the_first_chunk_that_fails_is_reported_and_no_thread_remains() -> None:
    """Chunk 5 fails last, and chunk 6 fails while 5 is still decoded."""
    before, failed = alive(), threading.Event()

    def work(number: int) -> bool:
        if number == 5:
            assert failed.wait(10)
            raise ValueError("chunk 5")
        if number > 5:
            failed.set()
            raise ValueError(f"chunk {number}")
        return True

    chunks = Scripted(work)
    with pytest.raises(ValueError, match="chunk 5"):
        read(chunks)
    assert alive() == before
    assert sorted(chunks.done) == [0, 1, 2, 3, 4]


@ways(4)
def test_an_interrupt_ends_all_threads() -> None:
    before, caller, begun = alive(), threading.current_thread(), threading.Event()

    def work(number: int) -> bool:
        if threading.current_thread() is caller:
            begun.set()
            raise KeyboardInterrupt
        assert begun.wait(10)
        raise ValueError("a failure, which counts less than an interrupt")

    with pytest.raises(KeyboardInterrupt):
        read(Scripted(work))
    assert alive() == before


def test_a_chunk_that_cannot_be_decoded_has_one_message() -> None:
    store = MemoryStore({f"v/{number}": codecs.encode(chain_of((2, 1)), bytes(4096), 4) for number in range(32)})
    for broken in (9, 20):
        store.content[f"v/{broken}"] = store.content[f"v/{broken}"][:-5]
    steps = tuple(codecs.to_configs(chain_of((2, 1)), 4))
    for workers, least in WAYS:
        source = KeyChunkArray(Layout("<f4", (32768,), (1024,)), store, keys, Encoding("<f4", steps))
        with ways(workers, least), pytest.raises(CompileError) as failed:
            source.read((slice(0, 32768),))
        (found,) = failed.value.diagnostics
        assert found.code == "unreadable-chunk"
        assert found.primary is not None
        assert found.primary.key == "v/9"


@pytest.mark.parametrize("number", [32015, 32001])
@pytest.mark.parametrize("count", [0, 1, 3, 5, 4096])
def test_a_compressed_chunk_of_a_wrong_length_has_one_message(number: int, count: int) -> None:
    """The message does not depend on the array into which the chunk would be decompressed; nor does a cut one's."""
    texts = set()
    steps = tuple(codecs.to_configs(chain_of((number,)), 4))
    made = codecs.encode(chain_of((number,)), bytes(4 * count), 4)
    for data in (made, made[:-1]):
        store = MemoryStore({"v/0": data, "v/1": codecs.encode(chain_of((number,)), bytes(16), 4)})
        for workers, least in WAYS:
            source = KeyChunkArray(Layout("<f4", (8,), (4,)), store, keys, Encoding("<f4", steps))
            with ways(workers, least), pytest.raises(CompileError) as failed:
                source.read((slice(0, 8),))
            texts.add((len(data), failed.value.diagnostics[0].message))
    assert len(texts) == 2


@ways(3)
def test_reads_of_several_threads_share_the_helpers() -> None:
    """Each thread reads right; the last finds all helpers free again."""
    most, lock, now = [0], threading.Lock(), [0]

    def work(number: int) -> bool:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        threading.Event().wait(0.001)
        with lock:
            now[0] -= 1
        return True

    found: list[NDArray[Any]] = []
    users = [threading.Thread(target=lambda: found.append(read(Scripted(work)))) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert [each.tolist() for each in found] == [list(range(64))] * 4
    assert most[0] <= 4 + 2


@ways(4)
def test_a_worker_of_a_run_reads_alone() -> None:
    used: set[int] = set()

    def work(number: int) -> bool:
        used.add(threading.get_ident())
        return True

    with thread_pool.Crew(1, 1 << 20) as crew:
        (found,) = crew.results([thread_pool.Task(lambda: read(Scripted(work)))])
    assert found.tolist() == list(range(64))
    assert len(used) == 1
    with thread_pool.limit(1):
        used.clear()
        read(Scripted(work))
        assert used == {threading.get_ident()}


@ways(8)
def test_large_chunks_are_decoded_by_fewer_threads() -> None:
    """The memory of the threads, not their number, is the bound: here there is room for two."""
    used: set[int] = set()

    def work(number: int) -> bool:
        used.add(threading.get_ident())
        threading.Event().wait(0.002)
        return True

    with thread_pool.limit(None, 2 * 3 * 16):
        read(Scripted(work))
    assert len(used) == 2


def numbers(count: int, length: int, chain: tuple[int, ...] = ()) -> KeyChunkArray:
    """Return an array of so many chunks, which counts from 0."""
    content = {
        f"v/{place}": codecs.encode(
            chain_of(chain), np.arange(place * length, (place + 1) * length, dtype="<i4").tobytes(), 4
        )
        for place in range(count)
    }
    steps = tuple(codecs.to_configs(chain_of(chain), 4))
    return KeyChunkArray(
        Layout("<i4", (count * length,), (length,)), MemoryStore(content), keys, Encoding("<i4", steps)
    )


@pytest.mark.parametrize(("count", "length", "started"), [(64, 1 << 16, 2), (2, 1 << 14, 0), (1024, 1 << 10, 0)])
def test_threads_are_started_where_they_gain_time(
    count: int, length: int, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for few bytes nor for small chunks, most of whose time Python takes."""
    found: list[threading.Thread] = []

    def thread(**options: Any) -> threading.Thread:
        found.append(threading.Thread(**options))
        return found[-1]

    helpers = thread_pool._Helpers()
    helpers._free = 2
    monkeypatch.setattr(thread_pool, "_helpers", helpers)
    monkeypatch.setattr(thread_pool, "Thread", thread)
    values = numbers(count, length, (2, 1)).read((slice(0, count * length),))
    assert np.array_equal(values, np.arange(count * length))
    assert len(found) == started
    assert not any(each.is_alive() for each in found)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads are free, and there is room for two: a chunk takes three times its bytes at most."""
    helpers = thread_pool._Helpers()
    helpers._free = 7
    monkeypatch.setattr(thread_pool, "_helpers", helpers)
    source = numbers(16, 1 << 20, (2, 1))
    size = 16 << 22
    tracemalloc.start()
    try:
        with thread_pool.limit(None, 2 * 3 << 22):
            values = source.read((slice(0, size // 4),))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert values.nbytes == size
    assert peak < size + (2 * 3 << 22) + (1 << 22)


def test_values_of_a_caller_are_not_those_of_the_cache() -> None:
    source = numbers(2, 8, (2, 1))
    for _ in range(2):
        found = source.read((slice(0, 8),))
        assert not found.flags.writeable
        whole = source.read((slice(0, 16),))
        assert whole.tolist() == list(range(16))
        whole[:] = 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX systems only")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    """The threads that the parent has started do not exist in its child, which reads all the same."""
    source = numbers(64, 1 << 16, (2, 1))
    taken = thread_pool._helpers.take(64)
    pid = os.fork()
    if not pid:
        right = thread_pool._helpers._free == thread_pool.processors() - 1
        right = right and np.array_equal(source.read((slice(0, 64 << 16),)), np.arange(64 << 16))
        os._exit(0 if right else 1)
    thread_pool._helpers.give(taken)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.long
def test_control_c_ends_a_read_and_its_threads() -> None:
    """The signal comes while all threads decode; the process ends at once, as by an interrupt."""
    code = """
import threading, numpy as np
from nczarr.arrays.execution import thread_pool
from tests.core.arrays.chunks.test_chunk_grid_array import numbers
source = numbers(64, 1 << 16, (2, 1))
source.read((slice(0, 1),))  # imports what decodes
thread_pool._helpers._free = 3
raw = type(source)._raw
reads = []
def slow(self, index):
    reads.append(index)
    if index == (4,):
        print("begun", flush=True)
    threading.Event().wait(0.25)
    return raw(self, index)
type(source)._raw = slow
try:
    source.read((slice(0, 64 << 16),))
except KeyboardInterrupt:
    print(threading.active_count(), thread_pool._helpers._free, len(reads) < 64, flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=hear_interrupts
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "1 3 True\n"
