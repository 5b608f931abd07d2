"""Parquet references: read and written by us and by others."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nczarr import refs
from nczarr.arrays.chunks.manifest import WHOLE, PlaceColumns, Referred
from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.reference import is_parquet, parquet_rows
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.formats.reference.parquet import ParquetReferences, open_folder
from nczarr.registry import ChunkKeys
from nczarr.stores.base import Reference
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.memory import MemoryStore
from tests.conftest import Ran
from tests.support.library import library
from tests.support.work import counted

parquet = library("pyarrow.parquet")


def zarray(*shape: int, chunks: tuple[int, ...] | None = None, **more: Any) -> bytes:
    document = {
        "zarr_format": 2, "shape": shape, "chunks": chunks or [4] * len(shape), "dtype": "|u1", "compressor": None,
        "fill_value": 7, "filters": None, "order": "C",
    }  # fmt: skip
    return json.dumps({**document, **more}).encode()


def referred(prefix: str, counts: tuple[int, ...], rows: Mapping[int, tuple[str, int, int]], **more: str) -> Referred:
    """Chunks by number: URL, offset, length."""
    sources = tuple(dict.fromkeys(url for url, _, _ in rows.values()))
    wide = [(number, sources.index(url), offset, length) for number, (url, offset, length) in sorted(rows.items())]
    columns = np.array(wide, dtype=np.int64).reshape(-1, 4).T
    return Referred(ChunkKeys(prefix, **more), counts, PlaceColumns(sources, *columns, np.zeros(len(wide), np.int32)))


DOCUMENTS = {
    ".zgroup": b'{"zarr_format": 2}',
    "x/.zarray": zarray(9, 9),
    "x/.zattrs": '{"a": 1.50, "é": "\\u00e9"}'.encode(),
    "g/.zgroup": b'{"zarr_format": 2}',
    "g/s/.zarray": zarray(),
    "e/.zarray": zarray(10**15),
}
INLINE = {"g/s/0": b"\x05", "x/2.2": b"base64:\x00"}
ARRAYS = [
    referred("x/", (3, 3), {0: ("u1", 3, 16), 4: ("u2", 0, WHOLE), 7: ("u1", 0, 16)}),
    referred("e/", (10**15 // 4,), {10**14: ("u3", 8, 0)}),
]


def written(rows: int | None = None) -> MemoryStore:
    store = MemoryStore()
    parquet_rows.write(store, DOCUMENTS.items(), INLINE, ARRAYS, rows)
    return store


def read(store: Any, limits: Limits = DEFAULT) -> ParquetReferences:
    report = Report()
    found = open_folder(store, report, limits)
    if found is None:
        raise CompileError(report.list_sorted())
    return found


@pytest.mark.parametrize("rows", [None, 1, 2, 5, 100])
def test_what_is_written_is_read(rows: int | None) -> None:
    store = written(rows)
    found = read(store)
    wanted: dict[str, bytes | Reference] = {
        **DOCUMENTS, **INLINE,
        "x/0.0": Reference("u1", 3, 16), "x/1.1": Reference("u2"), "x/2.1": Reference("u1", 0, 16),
        f"e/{10**14}": Reference("u3", 8, 0),
    }  # fmt: skip
    assert dict(found.entries()) == wanted
    assert list(found.keys()) == sorted(wanted)
    assert {key: found.find(key) for key in wanted} == wanted
    for key in (
        "x/0.1",
        "x/3.0",
        "x/0",
        "x/0.0.0",
        "x/00.0",
        "e/x",
        "0",
        "",
        "x/",
        "e/1",
        "g/s/1",
        "g/s/",
        "é/0",
        "x/１.0",
    ):
        assert found.find(key) is None
    assert found.children("") == [".zgroup", "e", "g", "x"]
    assert found.children("g/") == [".zgroup", "s"]
    assert found.children("x/") == [".zarray", ".zattrs", "0.0", "1.1", "2.1", "2.2"]
    assert {(url, key.split("/")[0]) for url, key in found.list_named()} == {("u1", "x"), ("u2", "x"), ("u3", "e")}
    assert {
        parquet.ParquetFile(io.BytesIO(data)).metadata.num_rows for key, data in store.content.items() if "refs." in key
    } == {rows or 9} or rows is None


def test_files_have_no_more_rows_than_they_need() -> None:
    assert parquet_rows.record_size([]) == 1
    assert parquet_rows.record_size([1, 30]) == 30
    assert parquet_rows.record_size([10**6]) == 10_000
    assert parquet_rows.record_size([10**8]) == 100_000


def test_files_are_the_same_whenever_they_are_written() -> None:
    assert written().content == written().content


@pytest.mark.parametrize(
    ("documents", "inline", "arrays", "key"),
    [
        ({"zarr.json": b"{}"}, {}, [], "zarr.json"),
        ({}, {}, [referred("y/", (2,), {1: ("u", 0, 4)})], "y/1"),
        ({}, {}, [referred("x/", (3, 3), {1: ("u", 0, 4)}, separator="/")], "x/0/1"),
        ({}, {}, [referred("x/", (3, 3), {1: ("u", 0, 4)}, lead="c")], "x/c.0.1"),
        ({}, {}, [referred("x/", (3, 3), {1: ("u", 4, 0), 5: ("u", 0, 0), 7: ("u", 0, 0)})], "x/1.2"),
        ({".zarray": zarray(8)}, {}, [referred("", (2,), {1: ("u", 4, 0)})], "1"),
        ({"y/.zarray": zarray(8, 8, dimension_separator="/")}, {}, [], "y/.zarray"),
        ({}, {"x/3.0": b""}, [], "x/3.0"),
        ({}, {"c/0": b""}, [], "c/0"),
        ({}, {}, [referred("x/", (3, 4), {1: ("u", 4, 8)})], "x/0.1"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(
    documents: dict[str, bytes], inline: dict[str, bytes], arrays: list[Referred], key: str
) -> None:
    store = MemoryStore()
    with pytest.raises(CompileError, match=f"`{key}`") as caught:
        parquet_rows.write(store, {**DOCUMENTS, **documents}.items(), inline, arrays)
    assert [(each.code, each.primary.key) for each in caught.value.diagnostics] == [("unstorable-reference", key)]
    assert "write a JSON document" in caught.value.diagnostics[0].helps[0]
    assert not store.content


def test_vector(shared: Path) -> None:
    vector = json.loads((shared / "data/references/parquet-basic.json").read_text())
    store = DirectoryStore(str(shared / "data/references" / vector["folder"]))
    assert is_parquet(store)
    found = read(store)
    for key, value in vector["expanded"].items():
        each = found.find(key)
        if isinstance(value, dict):
            assert isinstance(each, bytes)
            assert json.loads(each) == value
        elif isinstance(value, list):
            assert each == Reference(*value)
        else:
            assert each == (b"\0\1\2\3" if value.startswith("base64:") else value.encode())
    assert not any(found.find(key) for key in vector["missing"])
    assert set(found.keys()) == set(vector["expanded"])


def file(**columns: Any) -> bytes:
    import pyarrow as pa

    made = io.BytesIO()
    parquet.write_table(pa.table(columns), made)
    return made.getvalue()


@pytest.mark.parametrize(
    ("metadata", "wrong"),
    [
        (b"", "not valid JSON"),
        (b"[]", "`metadata`"), (b'{"metadata": []}', "`metadata`"), (b'{"metadata": {}}', "`record"),
        (b'{"metadata": {}, "record_size": 0}', "`record"), (b'{"metadata": {}, "record_size": 1e9}', "`record"),
        (b'{"metadata": {}, "record_size": 9999999999}', "`record"), (b'{"metadata": {}, "record_size": true}', "`rec"),
        (b'{"metadata": {"a": "x"}, "record_size": 1}', "`a`"), (b"\xff", "not valid JSON"),
        (b'{"metadata":' * 200 + b"1" + b"}" * 200, "is nested more than"),
        (b'{"metadata": {"a/.zarray": {"shape": [1], "chunks": []}}, "record_size": 1}', "`a/.zarray`"),
        (b'{"metadata": {"a/.zarray": {"shape": [1], "chunks": [0]}}, "record_size": 1}', "`a/.zarray`"),
        (b'{"metadata": {"a/.zarray": {"shape": [1.0], "chunks": [1]}}, "record_size": 1}', "`a/.zarray`"),
        (b'{"metadata": {"a/.zarray": {}}, "record_size": 1}', "`a/.zarray`"),
    ],
)  # fmt: skip
def test_metadata_that_are_none_are_refused(metadata: bytes, wrong: str) -> None:
    with pytest.raises(CompileError, match="bad-reference-document") as raised:
        read(MemoryStore({".zmetadata": metadata}))
    assert wrong in str(raised.value)


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "not a readable Parquet"), (b"PAR1", "not a readable Parquet"),
        (file(path=["a"], offset=[0], size=[1]), "1 rows"),
        (file(path=["a"] * 3, offset=[0] * 3, size=[1] * 3), "3 rows"), (file(path=[1, 2]), "`path`"),
        (file(path=["a", "b"], offset=[0.5, 1], size=[1, 2]), "`offset`"),
        (file(raw=["a", "b"], size=[1, 2]), "given together"),
        (file(offset=[1, 2], size=[1, 2]), "neither"), (file(path=["a", "b"], offset=[-1, 0], size=[1, 1]), "`x/0`"),
        (file(path=["a", "b"], offset=[2**63 - 1, 0], size=[1, 1]), "`x/0`"), (file(path=[b"\xff", b"b"]), "`x/0`"),
        (file(path=["a", "b"], offset=[None, 0], size=[1, 1]), "`x/0`"),
        (file(path=["a", "b"])[:-20], "not a readable Parquet"),
    ],
)  # fmt: skip
def test_files_that_are_none_are_refused_by_name(data: bytes, wrong: str) -> None:
    metadata = b'{"metadata": {"x/.zarray": ' + zarray(8) + b'}, "record_size": 2}'
    found = read(MemoryStore({".zmetadata": metadata, "x/refs.0.parq": data}))
    with pytest.raises(CompileError) as raised:
        found.find("x/0")
    assert wrong in str(raised.value)
    assert {each.primary.key for each in raised.value.diagnostics} <= {"x/refs.0.parq", "x/0"}


def test_columns_may_be_missing_and_categorical() -> None:
    import pyarrow as pa

    metadata = b'{"metadata": {"x/.zarray": ' + zarray(8) + b'}, "record_size": 2}'
    categorical = pa.array(["a", None]).dictionary_encode()
    for data, wanted in [
        (file(path=categorical, offset=[1, 0], size=[2, 0]), [Reference("a", 1, 2), None]),
        (file(path=["a", "b"]), [Reference("a"), Reference("b")]),
        (file(raw=[b"", None]), [b"", None]),
        (file(path=pa.nulls(2), offset=[0, 0], size=[0, 0], raw=["a", b"b"]), [b"a", b"b"]),
    ]:
        found = read(MemoryStore({".zmetadata": metadata, "x/refs.0.parq": data}))
        assert [found.find("x/0"), found.find("x/1")] == wanted


def test_last_file_of_an_array_may_be_short() -> None:
    metadata = b'{"metadata": {"x/.zarray": ' + zarray(12) + b'}, "record_size": 2}'
    found = read(MemoryStore({".zmetadata": metadata, "x/refs.1.parq": file(path=["c"])}))
    assert (found.find("x/1"), found.find("x/2"), list(found.keys("x/2"))) == (None, Reference("c"), ["x/2"])


def test_texts_of_files_are_held_once() -> None:
    """A dictionary of one long URL for many rows."""
    import pyarrow as pa

    urls = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), ["u" * 1_000_000])
    data = file(path=urls)
    record = parquet_rows.read(data, 1, 200_000, 1 << 30)
    assert record.nbytes < 10_000_000
    with pytest.raises(parquet_rows.RecordFaultError, match="1000000 characters"):
        record.row(0)
    with pytest.raises(parquet_rows.RecordFaultError, match="more than the limit"):
        parquet_rows.read(data, 1, 200_000, 100_000)


def test_another_process_sees_the_same(tmp_path: Path) -> None:
    put(written(3), tmp_path)
    found = read(DirectoryStore(str(tmp_path)))
    assert pickle.loads(pickle.dumps(found)).find("x/2.1") == found.find("x/2.1") == Reference("u1", 0, 16)


def test_files_that_are_kept_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.formats.reference import parquet as reading

    asked: list[str] = []

    class Counting(MemoryStore):
        def get(self, key: str) -> bytes | None:
            asked.append(key)
            return super().get(key)

    found = read(Counting(written(1).content))
    assert [found.find(key) for key in ("x/0.0", "x/0.0", "x/0.1", "x/0.1")][1:3] == [Reference("u1", 3, 16), None]
    assert asked == [".zmetadata", "x/refs.0.parq", "x/refs.1.parq"]
    monkeypatch.setattr(reading, "HELD", 1)
    found = read(Counting(written(1).content))
    for key in ("x/0.0", "x/0.0", "x/1.1", "x/0.0"):
        found.find(key)
    assert asked[4:] == ["x/refs.0.parq", "x/refs.4.parq", "x/refs.0.parq"]


@pytest.mark.peer
@pytest.mark.parametrize("engine", ["fastparquet", "pyarrow"])
def test_others_read_what_we_write(engine: str, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer(engine)
    peer("pandas")
    fsspec, zarr = peer("fsspec"), peer("zarr")
    mapper = peer("fsspec.implementations.reference").LazyReferenceMapper
    target = tmp_path / "t.bin"
    target.write_bytes(bytes(range(200)))
    whole = tmp_path / "w.bin"
    whole.write_bytes(bytes(range(16)))
    url = f"file://{target}"
    places = {n: (url, n * 16, 16) for n in range(9)} | {4: (f"file://{whole}", 0, WHOLE)}
    documents = {**DOCUMENTS, "p/.zarray": zarray(9, 9)}
    # See docs/how-to/references.md.
    gaps = {n: place for n, place in places.items() if engine == "fastparquet" or n < 3}
    store = MemoryStore()
    arrays = [referred("x/", (3, 3), {n: places[n] for n in range(8)}), referred("p/", (3, 3), gaps)]
    parquet_rows.write(store, documents.items(), {**INLINE, "x/2.2": bytes(16)}, arrays, 3)
    put(store, tmp_path / "t.parq")
    references = mapper(str(tmp_path / "t.parq"), engine=engine)
    files = fsspec.filesystem("reference", fo=references, remote_protocol="file", asynchronous=True)
    group = zarr.open_group(
        zarr.storage.FsspecStore(files, read_only=True), mode="r", zarr_format=2, use_consolidated=False
    )
    wanted = np.zeros((12, 12), np.uint8)
    for n in range(8):
        block = np.arange(16) if n == 4 else np.arange(n * 16, n * 16 + 16)
        wanted[n // 3 * 4 : n // 3 * 4 + 4, n % 3 * 4 : n % 3 * 4 + 4] = block.reshape(4, 4)
    assert (group["x"][:] == wanted[:9, :9]).all()
    assert group["g/s"][()] == 5
    assert (group["p"][:4] == wanted[:4, :9]).all()
    assert group["x"].attrs["a"] == 1.5
    assert (group["e"][:4] == 7).all()


def test_we_read_what_kerchunk_writes(tmp_path: Path) -> None:
    kerchunk = pytest.importorskip("kerchunk.df", reason="kerchunk is not installed")
    references = {key: data.decode() for key, data in DOCUMENTS.items() if key != "e/.zarray"}
    references |= {f"x/{n // 3}.{n % 3}": ["u1", n, 16] for n in range(9) if n != 4} | {"g/s/0": "base64:AAEC"}
    for name, more in {
        "plain": {"record_size": 4},
        "categorical": {"record_size": 9, "categorical_threshold": 1},
    }.items():
        kerchunk.refs_to_dataframe(references, str(tmp_path / name), **more)
        found = read(DirectoryStore(str(tmp_path / name)))
        assert found.find("g/s/0") == b"\0\1\2"
        assert [found.find(f"x/{n // 3}.{n % 3}") for n in range(9)] == [
            None if n == 4 else Reference("u1", n, 16) for n in range(9)
        ]


def put(store: MemoryStore, folder: Path) -> None:
    for key, data in store.content.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(data)


def test_folders_are_expanded_and_compacted(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    put(written(2), tmp_path / "t.parq")
    ran = nczarr_command("refs", "expand", str(tmp_path / "t.parq"))
    wanted = {key: data.decode() for key, data in DOCUMENTS.items()} | {
        "g/s/0": "base64:BQ==", "x/2.2": "base64:YmFzZTY0OgA=", "x/0.0": ["u1", 3, 16], "x/1.1": ["u2"],
        "x/2.1": ["u1", 0, 16], f"e/{10**14}": ["u3", 8, 0],
    }  # fmt: skip
    assert json.loads(ran.out) == wanted == refs.expand(tmp_path / "t.parq")
    ran = nczarr_command("refs", "compact", str(tmp_path / "t.parq"))
    assert refs.expand(ran.out) == wanted
    ran = nczarr_command("refs", "expand", str(tmp_path / "t.parq"), "--max-entries", "8")
    assert (ran.status, ran.out) == (1, b"")
    assert "oversized-expansion" in ran.err
    (tmp_path / "t.parq/x/refs.0.parq").write_bytes(b"PAR1")
    ran = nczarr_command("refs", "expand", str(tmp_path / "t.parq"), "-o", str(tmp_path / "out.json"))
    assert (ran.status, (tmp_path / "out.json").exists()) == (1, False)
    assert "`x/refs.0.parq`" in ran.err
    ran = nczarr_command("refs", "expand", str(tmp_path))
    assert ran.status == 1
    assert "`.zmetadata` is missing" in ran.err


def test_the_keys_of_one_array_do_not_cost_all_arrays() -> None:
    names = [f"g/v{number}" for number in range(3000)]
    store = MemoryStore()
    arrays = [referred(f"{name}/", (2,), {0: ("u", 0, 4)}) for name in names[:2]]
    documents = {".zgroup": b'{"zarr_format": 2}', **{f"{name}/.zarray": zarray(8) for name in names}}
    parquet_rows.write(store, documents.items(), {}, arrays)
    found = read(store)
    with counted(3000):
        assert list(found.keys("g/v1/")) == ["g/v1/.zarray", "g/v1/0"]
        assert list(found.keys("g/v1/.z")) == ["g/v1/.zarray"]
        assert found.children("g/v0/") == [".zarray", "0"]
    assert len(list(found.keys("g/"))) == len(names) + 2
    assert list(found.keys("g/v1/0")) == ["g/v1/0"]
    assert sorted(found.children("g/")) == sorted(name[2:] for name in names)
