"""Answers of real servers, recorded: read as what two other decoders made of them; written and read again."""

from __future__ import annotations

import functools
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import nczarr.ncstream as door
import numpy as np
import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import NUMPY
from tests.conftest import shared_folder

FOLDER = shared_folder()
FILES = sorted((FOLDER / "data/ncstream").glob("*.ncs")) if FOLDER is not None else []

pytestmark = pytest.mark.skipif(not FILES, reason="shared data are not beside the clone (NCZARR_SHARED names another)")


@functools.cache
def recorded() -> dict[str, Any]:
    index = json.loads((FILES[0].parent / "index.json").read_text())
    return {each["file"]: each for each in index["payloads"] if each["file"].endswith(".ncs")}


def read(stream: Any, **options: Any) -> list[Any]:
    return list(door.read_messages(stream, **options))


def rewritten(messages: list[Any]) -> bytes:
    out = io.BytesIO()
    door.write_messages(messages, out)
    return out.getvalue()


def little_hash(values: Any) -> str:
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()


def header_of(path: Path) -> pb.Header | None:
    """The header that was recorded with a data message."""
    beside = path.with_name(path.name.replace("_deflate", "").replace("-1.ncs", "-0.ncs"))
    if beside == path or not beside.exists():
        return None
    found = read(beside.read_bytes())[0]
    return found.header if isinstance(found, door.Header) else None


def test_all_are_there() -> None:
    assert {each.name for each in FILES} == set(recorded())
    assert len(FILES) >= 37


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_contents(path: Path) -> None:
    wanted = recorded()[path.name]
    stream = path.read_bytes()
    assert hashlib.sha256(stream).hexdigest() == wanted["sha256"]
    (found,) = read(stream)
    seen = 0
    for name, check in CHECKS.items():
        if name in wanted:
            check(found, wanted[name], path)
            seen += 1
    assert seen


def check_header(found: Any, wanted: Any, _: Path) -> None:
    header = found.header
    assert header.location.decode() == wanted["location"]
    assert header.version == wanted["version"]
    assert group(header.root, wanted["root"]) == plain(wanted["root"])


def plain(wanted: Any) -> Any:
    """The recorded description, with the hash alone of immediate values."""
    if isinstance(wanted, list):
        return [plain(each) for each in wanted]
    if not isinstance(wanted, dict):
        return wanted
    made = {name: plain(each) for name, each in wanted.items()}
    if "immediate" in made:
        made["immediate"] = made["immediate"]["sha256_of_little_endian_C_order"]
    return made


def group(found: pb.Group, wanted: Any) -> dict[str, Any]:
    return {
        "name": found.name.decode(),
        "dims": [dimension(each) for each in found.dims],
        "atts": [attribute(each) for each in found.atts],
        "enums": [
            {"name": each.name.decode(), "map": {str(item.code): item.value.decode() for item in each.map}}
            for each in found.enumTypes
        ],
        "vars": [variable(each, one) for each, one in zip(found.vars, wanted["vars"], strict=True)],
        "structs": [structure(each) for each in found.structs],
        "groups": [group(each, one) for each, one in zip(found.groups, wanted["groups"], strict=True)],
    }


def dimension(found: pb.Dimension) -> dict[str, Any]:
    made: dict[str, Any] = {"name": found.name.decode() or None, "length": None if found.isVlen else found.length}
    if found.isUnlimited:
        made["unlimited"] = True
    if found.isVlen:
        made |= {"vlen": True, "length_field_on_wire": found.length}
    if found.isPrivate:
        made["private"] = True
    return made


def structure(found: pb.Structure) -> dict[str, Any]:
    return {
        "name": found.name.decode(),
        "type": pb.DataType.Name(found.dataType),
        "shape": [dimension(each) for each in found.shape],
        "atts": [attribute(each) for each in found.atts],
        "members": [variable(each) for each in found.vars],
        "struct_members": [structure(each) for each in found.structs],
    }


def variable(found: pb.Variable, wanted: Any = ()) -> dict[str, Any]:
    """`wanted` says of long lists of attributes how many there are."""
    made: dict[str, Any] = {
        "name": found.name.decode(),
        "type": pb.DataType.Name(found.dataType),
        "shape": [dimension(each) for each in found.shape],
        "atts": [attribute(each) for each in found.atts],
    }
    if "n_atts" in wanted:
        made["n_atts"] = len(made.pop("atts"))
    if found.unsigned:
        made["unsigned"] = True
    if found.enumType:
        made["enumType"] = found.enumType.decode()
    if found.data:
        values = np.frombuffer(found.data, ">" + NUMPY[found.dataType])
        made["immediate"] = little_hash(values)
    return made


def attribute(found: pb.Attribute) -> dict[str, Any]:
    kind = found.dataType or pb.DataType.Value(pb.Attribute.Type.Name(found.type))
    if not found.dataType and not found.type:
        kind = pb.STRING
    values: list[Any] = [each.decode() for each in found.sdata]
    if kind != pb.STRING and found.data:
        values = np.frombuffer(found.data, ">" + NUMPY[kind]).tolist()
    value = None if not values else values[0] if len(values) == 1 else values
    return {"name": found.name.decode(), "type": pb.DataType.Name(kind), "len": found.len, "value": value}


def check_message(found: Any, wanted: Any, _: Path) -> None:
    message = found.message
    assert type(found).__name__ == {"Data": "Data", "DataCol": "DataColumn"}[wanted["kind"]]
    assert found.name == (wanted["varName"] if "varName" in wanted else wanted["name"])
    assert found.data_type == wanted["dataType"]
    ranges = [(start, size, stride) for start, size, stride in wanted["section_start_size_stride"] if size != -1]
    assert found.section == tuple(
        range(start, start + size * (stride or 1), stride or 1) for start, size, stride in ranges
    )
    assert message.version == wanted["version"]
    if "structureData" in wanted:
        assert found.values.tobytes().hex() == wanted["structureData"]["data"]["hex"]
        assert found.values.dtype.itemsize == wanted["structureData"]["rowLength"]


def check_siphon(found: Any, wanted: Any, _: Path) -> None:
    """What siphon made of it, as far as it keeps shapes and bytes."""
    values = found.values
    assert values.size == wanted["size"]
    if "sha256_of_little_endian_C_order" in wanted:
        assert values.dtype == np.dtype(wanted["siphon_dtype"])
        assert list(values.shape) == wanted["shape"]
        assert little_hash(values) == wanted["sha256_of_little_endian_C_order"]
        assert np.float64(values[np.isfinite(values)].sum(dtype="f8")) == pytest.approx(wanted["sum_float64"])
    elif values.dtype == "S1":
        first = [each.hex() for each in values.tolist()]
        assert first[: len(wanted["first"])] == [each["hex"] for each in wanted["first"]]


def check_rows(found: Any, wanted: Any, path: Path) -> None:
    """By the header that was recorded beside, where the message itself names no members."""
    (found,) = read(path.read_bytes(), definitions=header_of(path))
    rows = found.values.reshape(-1)
    assert [named(each, rows.dtype) for each in rows] == wanted


def named(row: Any, dtype: Any) -> Any:
    if dtype.names is None:
        return row.item()
    return {name: named(row[name], dtype[name]) for name in dtype.names}


def check_strings(found: Any, wanted: Any, _: Path) -> None:
    assert found.values.reshape(-1).tolist() == wanted


def check_lists(found: Any, wanted: Any, _: Path) -> None:
    assert [each.tolist() for each in found.values.reshape(-1)] == wanted


def check_opaque(found: Any, wanted: Any, _: Path) -> None:
    assert [each.hex() for each in found.values.reshape(-1)] == wanted


def check_coverage(found: Any, wanted: Any, _: Path) -> None:
    if isinstance(found, door.CoverageData):
        assert list(found.values) == [each["name"] for each in wanted["arrays"]]
        for each, array in zip(wanted["arrays"], found.values.values(), strict=True):
            assert list(array.shape) == each["shape"]
            assert array.nbytes == each["primdata_bytes"]
            assert np.isnan(array).all()  # in the other byte order they would be very small numbers
        axes = found.message.coordAxes
        wanted_axes = [(name, count, start, end) for name, count, start, end, *_ in wanted["axes"]]
        assert [(each.name.decode(), each.nvalues, each.startValue, each.endValue) for each in axes] == wanted_axes
        return
    message = found.message
    assert message.name.decode() == wanted["name"]
    assert len(message.atts) == wanted["n_atts"]
    assert [each.name.decode() for each in message.coordSys] == wanted["coordSys"]
    assert len(message.coordAxes) == wanted["n_axes"]
    assert len(message.grids) == wanted["n_grids"]
    first = [[each.name.decode(), each.nvalues, each.startValue, each.endValue] for each in message.coordAxes]
    assert first[: len(wanted["axes_first"])] == wanted["axes_first"]
    for each in message.coordAxes:
        if each.values:
            assert len(found.axes[each.name.decode()]) in (each.nvalues, 2 * each.nvalues)


CHECKS = {
    "header": check_header,
    "message": check_message,
    "siphon": check_siphon,
    "rows": check_rows,
    "strings": check_strings,
    "vlen_rows": check_lists,
    "opaque_hex": check_opaque,
    "coverage": check_coverage,
}


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[name], b[name]) for name in a)
    if a.dtype.kind == "O":
        pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
        return a.shape == b.shape and all(np.array_equal(one, other) for one, other in pairs)
    little = a.dtype.newbyteorder("<")
    return (
        a.shape == b.shape
        and b.dtype.newbyteorder("<") == little
        and a.astype(little).tobytes() == b.astype(little).tobytes()
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_written_and_read_again(path: Path) -> None:
    """Columns, headers and coverages are the same bytes; servers of the first generation have other habits."""
    stream = path.read_bytes()
    for definitions in (None, header_of(path)):
        found = read(stream, definitions=definitions)
        again = rewritten(found)
        if not isinstance(found[0], door.Data):
            assert again == stream
        (twice,) = read(again, definitions=definitions)
        assert type(twice) is type(found[0])
        if hasattr(twice, "values"):
            assert equal(twice.values, found[0].values)
        if hasattr(twice, "section"):
            assert (twice.name, twice.section, twice.data_type) == (
                found[0].name, found[0].section, found[0].data_type
            )  # fmt: skip
        assert rewritten([twice]) == again


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_never_short(path: Path) -> None:
    """Cut anywhere (of long ones at some places) there is a diagnostic, and it has an offset."""
    stream = path.read_bytes()
    for cut in range(1, len(stream), max(1, len(stream) // 300)):
        with pytest.raises(CompileError) as caught:
            read(stream[:cut])
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "truncated-ncstream"
        assert diagnostic.primary.offset is not None
        assert diagnostic.primary.offset <= cut
