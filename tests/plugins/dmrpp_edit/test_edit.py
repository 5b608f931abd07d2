"""Edits of DMR++ documents: the rest of the text stays, names are followed, and an undo restores every byte."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

HYRAX = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- made elsewhere -->
<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"
    dapVersion="4.0" dmrVersion="1.0" name="a.h5" dmrpp:href="a.h5" dmrpp:version="3.20.10">
  <Dimension name="time" size="4"/>
  <Dimension name='x' size='2'/>
  <Float32 name="temp">
    <Dim name="/time"/>
    <Dim name="/x"/>
    <Attribute name="units" type="String"><Value>C</Value></Attribute>
    <Attribute name="long_name" type="String">
        <Value>caf\u00e9</Value>
    </Attribute>
    <Map name="/time"/>
    <dmrpp:chunks fillValue="0" byteOrder="LE">
      <dmrpp:chunkDimensionSizes>2 2</dmrpp:chunkDimensionSizes>
      <dmrpp:chunk offset="4016" nBytes="16" chunkPositionInArray="[0,0]"/>
    </dmrpp:chunks>
  </Float32>
  <Int32 name="time"><Dim name="/time"/><dmrpp:chunks fillValue="0"/></Int32>
  <Group name="g"/>
  <Int16 name="plain">
    <dmrpp:chunks fillValue="0"/>
  </Int16>
</Dataset>
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.dmrpp"
    path.write_bytes(HYRAX.encode("latin-1"))
    return path


def edited(document: Path, *arguments: str) -> list[str]:
    """The lines that an edit changes, and an undo of it."""
    old = document.read_bytes()
    ran = run_command("edit", str(document), *arguments)
    assert ran.status == 0, ran.err
    new = document.read_bytes()
    assert run_command("edit", str(document), "--undo", f"{document}.undo-1.json").status == 0
    assert document.read_bytes() == old
    Path(f"{document}.undo-1.json").unlink()
    lines = difflib.ndiff(old.decode("latin-1").splitlines(), new.decode("latin-1").splitlines())
    document.write_bytes(new)
    return [line.replace("  ", "") for line in lines if line[:1] in "+-"]


def test_attributes(document: Path) -> None:
    lines = edited(document, "--set", '/temp@units="K & é"', "--set", "/temp@n=1s,2s")
    assert [line for line in lines if line.startswith("-")] == [
        '- <Attribute name="units" type="String"><Value>C</Value></Attribute>'
    ]
    text = "".join(document.read_text("latin-1").split())
    assert (
        '<Attributename="units"type="String"><Value>K&amp;&#233;</Value></Attribute><Attributename="long_name"' in text
    )
    assert '</Attribute><Attributename="n"type="Int16"><Value>1</Value><Value>2</Value></Attribute><Map' in text
    assert nczarr.open(document)["temp"].attributes["units"] == "K & é"
    lines = edited(document, "--delete", "/temp@n")
    assert (len(lines), {line[0] for line in lines}) == (4, {"-"})


def test_the_first_attribute_of_a_group_and_a_variable(document: Path) -> None:
    edited(document, "--set", '/g@a="x"', "--set", "/plain@b=1", "--set", '@title="t"', "--set", "/time@c=2.5f")
    dataset = nczarr.open(document)
    assert dataset.groups["g"].attributes["a"] == "x"
    assert dataset["plain"].attributes["b"] == 1
    assert dataset.attributes["title"] == "t"
    assert dataset["time"].attributes["c"] == 2.5


def test_a_type_that_only_our_namespace_states(document: Path) -> None:
    edited(document, "--set", 'string /temp@one="a"')
    assert b'xmlns:nczarr="urn:nczarr:dmrpp"' in document.read_bytes()
    assert nczarr.open(document).checked.variables["/temp"].attributes[-1].value.type == "string"


def test_names_are_followed(document: Path) -> None:
    lines = edited(document, "--rename", "/time=t", "--rename", "/g=h", "--rename", "dim:/x=lon")
    assert [line for line in lines if line.startswith("+")] == [
        '+ <Dimension name="t" size="4"/>',
        "+ <Dimension name=\"lon\" size='2'/>",
        '+ <Dim name="/t"/>',
        '+ <Dim name="/lon"/>',
        '+ <Map name="/t"/>',
        '+ <Int32 name="t"><Dim name="/t"/><dmrpp:chunks fillValue="0"/></Int32>',
        '+ <Group name="h"/>',
    ]


def test_removals(document: Path) -> None:
    lines = edited(document, "--delete", "/time", "--delete", "/g", "--delete", "/temp")
    assert [line for line in lines if line.startswith("+")] == []
    assert list(nczarr.open(document).checked.variables) == ["/plain"]


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (("--set", "/temp@_FillValue=1.f"), "data-edit", 1),
        (("--rename", "/temp=a/b"), "slash-in-name", 1),
        (("--set", "/temp@units=5", "--rename", "/temp=time"), "bad-edit", 2),
    ],
)
def test_refusals(document: Path, arguments: tuple[str, ...], code: str, status: int) -> None:
    old = document.read_bytes()
    ran = run_command("edit", str(document), *arguments)
    assert (ran.status, f"error[{code}]" in ran.err) == (status, True), ran.err
    assert document.read_bytes() == old
    text = old.decode("latin-1").replace("ISO-8859-1", "UTF-16")
    document.write_bytes(text.encode("utf-16"))
    assert run_command("edit", str(document), "--set", "@a=1").status == 1


def test_sequences_and_structures_without_a_type_of_their_own(document: Path) -> None:
    text = HYRAX.replace(
        "</Dataset>", '<Structure name="s"><Int8 name="m"/><dmrpp:chunks fillValue="0"/></Structure></Dataset>'
    )
    document.write_bytes(text.encode("latin-1"))
    ran = run_command("edit", str(document), "--rename", "/s=r")
    assert "data-edit" in ran.err or "unreadable-array" in ran.err
