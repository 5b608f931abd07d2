"""NcML documents: what they say of every kind of thing, that any parser reads them, and that they stay small."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.types import ATOMIC, CompoundType, EnumConstant, EnumType, Field
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.common import ncml_writer
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.support.peers import exactness

REAL = exactness.real_folder()
SPACE = {"n": ncml_writer.NAMESPACE}


def checked(cdl: str) -> Checked:
    report = Report()
    found = phases.read(Source("t.cdl", cdl.encode()), report, Options())
    assert found is not None, report.list_sorted()
    return found


def parsed(dataset: Checked, location: str | None = None) -> ET.Element:
    return ET.fromstring(ncml_writer.text(dataset, location).encode("utf-8"))


def element(root: ET.Element, path: str) -> dict[str, str]:
    found = root.find(path, SPACE)
    assert found is not None, path
    return dict(found.attrib)


EVERYTHING = r"""netcdf t {
types:
  byte enum cloud { Clear = 0, Some = 5, Missing = -1 } ;
  int64 enum wide { One = 1 } ;
  opaque(3) key ;
  float(*) ragged ;
  ragged(*) twice ;
  compound inner { double u ; key k ; } ;
  compound rec { int64 id ; inner wind(2, 3) ; ragged seq ; string s ; cloud c ; } ;
dimensions:
  time = UNLIMITED ; x = 4 ; a\ b = 2 ;
variables:
  ubyte b(time, x) ; ushort s ; uint i ; uint64 l ; string t(a\ b) ; char c(x) ;
  cloud sky(x) ; wide w ; key k(x) ; ragged r(x) ; twice rr(x) ; rec obs(x) ;
    b:_FillValue = 255UB ;
    b:range = 1., NaN, Infinity ;
    string b:names = "a|b", "c;d", "" ;
    b:one = "x<y & \"z\"\tend\n" ;
    b:none = "" ;
    cloud sky:_FillValue = Missing ;
    key k:key = 0x010203 ;
    ragged r:lists = {1, 2}, {3} ;
    inner obs:pair = {1.5, 0x0a0b0c}, {2.5, 0x000000} ;
group: g {
  dimensions: x = 7 ;
  variables: int inside(x) ; int outside(/x) ; cloud sky(time) ;
}
}
"""


def test_every_kind_of_thing_has_its_words() -> None:
    root = parsed(checked(EVERYTHING), "http://h/t?a=1&b=2")
    assert root.tag == f"{{{ncml_writer.NAMESPACE}}}netcdf"
    assert root.attrib == {"location": "http://h/t?a=1&b=2"}
    assert element(root, "n:dimension[@name='time']") == {"name": "time", "length": "0", "isUnlimited": "true"}
    assert element(root, "n:dimension[@name='x']") == {"name": "x", "length": "4"}
    words = {each.attrib["name"]: each.attrib["type"] for each in root.findall("n:variable", SPACE)}
    assert words == {
        "b": "ubyte", "s": "ushort", "i": "uint", "l": "ulong", "t": "String", "c": "char", "sky": "enum1",
        "w": "long", "k": "opaque", "r": "float", "rr": "float", "obs": "Structure",
    }  # fmt: skip
    shapes = {each.attrib["name"]: each.attrib["shape"] for each in root.findall("n:variable", SPACE)}
    assert shapes["b"] == "time x"
    assert shapes["t"] == "2", "a name with blanks cannot stand in a shape"
    assert (shapes["s"], shapes["r"], shapes["rr"]) == ("", "x *", "x * *")


def test_structures_hold_their_members() -> None:
    root = parsed(checked(EVERYTHING))
    obs = root.find("n:variable[@name='obs']", SPACE)
    assert obs is not None
    members = [
        (each.attrib["name"], each.attrib["type"], each.attrib["shape"]) for each in obs.iterfind("n:variable", SPACE)
    ]
    wanted = ["id long ", "wind Structure 2 3", "seq float *", "s String ", "c enum1 "]
    assert [" ".join(member) for member in members] == wanted
    assert element(obs, "n:variable[@name='c']")["typedef"] == "cloud"
    assert element(obs, "n:variable[@name='wind']/n:variable[@name='k']")["type"] == "opaque"


def test_enums_have_typedefs_with_unsigned_codes() -> None:
    root = parsed(checked(EVERYTHING))
    [typedef] = root.findall("n:enumTypedef", SPACE)
    assert typedef.attrib == {"name": "cloud", "type": "enum1"}
    assert [(each.attrib["key"], each.text) for each in typedef] == [("0", "Clear"), ("5", "Some"), ("255", "Missing")]
    sky = {"name": "sky", "shape": "x", "type": "enum1", "typedef": "cloud"}
    assert element(root, "n:variable[@name='sky']") == sky
    assert element(root, "n:group/n:variable[@name='sky']")["typedef"] == "cloud"


def test_attributes_keep_types_and_texts() -> None:
    root = parsed(checked(EVERYTHING))

    def attribute(path: str) -> tuple[str | None, str | None, str | None]:
        found = element(root, f"n:variable[@name='{path.split(':')[0]}']/n:attribute[@name='{path.split(':')[1]}']")
        return found.get("type"), found.get("value"), found.get("separator")

    assert attribute("b:_FillValue") == ("ubyte", "255", None)
    assert attribute("b:range") == ("double", "1.0 NaN Infinity", None)
    assert attribute("b:names") == (None, "a|b^c;d^", "^")
    assert attribute("b:one") == (None, 'x<y & "z"\tend\n', None)
    assert attribute("b:none") == (None, "", None), "a text without characters is a NUL"
    assert attribute("sky:_FillValue") == (None, "Missing", None)
    assert attribute("k:key") == ("ubyte", "1 2 3", None)
    assert attribute("r:lists") == ("float", "1.0 2.0 3.0", None)
    assert attribute("obs:pair.u") == ("double", "1.5 2.5", None)
    assert attribute("obs:pair.k") == ("ubyte", "10 11 12 0 0 0", None)


def test_names_mean_what_is_nearest() -> None:
    root = parsed(checked(EVERYTHING))
    assert element(root, "n:group/n:variable[@name='inside']")["shape"] == "x"
    assert element(root, "n:group/n:variable[@name='outside']")["shape"] == "4", "`x` means the group's own there"


def test_the_recorded_answer_says_the_same(shared: Path) -> None:
    """The server's words for a dataset, beside ours for its CDL."""
    wanted = ET.fromstring((shared / "data/ncstream/cdmr_ncml-0.xml").read_bytes())
    root = parsed(
        checked(
            """netcdf nc4_pres_temp_4D {
            dimensions: level = 2 ; latitude = 6 ; longitude = 12 ; time = UNLIMITED ; // 2
            variables:
              float temperature(time, level, latitude, longitude) ; temperature:units = "celsius" ;
              float pressure(time, level, latitude, longitude) ; pressure:units = "hPa" ;
              float latitude(latitude) ; latitude:units = "degrees_north" ;
              float longitude(longitude) ; longitude:units = "degrees_east" ;
            }"""
        ),
        wanted.attrib["location"],
    )

    def plain(found: ET.Element) -> object:
        given = {key: " ".join(value.split()) for key, value in found.attrib.items()}
        if given.get("name") == "time" and "length" in given:
            given["length"] = "?"  # the CDL has no data
        kept = [each for each in found if each.attrib.get("name") != "_ChunkSizes"]  # how the server's file is stored
        return found.tag, given, [plain(each) for each in kept]

    assert plain(root) == plain(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_the_corpus_is_parsed(shared: Path, number: int) -> None:
    files = sorted((shared / "data" / "netcdf-c").rglob("*.cdl"))[number::5]
    read = 0
    for path in files:
        found = phases.read(Source(path.name, path.read_bytes()), Report(), Options())
        if found is None:
            continue
        root = parsed(found, path.name)
        read += 1
        assert len(list(root.iter(f"{{{ncml_writer.NAMESPACE}}}dimension"))) == len(found.dimensions)
        assert len(list(root.iter(f"{{{ncml_writer.NAMESPACE}}}group"))) == len(found.groups) - 1
        tops = [*root.iterfind("n:variable", SPACE), *root.iterfind(".//n:group/n:variable", SPACE)]
        assert len(tops) == len(found.variables)
    assert read > 10


NAME = st.text(min_size=1, max_size=6).map(names.normal)


@pytest.mark.slow
@given(NAME, NAME, st.binary(max_size=12), st.lists(st.none() | st.binary(max_size=6), max_size=4))
def test_any_name_and_text_is_valid_xml(name: str, label: str, chars: bytes, strings: list[bytes | None]) -> None:
    attributes = tuple(Attribute(name=name, value=value) for value in (Constant.text(chars), Constant.strings(strings)))
    dataset = Dataset(
        name="t",
        types=(EnumType(name="e", base="int", constants=(EnumConstant(name=label, value=-1),)),),
        dimensions=(Dimension(name=name, size=3),),
        attributes=attributes[:1],
        variables=(Variable(name=name, type="int", dimensions=(names.join("/", name),), attributes=attributes[1:]),),
        groups=(Group(name="g" + name),),
    )
    facts = Checked(
        dataset=dataset,
        groups={},
        types={"/e": dataset.types[0]},
        dimensions={names.join("/", name): dataset.dimensions[0]},
        variables={},
        shapes={},
        fills={},
        parts={},
    )
    root = parsed(facts, name)
    [attribute] = root.findall("n:variable/n:attribute", SPACE)
    separator = attribute.attrib.get("separator")
    assert (separator is None) == (len(strings) < 2)
    if separator is not None:
        assert len(attribute.attrib["value"].split(separator)) == len(strings)
    assert element(root, "n:enumTypedef/n:enum") == {"key": "-1"}
    if all(character.isprintable() for character in name):
        assert element(root, "n:dimension")["name"] == name


@pytest.mark.slow
def test_few_types_make_no_endless_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ncml_writer, "MOST_MEMBERS", 3000)
    types: list[CompoundType] = [CompoundType(name="c0", fields=(Field(name="a", type="byte"),))]
    for depth in range(1, 10):
        fields = tuple(Field(name=name, type=f"/c{depth - 1}") for name in "ab")
        types.append(CompoundType(name=f"c{depth}", fields=fields))
    variables = tuple(Variable(name=f"v{number}", type="/c9") for number in range(30))
    dataset = Dataset(name="t", types=tuple(types), variables=variables)
    report = Report()
    found = check(Unchecked(dataset), report)
    assert found is not None, report.list_sorted()
    text = ncml_writer.text(found, None)
    assert "members: the document has" in text
    assert sum(1 for _ in ET.fromstring(text.encode()).iter()) < 2 * ncml_writer.MOST_MEMBERS


def test_types_of_attributes_are_known_words() -> None:
    known = {"byte", "ubyte", "char", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "String"}
    for name in ATOMIC:
        root = parsed(checked(f"netcdf t {{ variables: {name} v ; }}"))
        assert element(root, "n:variable")["type"] in known


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
def test_documents_of_real_files_are_parsed() -> None:
    """Variables, dimensions and attributes by name, as the tree has them."""
    assert REAL is not None
    read = 0
    for subject in exactness.real(REAL):
        found, said = exactness.read(subject.path)
        assert found is not None, said
        root = parsed(found, subject.name)
        variables = [each.attrib["name"] for each in root.findall("n:variable", SPACE)]
        assert variables == [each.name for each in found.dataset.variables]
        for each, element_ in zip(found.dataset.variables, root.findall("n:variable", SPACE), strict=True):
            attributes = [one.attrib["name"] for one in element_.findall("n:attribute", SPACE)]
            assert attributes == [one.name for one in each.attributes] or "." in "".join(attributes)
            assert len(element_.attrib["shape"].split()) >= len(found.shapes[names.join("/", each.name)])
        read += 1
    assert read > 50
