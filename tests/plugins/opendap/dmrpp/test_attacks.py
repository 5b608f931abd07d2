"""Documents that are made to do harm: each is refused with a diagnostic, and none raises or takes long."""

from __future__ import annotations

import base64
import re
import time
import zlib
from pathlib import Path

import pytest

from nczarr import registry
from nczarr.diagnostics.report import CompileError
from nczarr.options import Following
from nczarr.plugins.common import xml_reader
from nczarr.plugins.opendap.dmrpp import FORMAT
from tests.support.dmrpp_documents import HEAD, array, codes, document, read, target

LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))

BAD = {
    "billion laughs": f'<!DOCTYPE t [<!ENTITY a0 "ha">{LAUGHS}]>'.encode() + document("<x>&a9;</x>"),
    "file entity": b'<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + document("&a;"),
    "document type elsewhere": b'<!DOCTYPE t SYSTEM "http://localhost/t.dtd">' + document(""),
    "undefined entity": document("&a;"),
    "deep": document("<Group name='g'>" * 5000),
    "deep and closed": document("<Group name='g'>" * 150 + "</Group>" * 150),
    "cut": document(array(""))[:-20],
    "two roots": document("") + document(""),
    "another root": b'<Thing xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"/>',
    "unknown encoding": b'<?xml version="1.0" encoding="ebcdic-x"?>' + document(""),
    "chunk with elements": document(array('<dmrpp:chunk offset="0" nBytes="4"><a/></dmrpp:chunk>')),
    "nothing": b"",
    "no text": bytes(range(256)),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_refused_documents(text: bytes, tmp_path: Path) -> None:
    from nczarr.diagnostics.report import Report, Source
    from nczarr.options import Options
    from nczarr.plugins.opendap.dmrpp.frontend import read as read_document

    report = Report()
    found = read_document(Source(str(tmp_path / "t.dmrpp"), text), report, Options())
    assert found is None
    assert codes(report) == ["bad-dmrpp"]


def test_places_of_faults(tmp_path: Path) -> None:
    _, report = read(tmp_path, document("\n\n  <Int32>"))
    (fault,) = report.list_sorted()
    span = fault.primary.span
    assert span.source is not None
    assert span.source.position(span.start)[0] == 3


ODD = {
    "negative size": array("", shape=(-4,)),
    "no size": '<Int32 name="v"><Dim/><dmrpp:chunks/></Int32>',
    "undeclared dimension": '<Int32 name="v"><Dim name="/x"/><dmrpp:chunks/></Int32>',
    "huge size": array("", shape=(10**30,)),
    "negative offset": array('<dmrpp:chunk offset="-8" nBytes="16"/>'),
    "no offset": array('<dmrpp:chunk nBytes="16"/>'),
    "huge offset": array(f'<dmrpp:chunk offset="{10**19}" nBytes="16"/>'),
    "wrong length": array('<dmrpp:chunk offset="8" nBytes="15"/>'),
    "outside": array(
        "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"
        '<dmrpp:chunk offset="8" nBytes="8" chunkPositionInArray="[4]"/>'
    ),
    "between": array(
        "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"
        '<dmrpp:chunk offset="8" nBytes="8" chunkPositionInArray="[1]"/>'
    ),
    "twice": array(
        "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"
        + '<dmrpp:chunk offset="8" nBytes="8" chunkPositionInArray="[2]"/>' * 2
    ),
    "negative position": array(
        "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"
        '<dmrpp:chunk offset="8" nBytes="8" chunkPositionInArray="[-2]"/>'
    ),
    "position of another rank": array(
        "<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>"
        '<dmrpp:chunk offset="8" nBytes="8" chunkPositionInArray="[0,0]"/>'
    ),
    "chunks of no length": array("<dmrpp:chunkDimensionSizes>0</dmrpp:chunkDimensionSizes>"),
    "chunks of another rank": array("<dmrpp:chunkDimensionSizes>2 2</dmrpp:chunkDimensionSizes>"),
    "unknown filter": array("<dmrpp:chunkDimensionSizes>2</dmrpp:chunkDimensionSizes>", given='compressionType="szip"'),
    "unknown attribute": array("", given='magic="1"'),
    "unknown byte order": array("", given='byteOrder="PDP"'),
    "unknown element": array("<dmrpp:block/>"),
    "unknown attribute of a chunk": array('<dmrpp:chunk offset="8" nBytes="16" LBIndex="3"/>'),
    "mask of no filter": array('<dmrpp:chunk offset="8" nBytes="16" fm="1"/>'),
    "bad fill value": array("", given='fillValue="many"'),
    "fill value out of range": array("", given='fillValue="4294967296"'),
    "bad base64": '<Int32 name="v"><Dim size="1"/><dmrpp:compact>?</dmrpp:compact></Int32>',
    "short values": '<Int32 name="v"><Dim size="2"/><dmrpp:compact>AAAAAA==</dmrpp:compact></Int32>',
    "texts beyond the shape": '<String name="v"><Dim size="2"/><dmrpp:vlsa><v c="1000000000">a</v></dmrpp:vlsa>'
    "</String>",
    "too few texts": '<String name="v"><Dim size="2"/><dmrpp:vlsa><v>a</v></dmrpp:vlsa></String>',
    "texts that inflate to more": '<String name="v"><Dim size="1"/><dmrpp:vlsa><v s="3">'
    + base64.b64encode(zlib.compress(bytes(1 << 20))).decode()
    + "</v></dmrpp:vlsa></String>",
    "records that end early": '<Structure name="v"><Int32 name="a"/><Dim size="2"/>'
    "<dmrpp:specialstructuredata>AAAAAA==</dmrpp:specialstructuredata></Structure>",
    "records beyond counting": f'<Structure name="v"><Int32 name="a"/><Dim size="{10**15}"/>'
    "<dmrpp:specialstructuredata>AAAAAA==</dmrpp:specialstructuredata></Structure>",
    "offsets beyond members": '<Structure name="v"><Int32 name="a"/><dmrpp:chunks structOffset="2"/></Structure>',
    "sequence": '<Sequence name="v"><Int32 name="a"/></Sequence>',
    "unknown enumeration": '<Enum name="v" enum="/e"><dmrpp:chunks/></Enum>',
    "name with a slash": '<Int32 name="a/b"><dmrpp:chunks/></Int32>',
    "no name": "<Int32><dmrpp:chunks/></Int32>",
    "no values": '<Int32 name="v"/>',
    "long name": f'<Int32 name="{"n" * (1 << 20)}"><dmrpp:chunks/></Int32>',
    "text without a length": array('<dmrpp:chunk offset="8" nBytes="15"/>', type_name="String"),
    "text beyond memory": '<String name="v"><Dim size="1"/><dmrpp:chunks><dmrpp:chunk offset="0" nBytes="1"/>'
    '</dmrpp:chunks><dmrpp:FixedLengthStringArray string_length="99999999999" pad="null_pad"/></String>',
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_variables_that_are_left_out(body: str, tmp_path: Path) -> None:
    target(tmp_path, bytes(64))
    found, report = read(tmp_path, document(body + array('<dmrpp:chunk offset="8" nBytes="16"/>', name="good")))
    assert found is None
    assert codes(report) == ["unreadable-array"]
    (fault,) = report.list_sorted()
    assert len(fault.message) < 400
    found, report = read(
        tmp_path,
        document(body + array('<dmrpp:chunk offset="8" nBytes="16"/>', name="good")),
        accepts=("unreadable-array",),
    )
    assert found is not None
    assert list(found.variables) == ["/good"]


@pytest.mark.parametrize(
    "href", ["../t.h5", "/etc/hostname", "http://h/a::file:///etc/passwd", "smb://h/t.h5", "\ud800"]
)
def test_targets_that_may_not_be_named(href: str, tmp_path: Path) -> None:
    home = tmp_path / "documents"
    home.mkdir()
    target(tmp_path, bytes(64))
    body = array(f'<dmrpp:chunk offset="8" nBytes="16" href="{href}"/>').encode("utf-8", "replace")
    text = HEAD.encode() + body + b"</Dataset>"
    found, report = read(home, text, Following(roots=(str(home),)) if href.startswith("/") else None)
    if href == "\ud800":
        return
    assert found is None
    assert "forbidden-target" in codes(report)


def test_a_document_without_a_target(tmp_path: Path) -> None:
    text = document(array('<dmrpp:chunk offset="8" nBytes="16"/>'), HEAD.replace('dmrpp:href="t.h5"', ""))
    found, report = read(tmp_path, text)
    assert (found, codes(report)) == (None, ["forbidden-target"])


def test_chunks_behind_the_end(tmp_path: Path) -> None:
    target(tmp_path, bytes(4))
    found, _ = read(tmp_path, document(array('<dmrpp:chunk offset="8" nBytes="16"/>')))
    assert found is not None
    with pytest.raises(CompileError) as raised:
        found.parts["/v"][""].read((slice(0, 4),))
    assert [each.code for each in raised.value.diagnostics] == ["short-target"]


def test_deflated_chunks_that_inflate_to_more(tmp_path: Path) -> None:
    data = zlib.compress(bytes(1 << 24))
    start = target(tmp_path, data)
    chunk = (
        "<dmrpp:chunkDimensionSizes>4</dmrpp:chunkDimensionSizes>"
        f'<dmrpp:chunk offset="{start}" nBytes="{len(data)}" chunkPositionInArray="[0]"/>'
    )
    found, _ = read(tmp_path, document(array(chunk, given='compressionType="deflate"')))
    assert found is not None
    with pytest.raises(CompileError) as raised:
        found.parts["/v"][""].read((slice(0, 4),))
    assert [each.code for each in raised.value.diagnostics] == ["unreadable-chunk"]


def test_a_huge_shape_takes_no_time(tmp_path: Path) -> None:
    target(tmp_path, bytes(16))
    chunks = "<dmrpp:chunkDimensionSizes>4 4</dmrpp:chunkDimensionSizes>"
    chunks += '<dmrpp:chunk offset="8" nBytes="64" chunkPositionInArray="[1000000000,4]"/>'
    found, _ = read(tmp_path, document(array(chunks, shape=(2 * 10**9, 10**9), given='fillValue="7"')))
    assert found is not None
    assert found.parts["/v"][""].read((slice(0, 2), slice(0, 1))).tolist() == [[7], [7]]
    assert list(found.parts["/v"][""].list_occupied((4, 4))) == [(250000000, 1)]


def test_limits_of_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_reader, "MOST_ELEMENTS", 10)
    _, report = read(tmp_path, document("<Attribute/>" * 20))
    assert codes(report) == ["bad-dmrpp"]
    monkeypatch.setattr(xml_reader, "LONGEST", 100)
    _, report = read(tmp_path, document(""))
    assert codes(report) == ["bad-dmrpp"]


def test_a_huge_attribute(tmp_path: Path) -> None:
    value = "x" * (8 << 20)
    found, report = read(tmp_path, document(f'<Attribute name="a" type="String"><Value>{value}</Value></Attribute>'))
    assert found is not None
    assert not codes(report)
    assert found.dataset.attributes[0].value.count == len(value)


@pytest.mark.parametrize("text", ["<??>" * 15000, "<!---->" * 9000, "<!--" * 15000, "<Dataset " + "a" * 60000])
def test_detection_takes_no_time(text: str) -> None:
    begun = time.process_time()
    assert re.match(FORMAT.detects.encode(), text.encode(), re.DOTALL) is None
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("head", ["", "\ufeff", '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a - b -->\n'])
def test_documents_are_known_by_their_beginning(head: str) -> None:
    found = registry.detect("a.xml", head.encode() + document(""))
    assert found is not None
    assert found.name == "dmrpp"
