"""Names that are equal in NFC, or twice in one group: every front end reports them, and mixes no values up."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import Ran
from tests.support.classic_bytes import Made

ONE, TWO = "\u00e9", "e\u0301"
"""A letter composed, and decomposed."""

TARGETS = ("t.nc", "t.zarr", "t.cdl", "t.ncs", "t.awkd", "t.ncz")


def stored(folder: Path, documents: Mapping[str, Any]) -> Path:
    for key, value in documents.items():
        path = folder / "s.zarr" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
        path.write_bytes(data)
    return folder / "s.zarr"


def numbers(count: int, first: int = 0) -> bytes:
    return np.arange(first, first + count, dtype="<i4").tobytes()


def array(count: int, **more: Any) -> dict[str, Any]:
    plain = {"zarr_format": 2, "dtype": "<i4", "compressor": None, "filters": None, "order": "C", "fill_value": 0}
    return {**plain, "shape": [count], "chunks": [count], **more}


GROUP = {"zarr_format": 2}
AXES = "_ARRAY_DIMENSIONS"


def zarr2(folder: Path) -> Path:
    return stored(
        folder,
        {
            ".zgroup": GROUP,
            f"{ONE}/.zarray": array(3),
            f"{ONE}/.zattrs": {AXES: [ONE]},
            f"{ONE}/0": numbers(3),
            f"{TWO}/.zarray": array(4),
            f"{TWO}/.zattrs": {AXES: [TWO]},
            f"{TWO}/0": numbers(4, 10),
        },
    )


def nczarr2(folder: Path) -> Path:
    hidden = {"dimensions": {ONE: 3, TWO: 4}, "arrays": [ONE, TWO], "groups": []}

    def attributes(name: str) -> dict[str, Any]:
        return {"_nczarr_array": {"dimension_references": ["/" + name], "storage": "chunked"}}

    return stored(
        folder,
        {
            ".zgroup": GROUP,
            ".zattrs": {"_nczarr_superblock": {"version": "2.0.0"}, "_nczarr_group": hidden},
            f"{ONE}/.zarray": array(3),
            f"{ONE}/.zattrs": attributes(ONE),
            f"{ONE}/0": numbers(3),
            f"{TWO}/.zarray": array(4),
            f"{TWO}/.zattrs": attributes(TWO),
            f"{TWO}/0": numbers(4, 10),
        },
    )


def zarr3(folder: Path) -> Path:
    def document(name: str, count: int) -> dict[str, Any]:
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [count],
            "data_type": "int32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {},
            "dimension_names": [name],
        }

    return stored(
        folder,
        {
            "zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}},
            f"{ONE}/zarr.json": document(ONE, 3),
            f"{ONE}/c/0": numbers(3),
            f"{TWO}/zarr.json": document(TWO, 4),
            f"{TWO}/c/0": numbers(4, 10),
        },
    )


def reference(folder: Path) -> Path:
    root = zarr2(folder)
    refs = {
        str(path.relative_to(root)): path.read_text() if path.name.startswith(".") else [str(path)]
        for path in root.rglob("*")
        if path.is_file()
    }
    (folder / "s.json").write_text(json.dumps({"version": 1, "refs": refs}))
    return folder / "s.json"


def classic(folder: Path, names: tuple[str, str] = (ONE, TWO)) -> Path:
    made = Made()
    first, second = (name.encode() for name in names)
    dimensions = made.things(10, made.dimension(first, 3), made.dimension(second, 4))

    def header(begin: int) -> bytes:
        variables = [made.variable(first, (0,), 4, 12, begin), made.variable(second, (1,), 4, 16, begin + 12)]
        return b"CDF\x01" + made.count(0) + dimensions + made.absent() + made.things(11, *variables)

    data = header(len(header(0))) + struct.pack(">7i", 0, 1, 2, 10, 11, 12, 13)
    (folder / "s.nc").write_bytes(data)
    return folder / "s.nc"


def classic_twice(folder: Path) -> Path:
    return classic(folder, ("x", "x"))


def stream(folder: Path) -> Path:
    from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
    from tests.support import ncstream_streams as streams

    root = pb.Group(name=b"")
    for name, count in ((ONE, 3), (TWO, 4)):
        dimension = pb.Dimension(name=name.encode(), length=count)
        root.dims.append(dimension)
        root.vars.append(pb.Variable(name=name.encode(), dataType=pb.INT, shape=[dimension]))
    made = streams.HEADER + streams.block(pb.Header(root=root).SerializeToString())
    data = [
        streams.numbers(pb.INT, np.arange(first, first + count, dtype=">i4"), name=name.encode())
        for name, count, first in ((ONE, 3, 0), (TWO, 4, 10))
    ]
    (folder / "s.ncs").write_bytes(streams.START + made + b"".join(data) + streams.END)
    return folder / "s.ncs"


SOURCES: dict[str, Callable[[Path], Path]] = {
    "zarr2": zarr2,
    "nczarr": nczarr2,
    "zarr3": zarr3,
    "reference": reference,
    "netcdf3": classic,
    "netcdf3-twice": classic_twice,
    "ncstream": stream,
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("target", TARGETS)
def test_two_variables_are_refused_everywhere(
    name: str, target: str, tmp_path: Path, nczarr_command: Callable[..., Ran]
) -> None:
    path = SOURCES[name](tmp_path)
    ran = nczarr_command("convert", str(path), str(tmp_path / target))
    assert ran.status == 1
    assert "error[duplicate-name]: variable" in ran.err
    assert "--allow-loss duplicate-name" in ran.err
    assert "internal-error" not in ran.err
    assert not (tmp_path / target).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_both_are_kept_where_that_is_accepted(name: str, tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    path = SOURCES[name](tmp_path)
    ran = nczarr_command("convert", "--verify", "--allow-loss", "duplicate-name", str(path), str(tmp_path / "t.nc"))
    assert ran.status == 0, ran.err
    assert "warning[duplicate-name]: variable" in ran.err
    found = nczarr.open(tmp_path / "t.nc")
    assert len(found) == 2
    assert sorted(found[each][...].tolist() for each in found) == [[0, 1, 2], [10, 11, 12, 13]]
    assert all(found[each].dimensions == (each,) for each in found)


@pytest.mark.parametrize("name", SOURCES)
def test_python_sees_a_warning_with_both_spellings(name: str, tmp_path: Path) -> None:
    found = nczarr.open(SOURCES[name](tmp_path))
    notes = [each.notes for each in found.diagnostics if each.code == "duplicate-name"]
    assert notes
    if name != "netcdf3-twice":
        assert all("\\xe9" in text and "e\\u0301" in text for (text,) in notes)


def test_attributes(tmp_path: Path) -> None:
    documents = {".zgroup": GROUP, ".zattrs": {ONE: 1, TWO: 2, f"{ONE}_2": 3}}
    found = nczarr.open(stored(tmp_path, documents))
    values = {each.name: each.value.as_numbers() for each in found.dataset.attributes}
    assert values == {ONE: (1,), f"{ONE}_3": (2,), f"{ONE}_2": (3,)}
    assert [each.code for each in found.diagnostics] == ["duplicate-name"]


def test_groups(tmp_path: Path) -> None:
    documents = {".zgroup": GROUP, f"{ONE}/.zgroup": GROUP, f"{TWO}/.zgroup": GROUP}
    documents |= {f"{ONE}/v/.zarray": array(1), f"{TWO}/v/.zarray": array(1), f"{TWO}/v/0": numbers(1, 7)}
    found = nczarr.open(stored(tmp_path, documents))
    assert sorted(int(found[each][0]) for each in found) == [0, 7]
    assert [each.name for each in found.dataset.groups] == [ONE, f"{ONE}_2"]


def test_an_array_that_is_a_group(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    documents = {".zgroup": GROUP, "x/.zarray": array(3), "x/.zgroup": GROUP, "x/y/.zarray": array(3)}
    path = stored(tmp_path, documents)
    assert "error[ambiguous-node]" in nczarr_command("convert", str(path), str(tmp_path / "t.nc")).err
    assert list(nczarr.open(path)) == ["/x"]


def test_fields(tmp_path: Path) -> None:
    record = array(2, dtype=[[ONE, "<i4"], [TWO, "<i4"]], fill_value=None)
    found = nczarr.open(stored(tmp_path, {".zgroup": GROUP, "x/.zarray": record, "x/0": numbers(4)}))
    assert found["/x"][...].tolist() == [(0, 1), (2, 3)]
    assert found["/x"].dtype.names == (ONE, f"{ONE}_2")
    assert "duplicate-name" in [each.code for each in found.diagnostics]


@pytest.mark.parametrize("key", [".zattrs", ".zmetadata"])
def test_members_that_stand_twice_in_a_document(key: str, tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    text = '{"a": 1, "a": 2}'
    if key == ".zmetadata":
        text = f'{{"zarr_consolidated_format": 1, "metadata": {{".zgroup": {{"zarr_format": 2}}, ".zattrs": {text}}}}}'
    path = stored(tmp_path, {key: text} if key == ".zmetadata" else {".zgroup": GROUP, key: text})
    ran = nczarr_command("convert", str(path), str(tmp_path / "t.nc"))
    assert "error[duplicate-name]: member `a` occurs twice" in ran.err
    assert nczarr_command("dump", str(path)).text.count(":a = 2") == 1  # as other readers of JSON


def test_keys_that_stand_twice_in_a_reference_document(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    path = tmp_path / "r.json"
    small, large = (json.dumps(json.dumps(array(count))) for count in (3, 5))
    path.write_text(f'{{"refs": {{".zgroup": "{{}}", "x/.zarray": {small}, "x/.zarray": {large}}}, "version": 1}}')
    assert "error[duplicate-name]" in nczarr_command("convert", str(path), str(tmp_path / "t.nc")).err
    assert nczarr.open(path)["/x"].shape == (5,)


@pytest.mark.slow
def test_keys_that_stand_twice_in_a_large_reference_document(
    tmp_path: Path, nczarr_command: Callable[..., Ran]
) -> None:
    path = tmp_path / "r.json"
    members = [f'"a/{number}": ["u", {number}, 1]' for number in range(300_000)]
    for place in (5, 150_000, 299_999):
        text = ", ".join([*members, members[place]])
        path.write_text(f'{{"version": 1, "refs": {{{text}}}}}')
        ran = nczarr_command("dump", "--strict", str(path)) if place == 5 else nczarr_command("check", str(path))
        assert f"member `a/{place}` occurs twice" in ran.err


CDL = (
    "netcdf t {dimensions: x = 2 ; x = 3 ; variables: int v(x) ; double v ; int w ; w:a = 1 ; w:a = 2 ; "
    "data: v = 1, 2 ; w = 3 ; group: g { dimensions: y = 1 ; variables: int q(y) ; data: q = 1 ; } "
    "group: g { dimensions: y = 2 ; variables: int q(y) ; int r ; data: q = 2, 3 ; r = 4 ; } }"
)


def test_cdl_is_refused_and_kept_apart(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(CDL)
    refused = nczarr_command("compile", str(path), "-o", str(tmp_path / "t.nc"))
    assert refused.err.count("error[duplicate-name]") == 4
    ran = nczarr_command("compile", "--allow-loss", "duplicate-name", str(path), "-o", str(tmp_path / "t.nc"))
    assert ran.status == 0, ran.err
    found = nczarr.open(tmp_path / "t.nc")
    assert found["/v"][...].tolist() == [1, 2]
    assert found["/g/q"][...].tolist() == [1]
    assert found["/g_2/q"][...].tolist() == [2, 3]
    assert int(found["/g_2/r"][...]) == 4
    assert dict(found["/w"].attributes) == {"a": 1, "a_2": 2}


def test_the_notation(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    text = b"dataset t 2.0.0 { dimension x 2 dimension x 3 attribute a int 1 attribute a int 2 }"
    refused = nczarr_command("compile", "-", "-o", str(tmp_path / "t.nc"), stdin=text)
    assert refused.err.count("error[duplicate-name]") == 2
    ran = nczarr_command("dump", "-", stdin=text)
    assert ran.err.count("warning[duplicate-name]") == 2
    assert "x_2 = 3" in ran.text
    assert ":a_2 = 2" in ran.text


def tree(first: str, second: str) -> bytes:
    def variable(name: str) -> dict[str, Any]:
        return {"name": name, "type": f"/{name}", "dimensions": [f"/{name}"], "attributes": []}

    dataset = {
        "name": "t",
        "types": [
            {"kind": "opaque", "name": first, "size": 2},
            {"kind": "opaque", "name": second, "size": 3},
        ],
        "dimensions": [{"name": f"d{first}", "size": 3}, {"name": f"d{second}", "size": 4}],
        "variables": [
            {"name": f"v{each}", "type": f"/{each}", "dimensions": [f"/d{each}"]} for each in (first, second)
        ],
    }
    ast = json.loads(nczarr.from_cdl("netcdf t { }").to_ast())
    ast["dataset"].update(dataset)
    return json.dumps(ast).encode()


def test_references_within_a_tree_follow_the_spelling(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    refused = nczarr_command("compile", "-", "-o", str(tmp_path / "t.nc"), stdin=tree(ONE, TWO))
    assert refused.err.count("error[duplicate-name]") == 3
    options = ("--allow-loss", "duplicate-name", "--to", "netcdf4")
    ran = nczarr_command("compile", *options, "-", "-o", str(tmp_path / "t.nc"), stdin=tree(ONE, TWO))
    assert ran.status == 0, ran.err
    found = nczarr.open(tmp_path / "t.nc")
    shown = {name: (found[name].type, found[name].shape) for name in found}
    assert shown == {f"/v{ONE}": (f"/{ONE}", (3,)), f"/v{ONE}_2": (f"/{ONE}_2", (4,))}


def test_names_are_in_nfc_where_nothing_clashes(nczarr_command: Callable[..., Ran]) -> None:
    ran = nczarr_command("dump", "-h", "-", stdin=tree(TWO, "other"))
    assert ran.err == ""
    assert ONE in ran.text
    assert TWO not in ran.text


def test_the_builder_refuses_equal_names() -> None:
    builder = nczarr.DatasetBuilder("t")
    builder.variable(ONE, "int")
    with pytest.raises(nczarr.CompileError, match="duplicate-name"):
        builder.variable(TWO, "int")
