"""NWB files copied from HDF5 to Zarr and back: everything that h5py shows of a file is there again."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import run_command

h5py = pytest.importorskip("h5py")

Make = Callable[[Any], None]


def make_types(file: Any) -> None:
    """Values and attributes of all types that are kept."""
    group = file.create_group("types")
    for name in ("<i1", "<u1", ">i2", "<u4", "<i8", ">u8", "<f2", ">f4", "<f8", "<c8", "?"):
        group[f"d{name}"] = np.arange(6).astype(name).reshape(2, 3)
        group.attrs[f"a{name}"] = np.arange(2).astype(name) if name != "<c8" else "none"
        group.attrs[f"s{name}"] = np.ones((), name) if name != "<c8" else "none"
    group["nan"] = group.attrs["nan"] = np.array([np.nan, np.inf, -0.0], "<f4")
    group["text"], group["texts"] = "é", np.array([["a", ""], ["ü", "ab"]], object)
    group.create_dataset("ascii", data=[b"x", b"yz"], dtype=h5py.string_dtype("ascii"))
    group.create_dataset("fixed", data=[b"x", b"yz"], dtype="S5")
    group.create_dataset("fixed utf8", data=["é".encode()], dtype=h5py.string_dtype("utf-8", 4))
    colours = h5py.enum_dtype({"RED": 1, "BLUE": 3}, "<i2")
    group.create_dataset("enum", data=[1, 3], dtype=colours)
    group["truth"], group["scalar"], group["none"] = np.True_, np.int8(-3), np.zeros((0, 3), "<i4")
    pair = np.dtype([("a", "<i4"), ("b", "S3"), ("c", "<f8", (2,)), ("d", [("e", "?")])], align=True)
    group["pairs"] = np.array([(1, b"x", (1, np.nan), (True,)), (2, b"yy", (3, 4), (False,))], pair)
    rows = np.dtype([("n", "<i4"), ("t", h5py.string_dtype()), ("o", h5py.ref_dtype), ("f", "S2")])
    values = np.empty(3, rows)
    for place, path in enumerate(("/types/text", "/types", "/")):
        values[place] = (place, "é" * place, file[path].ref, b"f")
    group.create_dataset("rows", data=values, maxshape=(None,), chunks=(2,), compression="gzip")
    group.create_dataset("row", data=values[0], dtype=rows)
    group.create_dataset("no rows", (0,), rows, maxshape=(None,))
    group.attrs["rows"] = values
    attributes = {
        "text": "é", "texts": ["a", "é"], "lists": np.arange(6, dtype="<i2").reshape(2, 3),
        "empty": np.zeros((0,), "<f4"), "empty lists": np.zeros((2, 0), "<i4"),
        "byte": np.bytes_(b"abc"), "bytes": np.array([b"a", b"bc"]), "zarr": np.array("x", h5py.string_dtype("ascii")),
        "object": file.ref, "none": h5py.Reference(), "large": np.uint64(2**64 - 1),
    }  # fmt: skip
    for name, value in attributes.items():
        group.attrs[name] = value
    group.attrs.create("objects", [file["types"].ref, file["types/text"].ref], dtype=h5py.ref_dtype)
    group.attrs.create("colour", 3, dtype=colours)
    references = group.create_dataset("references", (2, 2), h5py.ref_dtype)
    references[0] = [file["types"].ref, file["types/text"].ref]


def make_links(file: Any) -> None:
    """Links of all kinds, and objects with several names."""
    file["a/b/data"] = [1, 2]
    file["a/again"], file["a/b/loop"] = file["a/b"], file["a"]
    file["a/soft"], file["soft"] = h5py.SoftLink("/a/b/data"), h5py.SoftLink("a/soft")
    file["a/relative"], file["a/group"] = h5py.SoftLink("b/./data"), h5py.SoftLink("/a/b")
    file["a/through"], file["a/nothing"] = h5py.SoftLink("group/data"), h5py.SoftLink("/gone")
    file["a/circle"] = h5py.SoftLink("/a/circle")
    file["other"], file["far"] = h5py.ExternalLink("other.nwb", "/x/y"), h5py.ExternalLink("/data/far.h5", "/")
    file["a"].attrs["to"] = file["a/soft"].ref


def make_chunks(file: Any) -> None:
    """Chunks with filters, without cells, of odd shapes, and larger than what is there."""
    data = np.arange(1000, dtype="<i4").reshape(50, 20) % 7
    filters: list[dict[str, Any]] = [
        {}, {"compression": "gzip"}, {"shuffle": True}, {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "gzip", "compression_opts": 9, "maxshape": (None, 20)}, {"compression": "lzf"},
    ]  # fmt: skip
    for place, settings in enumerate(filters):
        file.create_dataset(f"filters{place}", data=data, chunks=(16, 7), **settings)
    sparse = file.create_dataset("sparse", (10**9, 10), "<f8", chunks=(1000, 10), fillvalue=-1.5, compression="gzip")
    sparse[5000:5003] = 2
    file.create_dataset("sparse texts", (10**9,), h5py.string_dtype(), chunks=(100,))[250] = "here"
    file.create_dataset("unwritten", (5,), "<i4", fillvalue=7)
    file.create_dataset("growing", (0, 4), "<i2", chunks=(64, 4), maxshape=(None, 8))
    file.create_dataset("bounded", data=data, chunks=(50, 20), maxshape=(60, 20))
    file.create_dataset("large", data=np.arange(3 << 20, dtype="<i8"))
    file.create_dataset("packed", data=np.ones(4, "<i4"), dtype=h5py.h5t.STD_I32LE.copy())


CASES: dict[str, Make] = {"types": make_types, "links": make_links, "chunks": make_chunks}


def show(file: Any, value: Any) -> Any:
    """A value of h5py, comparable: references are names."""
    if isinstance(value, h5py.Reference):
        return ("reference", h5py.h5r.get_name(value, file.id)) if value else None
    if isinstance(value, np.ndarray) and (value.dtype.hasobject or value.dtype.names):
        return [show(file, each) for each in value]
    if isinstance(value, np.void):
        return [show(file, each) for each in value]
    return (str(value.dtype), value.shape, value.tobytes()) if isinstance(value, (np.ndarray, np.generic)) else value


def describe(path: Path) -> dict[str, Any]:
    """All that h5py shows of a file; each object by the first of its paths."""
    found: dict[str, Any] = {}

    def visit(name: str, owner: Any) -> None:
        for key in owner.attrs:
            opened = owner.attrs.get_id(key)
            kind = opened.get_type()
            found[f"{name}@{key}"] = (kind.get_class(), kind.get_size(), opened.shape, show(file, owner.attrs[key]))
        if isinstance(owner, h5py.Dataset):
            values = owner[4990:5010] if owner.size > 10**9 else owner[200:300] if owner.size == 10**9 else owner[()]
            kind = owner.dtype if owner.dtype.names is None else {part: owner.dtype[part] for part in owner.dtype.names}
            found[name] = (str(kind), owner.shape, owner.maxshape, show(file, values))
            found[name] += (None,) if owner.dtype.hasobject else (show(file, owner.fillvalue),)
            return
        found[name] = sorted(owner)
        for key in owner:
            link = owner.get(key, getlink=True)
            if not isinstance(link, h5py.HardLink):
                found[f"{name}/{key}"] = (type(link).__name__, link.path, getattr(link, "filename", ""))
            elif (address := h5py.h5o.get_info(owner[key].id).addr) in seen:
                found[f"{name}/{key}"] = seen[address]
            else:
                seen[address] = f"{name}/{key}"
                visit(f"{name}/{key}", owner[key])

    with h5py.File(path) as file:
        seen = {h5py.h5o.get_info(file.id).addr: ""}
        visit("", file)
    return found


@pytest.fixture(params=CASES)
def case(request: Any, tmp_path: Path) -> Path:
    """A file of one of the cases."""
    path = tmp_path / "a.nwb"
    with h5py.File(path, "w") as file:
        file.attrs["object_id"] = "root"
        CASES[request.param](file)
    return path


def copy(source: Path, target: Path, *options: str) -> str:
    """Copy, which succeeds; the messages."""
    ran = run_command("nwb", str(source), str(target), "--verify", *options)
    assert ran.status == 0, ran.err
    return ran.err


def make(path: Path, build: Make) -> Path:
    """A file of HDF5."""
    with h5py.File(path, "w") as file:
        build(file)
    return path


def document(store: Path, key: str) -> Any:
    """A document of a store."""
    return json.loads((store / key).read_bytes())


def test_there_and_back(case: Path, tmp_path: Path) -> None:
    """Types, values, attributes, references, links and shapes that may grow are the same after both copies."""
    copy(case, tmp_path / "a.nwb.zarr")
    copy(tmp_path / "a.nwb.zarr", tmp_path / "b.nwb")
    assert describe(tmp_path / "b.nwb") == describe(case)
    copy(tmp_path / "b.nwb", tmp_path / "b.nwb.zarr")
    first, second = (sorted(each.rglob("*")) for each in (tmp_path / "a.nwb.zarr", tmp_path / "b.nwb.zarr"))
    assert [each.relative_to(tmp_path / "a.nwb.zarr") for each in first] == [
        each.relative_to(tmp_path / "b.nwb.zarr") for each in second
    ]
    consolidated = document(tmp_path / "a.nwb.zarr", ".zmetadata")["metadata"]
    assert {key: document(tmp_path / "a.nwb.zarr", key) for key in consolidated} == consolidated


def test_layout(tmp_path: Path) -> None:
    """References, links, scalars and the place of specifications have the forms of hdmf-zarr."""

    def build(file: Any) -> None:
        file.attrs["object_id"], file.attrs[".specloc"] = "r", file.create_group("specifications").ref
        file["g/x"] = [1.0]
        file["g/x"].attrs["object_id"], file["g"].attrs["to"] = "x", file["g/x"].ref
        file["g/link"], file["s"], file["r"] = h5py.SoftLink("/g/x"), 3, np.array([file["g/x"].ref], h5py.ref_dtype)

    store = tmp_path / "a.zarr"
    copy(make(tmp_path / "a.nwb", build), store)
    reference = {"source": ".", "path": "/g/x", "object_id": "x", "source_object_id": "r"}
    assert document(store, ".zattrs") == {"object_id": "r", ".specloc": "specifications"}
    links = [{"name": "link", "path": "/g/x", "source": "."}]
    assert document(store, "g/.zattrs") == {"to": {"zarr_dtype": "object", "value": reference}, "zarr_link": links}
    assert document(store, "s/.zattrs") == {"zarr_dtype": "scalar"}
    assert document(store, "s/.zarray")["shape"] == [1]
    assert document(store, "r/.zattrs") == {"zarr_dtype": "object"}
    assert document(store, "r/.zarray")["filters"][0]["id"] == "json2"
    assert json.loads((store / "r" / "0").read_bytes()) == [reference, "|O", [1]]


def test_compressed_chunks_are_copied(tmp_path: Path) -> None:
    """Bytes of chunks with shuffle and gzip are the same in both forms, in both directions."""

    def build(file: Any) -> None:
        file.create_dataset(
            "x", data=np.arange(100.0), chunks=(30,), compression="gzip", compression_opts=1, shuffle=True
        )

    copy(make(tmp_path / "a.nwb", build), tmp_path / "a.zarr")
    copy(tmp_path / "a.zarr", tmp_path / "b.nwb")
    with h5py.File(tmp_path / "a.nwb") as one, h5py.File(tmp_path / "b.nwb") as other:
        for place in range(4):
            chunk = one["x"].id.read_direct_chunk((30 * place,))
            assert chunk == other["x"].id.read_direct_chunk((30 * place,))
            assert chunk[1] == (tmp_path / "a.zarr" / "x" / str(place)).read_bytes()
    assert document(tmp_path / "a.zarr", "x/.zarray")["compressor"] == {"id": "zlib", "level": 1}


def write_store(folder: Path, arrays: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]]) -> Path:
    """A store of arrays: members of the document, attributes, chunks."""
    folder.mkdir()
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    usual = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "order": "C", "fill_value": 0}
    for name, (members, attributes, chunks) in arrays.items():
        (folder / name).mkdir()
        (folder / name / ".zarray").write_text(json.dumps({**usual, "filters": None, "compressor": None} | members))
        (folder / name / ".zattrs").write_text(json.dumps(attributes))
        for key, data in chunks.items():
            (folder / name / key).parent.mkdir(exist_ok=True)
            (folder / name / key).write_bytes(data)
    return folder


def test_stores_of_others(tmp_path: Path) -> None:
    """Codecs, orders, separators and pickled rows that we do not write are read."""
    numcodecs = pytest.importorskip("numcodecs")
    reference = {"source": ".", "path": "/plain", "object_id": None, "source_object_id": None}
    rows = np.array([(1, reference), (2, reference)], [("a", "<i4"), ("o", "O")])
    refs = np.array([reference, reference], object)
    texts = numcodecs.VLenUTF8().encode(np.array(["a", "é"], object))
    plain, grid = np.arange(2, dtype="<i4"), np.arange(12, dtype="<i4").reshape(3, 4)
    blosc = numcodecs.Blosc("lz4", 5)
    table = {"zarr_dtype": [{"name": "a", "dtype": "int32"}, {"name": "o", "dtype": "object"}]}
    pickles = {"id": "pickle", "protocol": 5}
    source = write_store(
        tmp_path / "a.zarr",
        {
            "plain": ({}, {"zarr_dtype": "int32", "l": [1, 2.5], "e": []}, {"0": plain.tobytes()}),
            "blosc": ({"compressor": blosc.get_config()}, {"zarr_dtype": "int32"}, {"0": blosc.encode(plain)}),
            "fortran": ({"order": "F", "shape": [3, 4], "chunks": [3, 4]}, {}, {"0.0": grid.tobytes("F")}),
            "nested": ({"dimension_separator": "/", "shape": [1, 2], "chunks": [1, 2]}, {}, {"0/0": plain.tobytes()}),
            "rows": ({"dtype": [["a", "<i4"], ["o", "|O"]], "filters": [pickles]}, table, {"0": pickle.dumps(rows, 5)}),
            "refs": ({"dtype": "|O", "filters": [pickles]}, {"zarr_dtype": "object"}, {"0": pickle.dumps(refs, 5)}),
            "texts": ({"dtype": "|O", "filters": [{"id": "vlen-utf8"}]}, {"zarr_dtype": "str"}, {"0": bytes(texts)}),
            "missing": ({"fill_value": 9}, {}, {}),
        },
    )
    copy(source, tmp_path / "a.nwb")
    with h5py.File(tmp_path / "a.nwb") as file:
        for name in ("plain", "blosc"):
            assert file[name][()].tolist() == [0, 1]
        assert file["fortran"][()].tolist() == grid.tolist()
        assert file["nested"][()].tolist() == [[0, 1]]
        assert [(row["a"], file[row["o"]].name) for row in file["rows"]] == [(1, "/plain"), (2, "/plain")]
        assert [file[each].name for each in file["refs"]] == ["/plain", "/plain"]
        assert file["texts"].asstr()[()].tolist() == ["a", "é"]
        assert file["missing"][()].tolist() == [9, 9]
        assert file["plain"].attrs["l"].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("name", "path", "noted"), [("x", "/y", None), ("a/b", "/y", None), ("n", "/gone", None), ("n", "", "hard")]
)
def test_faulty_links(tmp_path: Path, name: str, path: str, noted: str | None) -> None:
    """A link without a target, or with a name that it cannot have, is a loss."""
    source = write_store(tmp_path / "a.zarr", {each: ({}, {}, {}) for each in ("x", "y")})
    attributes: dict[str, Any] = {"zarr_link": [{"name": name, "path": path, "source": "."}]}
    if noted is not None:
        attributes = {"_nczarr_hdf5": json.dumps({"links": {name: [noted, path, path, ""]}})}
    (source / ".zattrs").write_text(json.dumps(attributes))
    ran = run_command("nwb", str(source), str(tmp_path / "a.nwb"))
    assert (ran.status, f"error[nwb-loss]: `/{name}` is a link to" in ran.err) == (1, True), ran.err
    copy(source, tmp_path / "a.nwb", "--allow-loss", "nwb-loss")
    with h5py.File(tmp_path / "a.nwb") as file:
        assert sorted(file) == ["x", "y"]


def test_references_lead_to_no_other_file(tmp_path: Path) -> None:
    """A path through a link to another file is none of an object."""
    link = {"name": "far", "path": "/", "source": "../b.nwb.zarr"}
    reference = json.dumps([{"source": ".", "path": "/far/x"}, "|O", [1]]).encode()
    members = {"dtype": "|O", "shape": [1], "chunks": [1], "filters": [{"id": "json2"}]}
    source = write_store(tmp_path / "a.zarr", {"x": (members, {"zarr_dtype": "object"}, {"0": reference})})
    (source / ".zattrs").write_text(json.dumps({"zarr_link": [link]}))
    with h5py.File(tmp_path / "b.nwb", "w") as file:
        file["x"] = 1
    ran = run_command("nwb", str(source), str(tmp_path / "a.nwb"))
    assert "`/x` refers to `/far/x`, which is missing" in ran.err


class Evil:
    """An object whose pickle calls a function when it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)


def list_faults(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], bytes, str]]:
    """Members, attributes and a chunk that are wrong, and the message."""
    pickles = {"dtype": "|O", "filters": [{"id": "pickle"}]}
    evil = pickle.dumps(np.array([Evil(str(folder / "evil"))] * 2, object))
    yield pickles, {"zarr_dtype": "object"}, evil, "which is not read"
    yield pickles, {"zarr_dtype": "object"}, b"garbage", "cannot be decoded"
    state = pickle.dumps(np.dtype([("a", "O")]))
    yield pickles, {"zarr_dtype": "object"}, state, "not one of hdmf-zarr"
    yield {}, {}, b"short", "cannot be decoded"
    yield {"chunks": [0]}, {}, b"", "impossible length"
    yield {"shape": [2, 2]}, {}, b"", "do not fit"
    yield {"dtype": "what"}, {}, b"", "not those of NWB"
    yield {"dtype": "<M8[s]"}, {}, b"", "no form"
    yield {"compressor": {"id": "what"}}, {}, b"12345678", "cannot be decoded"
    yield {}, {"_nczarr_hdf5": "{"}, b"12345678", "is not JSON"
    yield {}, {"_nczarr_hdf5": "1"}, b"12345678", "not an object of JSON"
    yield {}, {"a": None}, b"12345678", "no type"
    yield {}, {"a": [[1], [1, 2]]}, b"12345678", "different lengths"
    yield {}, {"a": {"zarr_dtype": "object", "value": {"source": ".", "path": "/b"}}}, b"12345678", "missing"
    yield (
        {},
        {"a": [1], "_nczarr_hdf5": json.dumps({"attributes": {"a": ["<i4", [10**12]]}})},
        b"12345678",
        "shape that",
    )
    yield {"chunks": [1]}, {}, b"12345678", "cannot be decoded"
    yield {}, {"_nczarr_hdf5": json.dumps({"limits": [1]})}, b"12345678", "HDF5 refuses it"
    other = {"source": "../b.zarr", "path": "/b"}
    yield {}, {"a": {"zarr_dtype": "object", "value": other}}, b"12345678", "another file"


def test_faulty_stores(tmp_path: Path) -> None:
    """Damage and what HDF5 has no form for is an error; nothing is written, and nothing of a pickle is run."""
    for number, (members, attributes, chunk, message) in enumerate(list_faults(tmp_path)):
        source = write_store(tmp_path / f"{number}.zarr", {"x": (members, attributes, {"0": chunk})})
        ran = run_command("nwb", str(source), str(tmp_path / "a.nwb"))
        assert (ran.status, message in ran.err) == (1, True), (message, ran.err)
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".zarr"] * (number + 1)


def lose_types(file: Any) -> None:
    """Objects and attributes that Zarr has no place for."""
    file["kept"] = [1]
    file["named"] = np.dtype("<i4")
    file.create_dataset("lists", (2,), h5py.vlen_dtype("<i4"))
    file.create_dataset("regions", (2,), h5py.regionref_dtype)
    file["empty"] = h5py.Empty("<f4")
    file.attrs["region"], file.attrs["empty"] = file["kept"].regionref[:], h5py.Empty("<f4")
    file.attrs["zarr_link"], file.attrs["lost"] = 1, file["named"].ref
    file[".zarray"] = 1
    layout = h5py.VirtualLayout((1,), "<i4")
    layout[:] = h5py.VirtualSource("other.h5", "x", (1,))
    file.create_virtual_dataset("virtual", layout)


def test_losses(tmp_path: Path) -> None:
    """Types without a form in Zarr are errors with a path, and left out if the user accepts that."""
    source = make(tmp_path / "a.nwb", lose_types)
    ran = run_command("nwb", str(source), str(tmp_path / "a.zarr"), "--message-format", "json")
    found = [json.loads(line) for line in ran.err.splitlines()]
    assert ran.status == 1
    assert not (tmp_path / "a.zarr").exists()
    objects = ("/named", "/lists", "/regions", "/empty", "/.zarray", "/virtual")
    lost = [f"`{path}` " for path in objects]
    lost += [f"attribute `{name}` of `/` " for name in ("region", "empty", "zarr_link", "lost")]
    assert {each["code"] for each in found} == {"nwb-loss"}
    assert all(any(each["message"].startswith(text) for each in found) for text in lost)
    assert len(found) == len(lost)
    text = copy(source, tmp_path / "a.zarr", "--allow-loss", "nwb-loss")
    assert "warning[nwb-loss]" in text
    assert sorted(each.name for each in (tmp_path / "a.zarr").iterdir() if each.is_dir()) == ["kept"]


def test_values_without_a_form(tmp_path: Path) -> None:
    """A text that is not UTF-8, and a reference to what was left out, end the copy with the path of the array."""

    def build(file: Any) -> None:
        file.create_dataset("g/x", data=[b"\xff"], dtype=h5py.string_dtype())

    ran = run_command("nwb", str(make(tmp_path / "a.nwb", build)), str(tmp_path / "a.zarr"))
    assert "error[nwb-loss]: `/g/x` has a text that is not UTF-8" in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["a.nwb"]


def test_external_links(tmp_path: Path) -> None:
    """Links to other files name the copies of these, and the message says so."""

    def build(file: Any) -> None:
        file["far"] = h5py.ExternalLink("sub/b.nwb", "/x")

    text = copy(make(tmp_path / "a.nwb", build), tmp_path / "a.nwb.zarr")
    assert "copy `sub/b.nwb` to `sub/b.nwb.zarr` too" in text
    link = {"name": "far", "path": "/x", "source": "../sub/b.nwb.zarr"}
    assert document(tmp_path / "a.nwb.zarr", ".zattrs")["zarr_link"] == [link]
    attributes = {"zarr_link": [link]}
    (tmp_path / "a.nwb.zarr" / ".zattrs").write_text(json.dumps(attributes))
    copy(tmp_path / "a.nwb.zarr", tmp_path / "c.nwb")
    with h5py.File(tmp_path / "c.nwb") as file:
        found = file.get("far", getlink=True)
        assert (found.filename, found.path) == ("sub/b.nwb", "/x")


def test_verify_sees_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is not the source is an error, and is not published."""
    from nczarr.plugins.nwb import copy_file

    source = make(tmp_path / "a.nwb", make_links)
    write = copy_file.write_zarr

    def spoil(tree: Any, store: Any) -> None:
        data = next(node for node in tree.nodes.values() if hasattr(node, "chunks"))
        read, data.read, data.raw = data.read, lambda index: read(index) + 1, False
        tree.nodes["/a"].links["new"] = tree.nodes["/a"].links.pop("soft")
        write(tree, store)
        data.read = read
        tree.nodes["/a"].links["soft"] = tree.nodes["/a"].links.pop("new")

    monkeypatch.setattr(copy_file, "write_zarr", spoil)
    ran = run_command("nwb", str(source), str(tmp_path / "a.zarr"), "--verify")
    assert ran.status == 1
    assert "error[nwb-difference]: `/a/again/data`: the values differ" in ran.err
    assert "error[nwb-difference]: `/a`: the links, types or shapes differ" in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["a.nwb"]


def test_targets(tmp_path: Path) -> None:
    """An existing target is replaced only if asked; neither form is guessed from the name of the target."""
    source = make(tmp_path / "a.nwb", make_links)
    store = tmp_path / "a.zarr"
    copy(source, store)
    ran = run_command("nwb", str(source), str(store))
    assert (ran.status, "target-exists" in ran.err) == (2, True)
    copy(source, store, "--overwrite")
    shutil.copy(source, tmp_path / "b.nwb")
    assert run_command("nwb", str(store), str(tmp_path / "b.nwb")).status == 2
    copy(store, tmp_path / "b.nwb", "--overwrite")
    assert describe(tmp_path / "b.nwb") == describe(source)
    (tmp_path / "text").write_text("x")
    assert "bad-nwb" in run_command("nwb", str(tmp_path / "text"), str(tmp_path / "c")).err
    (tmp_path / "folder").mkdir()
    assert "bad-nwb" in run_command("nwb", str(tmp_path / "folder"), str(tmp_path / "c")).err
    assert run_command("nwb", "-", str(tmp_path / "c")).status == 2
    assert "bad-nwb" in run_command("nwb", str(source), "s3://b/c.zarr").err
