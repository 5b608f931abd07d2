"""Attributes of the types `Opaque` and of enumerations, and those that our server writes."""

from __future__ import annotations

import pytest

from nczarr.ast import Attribute, EnumType
from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.common.xml_reader import parse
from nczarr.plugins.opendap.common.declarations import DmrScope, attributes, enum_of
from nczarr.plugins.opendap.common.words import OURS, PREFIXES

CONSTANTS = '<EnumConst name="a" value="1"/><EnumConst name="b" value="-2"/>'
ENUM = f'<Enumeration name="e" basetype="Int8">{CONSTANTS}</Enumeration>'


def found(text: str) -> list[Attribute | str]:
    document = f'<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:nczarr="{OURS}">{ENUM}{text}</Dataset>'
    root = parse(Source("a.dmr", document.encode()), Report(), "bad-dap4", PREFIXES)
    assert root is not None
    scope = DmrScope("_", "/", lists=True, types=[enum_of(root.children[0])])
    assert isinstance(scope.types[0], EnumType)
    return [each if isinstance(each, Attribute) else each[1] for each in attributes(root, scope)]


@pytest.mark.parametrize("kind", ['type="/e"', 'type="e"', 'type="Enum" enum="/e"'])
def test_constants_of_enumerations(kind: str) -> None:
    (one,) = found(f'<Attribute name="x" {kind}><Value>b</Value><Value value="1"/></Attribute>')
    assert isinstance(one, Attribute)
    assert (one.value.type, one.value.count, one.value.data) == ("/e", 2, b"\xfe\x01")


def test_opaque_values() -> None:
    (one,) = found('<Attribute name="x" type="Opaque"><Value>0x01fF</Value><Value>0002</Value></Attribute>')
    assert isinstance(one, Attribute)
    assert (one.value.type, one.value.count, one.value.data) == ("/opaque2_t", 2, b"\1\xff\0\2")


def test_opaque_bytes_of_our_server() -> None:
    values = "".join(f"<Value>{n}</Value>" for n in range(4))
    hints = 'nczarr:type="/key" _edu.ucar.opaque.size="2"'
    (one,) = found(f'<Attribute name="x" type="UInt8" {hints}>{values}</Attribute>')
    assert isinstance(one, Attribute)
    assert (one.value.type, one.value.count, one.value.data) == ("/key", 2, bytes(range(4)))


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ('type="/f"><Value>1</Value>', "the model has no type for `/f`"),
        ('type="/e"><Value>c</Value>', "`c` is not a value of type byte"),
        ('type="Opaque"><Value>0xzz</Value>', "its opaque values are not hexadecimal"),
        ('type="Opaque"><Value>01</Value><Value>0102</Value>', "its opaque values are empty or of several lengths"),
        ('type="Opaque"/><x>', "its opaque values are empty or of several lengths"),
        ('type="UInt8" nczarr:type="/k" _edu.ucar.opaque.size="2"><Value>1</Value>', "opaque values have the wrong"),
        ('type="UInt8" nczarr:type="/k" _edu.ucar.opaque.size="0"><Value>1</Value>', "opaque values have the wrong"),
    ],
)
def test_faults(attribute: str, reason: str) -> None:
    closed = "</x>" if attribute.endswith("<x>") else "</Attribute>"
    (one,) = found(f'<Attribute name="x" {attribute}{closed}')
    assert isinstance(one, str)
    assert reason in one


def test_messages_about_restored_losses_are_omitted() -> None:
    given = '<Attribute name="_nczarr_left_out" type="String" nczarr:type="string" nczarr:count="{}">{}</Attribute>'
    values = "<Value>one</Value><Value>two</Value>"
    (one,) = found(given.format(1, values))
    assert isinstance(one, Attribute)
    assert one.value.data == (b"one",)
    assert found(given.format(0, values)) == []
