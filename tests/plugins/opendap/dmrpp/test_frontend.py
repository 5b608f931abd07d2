"""What documents say is what is read: types, filters, fill values, values in the document, targets."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.codecs.chain import encode
from nczarr.ast import Codec
from nczarr.options import Following
from nczarr.semantics.checked import Checked
from tests.support.dmrpp_documents import HEAD, SIGNATURE, array, codes, document, read, target

VALUES = np.arange(6, dtype="<i4").reshape(2, 3)


def values(checked: Checked | None, path: str = "/v", part: str = "") -> Any:
    assert checked is not None
    source = checked.parts[path][part]
    return source.read(tuple(slice(0, length) for length in source.layout.shape))


def chunk(data: bytes, start: int, lengths: str, position: str, more: str = "") -> str:
    return (
        f"<dmrpp:chunkDimensionSizes>{lengths}</dmrpp:chunkDimensionSizes>"
        f'<dmrpp:chunk offset="{start}" nBytes="{len(data)}" chunkPositionInArray="[{position}]" {more}/>'
    )


@pytest.mark.parametrize(
    "filters",
    [
        ("deflate",),
        ("shuffle", "deflate"),
        ("deflate", "deflate"),
        ("shuffle", "deflate", "deflate", "fletcher32"),
        ("fletcher32", "shuffle", "deflate"),
        ("deflate", "shuffle"),
        ("fletcher32", "deflate", "fletcher32"),
    ],
    ids="+".join,
)
def test_filters_in_any_order(filters: tuple[str, ...], tmp_path: Path) -> None:
    chain = [Codec(id={"deflate": 1, "shuffle": 2, "fletcher32": 3}[name]) for name in filters]
    data = VALUES.tobytes()
    for codec in chain:
        data = encode((codec,), data, 4)
    start = target(tmp_path, data)
    text = array(chunk(data, start, "2 3", "0,0"), shape=(2, 3), given=f'compressionType="{" ".join(filters)}"')
    found, _ = read(tmp_path, document(text))
    assert values(found).tolist() == VALUES.tolist()
    assert found is not None
    assert [codec.id for codec in found.variables["/v"].storage.codecs] == [codec.id for codec in chain]


def test_chunks_that_lack_filters(tmp_path: Path) -> None:
    packed, plain = zlib.compress(VALUES[:1].tobytes()), VALUES[1:].tobytes()
    start = target(tmp_path, packed + plain)
    text = chunk(packed, start, "1 3", "0,0")
    text += f'<dmrpp:chunk offset="{start + len(packed)}" nBytes="12" chunkPositionInArray="[1,0]" fm="1"/>'
    found, _ = read(tmp_path, document(array(text, shape=(2, 3), given='compressionType="deflate"')))
    assert values(found).tolist() == VALUES.tolist()


def test_documents_without_a_version_name_filters_in_no_order(tmp_path: Path) -> None:
    data = encode((Codec(id=2), Codec(id=1)), VALUES.tobytes(), 4)
    start = target(tmp_path, data)
    text = array(chunk(data, start, "2 3", "0,0"), shape=(2, 3), given='compressionType="deflate shuffle"')
    found, _ = read(tmp_path, document(text, HEAD.replace('dmrpp:version="3.21.1"', "")))
    assert values(found).tolist() == VALUES.tolist()


def test_missing_chunks_hold_the_fill_value(tmp_path: Path) -> None:
    data = VALUES[:1].tobytes()
    start = target(tmp_path, data)
    text = array(chunk(data, start, "1 3", "0,0"), shape=(2, 3), given='fillValue="-99"')
    found, report = read(tmp_path, document(text))
    assert values(found).tolist() == [[0, 1, 2], [-99, -99, -99]]
    assert not codes(report)
    found, report = read(tmp_path, document(text.replace('fillValue="-99"', "")))
    assert codes(report) == ["undefined-fill"]
    assert found is not None
    assert found.parts["/v"][""].undefined


@pytest.mark.parametrize(
    ("text", "declared", "wanted"),
    [
        ("9.96921e+36", "", np.float32(9.969209968386869e36)),
        ("1e+20", "", np.float32(1e20)),
        (
            "0.333333",
            '<Attribute name="_FillValue" type="Float32"><Value>0.33333334</Value></Attribute>',
            np.float32(1 / 3),
        ),
        ("nan", "", np.float32("nan")),
    ],
)
def test_fill_values_of_six_digits(text: str, declared: str, wanted: Any, tmp_path: Path) -> None:
    body = array("", type_name="Float32", given=f'fillValue="{text}"').replace("</Float32>", declared + "</Float32>")
    found, _ = read(tmp_path, document(body))
    assert values(found).tobytes() == np.full(4, wanted, "<f4").tobytes()


def test_big_endian_numbers(tmp_path: Path) -> None:
    start = target(tmp_path, VALUES.astype(">i4").tobytes())
    text = array(f'<dmrpp:chunk offset="{start}" nBytes="24"/>', shape=(2, 3), given='byteOrder="BE"')
    found, _ = read(tmp_path, document(text))
    assert values(found).tolist() == VALUES.tolist()
    assert found is not None
    assert found.variables["/v"].storage.endian == "big"


@pytest.mark.parametrize("order", ["LE", "BE"])
def test_padded_records(order: str, tmp_path: Path) -> None:
    mark = "<" if order == "LE" else ">"
    kind = np.dtype(
        {"names": ["a", "b"], "formats": [f"{mark}i2", (f"{mark}f8", (2,))], "offsets": [0, 8], "itemsize": 24}
    )
    stored = np.zeros(2, kind)
    stored["a"], stored["b"] = [1, 2], [[1, 2], [3, 4]]
    start = target(tmp_path, stored.tobytes())
    members = '<Int16 name="a"/><Float64 name="b"><Dim size="2"/></Float64><Dim size="2"/>'
    chunks = f'<dmrpp:chunks byteOrder="{order}" structOffset="8 24">'
    chunks += f'<dmrpp:chunk offset="{start}" nBytes="48"/></dmrpp:chunks>'
    found, _ = read(tmp_path, document(f'<Structure name="v">{members}{chunks}</Structure>'))
    for name in ("a", "b"):
        assert values(found)[name].tolist() == stored[name].tolist()
    assert values(found).dtype.itemsize == 18
    unwritten = f'<dmrpp:chunks byteOrder="{order}" fillValue="7 8 9" structOffset="8 24"/>'
    found, _ = read(tmp_path, document(f'<Structure name="v">{members}{unwritten}</Structure>'))
    assert values(found)[0]["b"].tolist() == [8, 9]


@pytest.mark.parametrize(
    ("pad", "wanted"), [("space_pad", [b"ab", b"c\0x"]), ("null_pad", [b"ab ", b"c\0x"]), ("null_term", [b"ab ", b"c"])]
)
def test_texts_of_fixed_length(pad: str, wanted: list[bytes], tmp_path: Path) -> None:
    start = target(tmp_path, b"ab c\0x")
    fixed = f'<dmrpp:FixedLengthStringArray string_length="3" pad="{pad}"/></String>'
    text = array(f'<dmrpp:chunk offset="{start}" nBytes="6"/>', shape=(2,), type_name="String").replace(
        "</String>", fixed
    )
    found, _ = read(tmp_path, document(text))
    assert values(found).tolist() == wanted


def test_texts_in_the_document(tmp_path: Path) -> None:
    long = "x" * 1000
    packed = base64.b64encode(zlib.compress(long.encode())).decode()
    text = f'<v c="2">a &amp; b</v><v s="1000">{packed}</v><v nczarr:nil="true"/>'
    found, _ = read(tmp_path, document(f'<String name="v"><Dim size="4"/><dmrpp:vlsa>{text}</dmrpp:vlsa></String>'))
    assert values(found).tolist() == [b"a & b", b"a & b", long.encode(), None]


def test_numbers_in_the_document(tmp_path: Path) -> None:
    compact = base64.b64encode(VALUES.tobytes()).decode()
    missing = base64.b64encode(zlib.compress(VALUES.tobytes())).decode()
    body = f'<Int32 name="a"><Dim size="2"/><Dim size="3"/><dmrpp:compact>{compact}</dmrpp:compact></Int32>'
    body += f'<Int32 name="b"><Dim size="2"/><Dim size="3"/><dmrpp:missingdata>{missing}</dmrpp:missingdata></Int32>'
    body += '<Byte name="c"><dmrpp:missingdata>cA==</dmrpp:missingdata></Byte>'
    found, _ = read(tmp_path, document(body, HEAD.replace('dmrpp:href="t.h5"', "")))
    assert values(found, "/a").tolist() == VALUES.tolist()
    assert values(found, "/b").tolist() == VALUES.tolist()
    assert values(found, "/c").tolist() == 0x70


def test_records_with_texts(tmp_path: Path) -> None:
    record = b"\x01\0\0\0" + base64.b64encode(b"one") + b";" + base64.b64encode(b"") + b";"
    data = base64.b64encode(record * 2).decode()
    units = attribute("units", "String", "<Value>m</Value>")
    body = f'<Structure name="v"><Int32 name="a">{units}</Int32><String name="b"><Dim size="2"/></String>'
    body += '<Dim size="2"/>'
    body += f"<dmrpp:specialstructuredata>{data}</dmrpp:specialstructuredata></Structure>"
    found, _ = read(tmp_path, document(body))
    assert values(found, part="a").tolist() == [1, 1]
    assert values(found, part="b").tolist() == [[b"one", b""], [b"one", b""]]
    assert found is not None
    assert [(each.name, each.value.data) for each in found.variables["/v"].attributes] == [("a.units", b"m")]


def test_groups_enumerations_and_dimensions(tmp_path: Path) -> None:
    start = target(tmp_path, b"\x01\x02")
    body = (
        '<Dimension name="x" size="2"/><Group name="g"><Enumeration name="e" basetype="Int8">'
        '<EnumConst name="one" value="1"/><EnumConst name="two" value="2"/></Enumeration>'
        f'<Enum name="v" enum="/g/e"><Dim name="/x"/><Map name="/x"/><dmrpp:chunks>'
        f'<dmrpp:chunk offset="{start}" nBytes="2"/></dmrpp:chunks></Enum></Group>'
    )
    found, _ = read(tmp_path, document(body))
    assert values(found, "/g/v").tolist() == [1, 2]
    assert found is not None
    assert found.variables["/g/v"].type == "/g/e"
    assert found.variables["/g/v"].dimensions == ("/x",)


def attribute(name: str, kind: str, inner: str) -> str:
    return f'<Attribute name="{name}" type="{kind}">{inner}</Attribute>'


def test_attributes(tmp_path: Path) -> None:
    body = "".join(
        (
            attribute("a", "Int16", '<Value>1</Value><Value value="-2"/>'),
            attribute("HDF5_GLOBAL", "Container", attribute("t", "String", "<Value> x </Value>")),
            attribute("c", "Container", attribute("d", "Float32", "<Value>nan</Value>")),
            attribute("build_dmrpp_metadata", "Container", attribute("e", "String", "")),
            attribute("x", "OtherXML", "<p/>"),
            attribute("n", "Byte", "<Value>many</Value>"),
        )
    )
    found, report = read(tmp_path, document(body))
    assert found is not None
    assert [each.name for each in found.dataset.attributes] == ["a", "t", "c.d"]
    assert found.dataset.attributes[0].value.as_numbers() == (1, -2)
    assert found.dataset.attributes[1].value.data == b" x "
    assert codes(report) == ["foreign-member", "foreign-member"]


@pytest.mark.parametrize("prefix", ["http", "https"])
def test_prefixes_of_namespaces_are_free(prefix: str, tmp_path: Path) -> None:
    start = target(tmp_path, VALUES.tobytes())
    text = (
        f'<d:Dataset xmlns:d="{prefix}://xml.opendap.org/ns/DAP/4.0#" '
        f'xmlns:p="{prefix}://xml.opendap.org/dap/dmrpp/1.0.0#" name="t" p:href="t.h5">'
        '<d:Int32 name="v"><d:Dim size="6"/>'
        f'<p:chunks><p:chunk offset="{start}" nBytes="24"/></p:chunks></d:Int32></d:Dataset>'
    )
    found, _ = read(tmp_path, text.encode())
    assert values(found).tolist() == list(range(6))


def test_the_placeholder_is_the_name_of_the_document(tmp_path: Path) -> None:
    start = target(tmp_path, VALUES.tobytes())
    text = document(
        array(f'<dmrpp:chunk offset="{start}" nBytes="24"/>', shape=(6,)),
        HEAD.replace('href="t.h5"', 'href="OPeNDAP_DMRpp_DATA_ACCESS_URL"'),
    )
    found, _ = read(tmp_path, text)
    assert values(found).tolist() == list(range(6))


def test_a_given_target_replaces_that_of_the_document(tmp_path: Path) -> None:
    target(tmp_path, bytes(24))
    other = tmp_path / "other.h5"
    other.write_bytes(SIGNATURE + VALUES.tobytes())
    text = document(array('<dmrpp:chunk offset="8" nBytes="24"/>', shape=(6,)))
    found, _ = read(tmp_path, text, Following(target=str(other)))
    assert values(found).tolist() == list(range(6))


@pytest.mark.parametrize("data", [b"\x0e\x03\x13\x01more", b"CDF\x01", b""], ids=["HDF4", "netCDF-3", "empty"])
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    tmp_path.joinpath("t.h5").write_bytes(data)
    found, report = read(tmp_path, document(array('<dmrpp:chunk offset="0" nBytes="16"/>')))
    assert (found, codes(report)) == (None, ["foreign-target"])


def test_large_data_in_one_piece_are_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    with path.open("wb") as file:
        file.write(SIGNATURE)
        file.truncate((64 << 20) + 8)
    text = array('<dmrpp:chunk offset="8" nBytes="67108864"/>', shape=(16, 1 << 20))
    found, _ = read(tmp_path, document(text))
    assert found is not None
    source = found.parts["/v"][""]
    assert source.layout.chunks == (4, 1 << 20)
    assert source.read((slice(15, 16), slice(0, 1))).tolist() == [[0]]
    assert found.variables["/v"].storage.layout == "contiguous"
