"""NcML documents: faults with their codes and places, limits, changes without other files, and random edits."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import nczarr
from nczarr.ast import ATOMIC
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity, Source
from nczarr.options import Following, Options
from nczarr.pipeline import phases
from nczarr.plugins.common.ncml_writer import text as write_document
from nczarr.plugins.ncml.frontend import list_watched
from nczarr.plugins.ncml.members import read_date, write_date
from tests.support.blocks import block_ids, blocks, check_each
from tests.support.mutants import corpus, mutate
from tests.support.ncml_files import write_ncml

SERIES = "netcdf s {{ dimensions: time = {0} ; x = 2 ; variables: double time(time) ; {2} float t(time, x) ; "
SERIES += 'int other ; :title = "{1}" ; data: time = {1} ; t = {1}, {1} ; other = {1} ; }}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 3):
        (tmp_path / f"s{number}.cdl").write_text(SERIES.format(1, number, ""))
    two = SERIES.format(1, 4, "").replace("int other", 't:units = "m" ; int other')
    (tmp_path / "two.cdl").write_text(two)
    return tmp_path


def findings(path: str, following: Following | None = None) -> list[Diagnostic]:
    report = Report()
    phases.read_path(path, report, Options.of(following=following or Following()))
    return report.list_sorted()


def first_error(path: str) -> tuple[str, str, tuple[int, int]]:
    """Code, message and place of the first error of a document."""
    found = next(one for one in findings(path) if one.severity is Severity.ERROR)
    source = found.primary.span.source
    assert source is not None, found
    return found.code, found.message, source.position(found.primary.span.start)


def join(members: str, attributes: str = 'type="joinExisting" dimName="time"') -> str:
    return f"<aggregation {attributes}>{members}</aggregation>"


ONE, TWO = '<netcdf location="s1.cdl"/>', '<netcdf location="s2.cdl"/>'


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("<atribute name='a' value='b'/>", "bad-ncml", "`atribute`"),
        ("<attribute value='b'/>", "bad-ncml", "no `name`"),
        ("<attribute name='a' type='int' value='1 b'/>", "bad-ncml", "`b` is not a value of type int"),
        ("<attribute name='a' type='byte' value='128'/>", "bad-ncml", "does not fit"),
        ("<attribute name='a' type='thing' value='1'/>", "bad-ncml", "`thing`"),
        ("<attribute name='a' orgName='b'/>", "unmatched-ncml", "`b`"),
        ("<dimension name='x'/>", "bad-ncml", "length"),
        ("<dimension name='x' length='-1'/>", "bad-ncml", "`-1`"),
        ("<dimension name='x' length='*'/>", "unsupported-ncml", "variable length"),
        ("<variable name='v'/>", "bad-ncml", "type"),
        ("<variable name='v' type='Structure'/>", "bad-ncml", "`Structure`"),
        ("<variable name='v' type='int'><variable name='w'/></variable>", "unsupported-ncml", "`variable`"),
        ("<variable name='v' type='int' shape='y'/>", "bad-ncml", "`y`"),
        ("<variable name='v' type='int' shape='2'><values>1</values></variable>", "bad-ncml", "1 values"),
        ("<variable name='v' type='int' shape='9999999'><values start='0' increment='1'/></variable>", "bad-ncml", ""),
        ("<variable name='v' type='byte' shape='3'><values start='126' increment='1'/></variable>", "bad-ncml", "128"),
        ("<variable name='v' type='int'><values fromAttribute='a'/></variable>", "unsupported-ncml", "fromAttribute"),
        ("<variable name='v' type='int'><logicalSlice/></variable>", "unsupported-ncml", "logicalSlice"),
        ("<remove type='thing' name='v'/>", "bad-ncml", "not `thing`"),
        ("<variable name='v' type='int'><remove type='values' name='v'/></variable>", "bad-ncml", "not `values`"),
        ("<group name='a/b'/>", "bad-ncml", "`a/b`"),
        ("<enumTypedef name='e' type='enum1'/>", "bad-ncml", "`e`"),
        (join(ONE, 'type="forecastModelRunCollection" dimName="time"'), "unsupported-ncml", "forecastModelRun"),
        (join(ONE, 'type="tiled" dimName="time"'), "unsupported-ncml", "tiled"),
        (join(ONE, 'type="joinAll" dimName="time"'), "bad-ncml", "joinAll"),
        (join(ONE, 'type="joinNew"'), "bad-ncml", "dimName"),
        (join(""), "bad-ncml", "no datasets"),
        (join("<cacheVariable name='t'/>" + ONE), "unsupported-ncml", "cacheVariable"),
        (join("<attribute name='t' value='1'/>" + ONE), "unsupported-ncml", "changes all"),
        (join(ONE + '<netcdf location="s9.cdl"/>'), "unreachable-target", "s9.cdl"),
        (join(ONE + '<netcdf location="../s9.cdl"/>'), "forbidden-target", "../s9.cdl"),
        (join(ONE + TWO, 'type="joinExisting" dimName="z"'), "unmatched-ncml", "`z`"),
        (join(ONE + TWO, 'type="joinNew" dimName="time"'), "bad-ncml", "`time`"),
        (join("<variableAgg name='u'/>" + ONE, 'type="joinNew" dimName="n"'), "unmatched-ncml", "/u"),
        (join(ONE + '<netcdf location="s2.cdl" ncoords="2"/>'), "bad-ncml", "ncoords"),
        (join(ONE + '<netcdf location="s2.cdl" coordValue="7"/>'), "bad-ncml", "coordValue"),
        (join('<netcdf location="s2.cdl" coordValue="7 8"/>'), "bad-ncml", "2 values"),
        (join('<netcdf location="s2.cdl" coordValue="then"/>'), "bad-ncml", "`then`"),
        (join("<scan location='nowhere'/>"), "unreachable-target", "nowhere"),
        (join("<scan location='.' suffix='.none'/>"), "unmatched-ncml", "no file"),
        (join("<scan location='.' regExp='('/>"), "bad-ncml", "regExp"),
        (join("<scan location='.' regExp='(a+)+b'/>"), "bad-ncml", "regExp"),
        (join("<scan location='.' regExp='%s'/>" % (".*" * 12 + "X")), "bad-ncml", "repeated"),
        (join("<scan location='.' regExp='%s'/>" % (".?" * 40 + "X")), "bad-ncml", "repeated"),
        ("<variable name='v' type='int'/><variable name='v'/>", "bad-ncml", "two elements"),
        ("<dimension name='d' length='1'/><dimension name='d' length='2'/>", "bad-ncml", "two elements"),
        (join("<scan location='.' olderThan='soon'/>"), "bad-ncml", "olderThan"),
        (join("<scan location='..'/>"), "forbidden-target", ".."),
        (join("<scan location='s3://bucket/data'/>"), "unsupported-ncml", "s3://bucket"),
        (join("<scan location='.' suffix='cdl' dateFormatMark='s#yyyyMMdd'/>"), "bad-ncml", "dateFormatMark"),
        (join("<promoteGlobalAttribute name='p' orgName='q'/>" + ONE), "unmatched-ncml", "`q`"),
        (join(f"{ONE}{TWO}<netcdf location='two.cdl'><variable name='t'><attribute name='units' value='K'/></variable>"
              "</netcdf>"), "unequal-sources", "`units`"),
    ],
)  # fmt: skip
def test_faults_have_a_code_and_a_place(folder: Path, content: str, code: str, words: str) -> None:
    found = first_error(write_ncml(folder / "a.ncml", "\n" + content))
    assert (found[0], words in found[1]) == (code, True), found
    assert found[2][0] == 4


@pytest.mark.parametrize(
    "text",
    [
        "<netcdf xmlns='http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2'>",
        "<!DOCTYPE n [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>\n"
        "<netcdf xmlns='http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2'>&e;</netcdf>",
        "<netcdf xmlns='http://www.unidata.ucar.edu/namespaces/netcdf/ncml-1.0'/>",
        "",
    ],
)
def test_what_is_no_document_of_ncml(folder: Path, text: str) -> None:
    (folder / "a.ncml").write_text(text)
    assert {one.code for one in findings("a.ncml")} == {"bad-ncml"}


def test_a_document_that_names_itself(folder: Path) -> None:
    write_ncml(folder / "a.ncml", "", 'location="b.ncml"')
    write_ncml(folder / "b.ncml", "", 'location="a.ncml"')
    assert {one.code for one in findings("a.ncml")} == {"bad-ncml"}
    for number in range(12):
        write_ncml(folder / f"n{number}.ncml", "", f'location="n{number + 1}.ncml"')
    assert {one.code for one in findings("n0.ncml")} == {"bad-ncml"}


def test_allowed_places(folder: Path) -> None:
    """The policy of references holds: roots replace the folder of the document, and links do not lead out of it."""
    (folder / "in").mkdir()
    path = write_ncml(folder / "in" / "a.ncml", "", 'location="../s1.cdl"')
    assert [one.code for one in findings(path)] == ["forbidden-target"]
    assert findings(path, Following(roots=(str(folder),))) == []
    path = write_ncml(folder / "b.ncml", "", f'location="{folder}/s1.cdl"')
    assert findings(path) == []
    assert [one.code for one in findings(path, Following(roots=(str(folder / "in"),)))] == ["forbidden-target"]
    os.symlink(folder / "s1.cdl", folder / "in" / "s1.cdl")
    path = write_ncml(folder / "c.ncml", join('<scan location="in" suffix=".cdl"/>', 'type="union"'))
    assert [one.code for one in findings(path)] == ["forbidden-target"]


def test_a_dataset_without_other_files(folder: Path) -> None:
    content = """<enumTypedef name="sky" type="enum1"><enum key="0">clear</enum><enum key="2">cloudy</enum>
    </enumTypedef>
    <dimension name="x" length="2" isUnlimited="true"/>
    <variable name="s" type="String" shape="x"><values separator="*">My dog*has</values></variable>
    <variable name="c" type="char" shape="3"><values>abc</values></variable>
    <variable name="e" type="enum1" typedef="sky" shape="x"><values>cloudy 0</values></variable>
    <variable name="f" type="float" shape="x"><attribute name="_FillValue" value="-1"/></variable>
    <variable name="u" type="ulong"><values>18446744073709551615</values></variable>
    <group name="g"><attribute name="a" type="double" value="1 NaN"/>
    <dimension name="y" length="1"/>
    <variable name="v" type="short" shape="x y"><values>1 -1</values></variable></group>"""
    with nczarr.open(write_ncml(folder / "own.ncml", content)) as dataset:
        assert dataset["/s"][:].tolist() == ["My dog", "has"]
        assert dataset["/c"][:].tolist() == [b"a", b"b", b"c"]
        assert dataset["/e"][:].tolist() == [2, 0]
        assert dataset["/f"][:].tolist() == [-1, -1]
        assert int(dataset["/u"][()]) == 2**64 - 1
        assert dataset["/g/v"][:].tolist() == [[1], [-1]]


def test_warnings(folder: Path) -> None:
    content = '<remove type="attribute" name="none"/><variable name="t"><remove type="attribute" name="no"/></variable>'
    found = findings(write_ncml(folder / "a.ncml", content, 'location="s1.cdl" enhance="All" titel="t"'))
    assert sorted((one.code, str(one.severity)) for one in found) == [
        ("ignored-ncml", "warning"),
        ("ignored-ncml", "warning"),
        ("unmatched-removal", "warning"),
        ("unmatched-removal", "warning"),
    ]


@pytest.mark.parametrize(
    ("elements", "attributes"),
    [
        ({"a": "b", "b": "a"}, {"a": "B", "b": "A"}),
        ({"a": "b", "c": "a"}, {"a": "B", "c": "A"}),
        ({"c": "a", "a": "b"}, {"a": "B", "c": "A"}),
        ({"c": "a", "d": "a"}, {"b": "B", "c": "A", "d": "A"}),
    ],
)
def test_attributes_that_exchange_their_names(
    folder: Path, elements: dict[str, str], attributes: dict[str, str]
) -> None:
    (folder / "ab.cdl").write_text('netcdf ab { :a = "A" ; :b = "B" ; }')
    content = "".join(f'<attribute name="{new}" orgName="{old}"/>' for new, old in elements.items())
    with nczarr.open(write_ncml(folder / "a.ncml", content, 'location="ab.cdl"')) as dataset:
        assert dict(dataset.attributes) == attributes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<variable name='othr'><attribute name='a' value='b'/></variable>", "did you mean `other`?"),
        ("<remove type='Variable' name='t'/>", "did you mean `variable`?"),
    ],
)
def test_words_that_help(folder: Path, text: str, words: str) -> None:
    assert [one.helps for one in findings(write_ncml(folder / "a.ncml", text, 'location="s1.cdl"'))] == [(words,)]


def test_a_catalog_is_named(folder: Path) -> None:
    (folder / "a.ncml").write_text('<catalog xmlns="http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0"/>')
    assert "catalog of THREDDS" in findings("a.ncml")[0].helps[0]


def test_a_new_dimension_takes_a_scalar_as_its_coordinate(folder: Path) -> None:
    members = '<variableAgg name="t"/><netcdf location="s1.cdl"/><netcdf location="s3.cdl"/>'
    path = write_ncml(folder / "a.ncml", join(members, 'type="joinNew" dimName="other"'))
    with nczarr.open(path) as dataset:
        assert dataset["/other"][:].tolist() == [1, 3]
        assert dataset["/t"].shape == (2, 1, 2)


def test_other_variables_are_those_of_the_first_file(folder: Path) -> None:
    with nczarr.open(write_ncml(folder / "a.ncml", join('<scan location="." regExp=".*/s[13].cdl"/>'))) as dataset:
        assert dataset["/time"][:].tolist() == [1, 3]
        assert int(dataset["/other"][()]) == 1
        assert not dataset.diagnostics


def test_times_in_other_units(folder: Path) -> None:
    """Times are counted in the units of the first file, exactly, or the document cannot be read."""
    for name, units in (("d", "days since 2000-01-01"), ("h", "hours since 2000-01-02")):
        text = SERIES.format(1, 12, f'time:units = "{units}" ;').replace("double time", "int time")
        (folder / f"{name}.cdl").write_text(text)
    members = '<netcdf location="{}.cdl"/><netcdf location="{}.cdl"/>'
    changing = 'type="joinExisting" dimName="time" timeUnitsChange="true"'
    with nczarr.open(write_ncml(folder / "a.ncml", join(members.format("h", "d"), changing))) as dataset:
        assert dataset["/time"][:].tolist() == [12, 11 * 24]
    assert first_error(write_ncml(folder / "b.ncml", join(members.format("d", "h"), changing)))[0] == "inexact-times"
    found = findings(write_ncml(folder / "c.ncml", join(members.format("h", "d"))))
    assert [(one.code, one.helps) for one in found] == [
        ("unequal-sources", ('add `timeUnitsChange="true"` to the aggregation',))
    ]


def test_a_join_of_joins(folder: Path) -> None:
    inner = f'<netcdf coordValue="{{}}">{join(ONE + TWO)}</netcdf>'
    content = join(
        '<variableAgg name="t"/>' + inner.format(1) + inner.format("2.5"), 'type="joinNew" dimName="ensemble"'
    )
    with nczarr.open(write_ncml(folder / "a.ncml", content)) as dataset:
        assert dataset["/t"].shape == (2, 2, 2)
        assert dataset["/ensemble"][:].tolist() == [1, 2.5]
        assert dataset["/time"][:].tolist() == [1, 2]


def test_a_union_of_unequal_dimensions(folder: Path) -> None:
    """A variable of a later dataset must fit the dimensions of the first; one that is there already is left out."""
    (folder / "long.cdl").write_text("netcdf l { dimensions: x = 3 ; variables: int t(x) ; int more(x) ; }")
    members = '<netcdf location="s1.cdl"/><netcdf location="long.cdl">{}</netcdf>'
    found = first_error(write_ncml(folder / "a.ncml", join(members.format(""), 'type="union"')))
    assert found[:2] == (
        "unequal-sources",
        "`/more` has the dimension `/x`, whose length differs: 3 in `long.cdl`, 2 before",
    )
    without = members.format('<remove type="variable" name="more"/>')
    with nczarr.open(write_ncml(folder / "b.ncml", join(without, 'type="union"'))) as dataset:
        assert dataset["/t"].shape == (1, 2)


def test_unsigned_attributes(folder: Path) -> None:
    content = """<attribute name="a" type="byte" isUnsigned="true" value="-100 5"/>
    <attribute name="b" type="byte" isUnsigned="true" value="200"/>"""
    with nczarr.open(write_ncml(folder / "a.ncml", content)) as dataset:
        assert [dataset.attributes[name].tolist() for name in "ab"] == [[156, 5], 200]


def test_pipes_and_devices_are_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in (str(folder / "pipe"), "/dev/zero"):
        assert first_error(write_ncml(folder / "a.ncml", "", f'location="{name}"'))[0] == "unreachable-target"


def test_a_change_of_type_is_exact(folder: Path) -> None:
    path = write_ncml(folder / "a.ncml", '<variable name="time" type="short"/>', 'location="s2.cdl"')
    with nczarr.open(path) as dataset:
        assert (str(dataset["/time"].dtype), dataset["/time"][:].tolist()) == ("int16", [2])
    (folder / "half.cdl").write_text("netcdf h { variables: double time ; data: time = 1.5 ; }")
    path = write_ncml(folder / "b.ncml", '<variable name="time" type="short"/>', 'location="half.cdl"')
    assert [one.code for one in findings(path)] == ["bad-ncml"]


def test_a_fill_value_has_the_new_type(folder: Path) -> None:
    (folder / "f.cdl").write_text(
        "netcdf f { dimensions: x = 3 ; variables: short v(x) ; v:_FillValue = -1s ; data: v = 1, _, 3 ; }"
    )
    with nczarr.open(write_ncml(folder / "a.ncml", '<variable name="v" type="int"/>', 'location="f.cdl"')) as dataset:
        assert (dataset["/v"].fill_value, dataset["/v"][:].tolist()) == (-1, [1, -1, 3])
        assert dataset["/v"].dtype == "int32"
    path = write_ncml(folder / "b.ncml", '<variable name="v" type="ubyte"/>', 'location="f.cdl"')
    assert "-1 is not a value of type ubyte" in findings(path)[0].message


@pytest.mark.parametrize(
    ("type_name", "words", "values"),
    [
        ("long", 'start="9007199254740993" increment="2"', [9007199254740993, 9007199254740995, 9007199254740997]),
        ("long", 'start="9223372036854775807" increment="-1"', [2**63 - 1, 2**63 - 2, 2**63 - 3]),
        ("ulong", 'start="18446744073709551611" increment="+2"', [2**64 - 5, 2**64 - 3, 2**64 - 1]),
        ("int", 'start="1.5" increment=".5"', [1, 2, 2]),
    ],
)
def test_even_spacing_of_integers_is_exact(folder: Path, type_name: str, words: str, values: list[int]) -> None:
    content = f'<variable name="v" type="{type_name}" shape="3"><values {words}/></variable>'
    with nczarr.open(write_ncml(folder / "a.ncml", content)) as dataset:
        assert dataset["/v"][:].tolist() == values
    content = '<variable name="v" type="long" shape="3"><values start="9223372036854775806" increment="1"/></variable>'
    assert "`9223372036854775808` does not fit" in findings(write_ncml(folder / "b.ncml", content))[0].message


@pytest.mark.long
def test_the_values_of_a_document_are_limited(folder: Path) -> None:
    """Each variable is below the limit of one; a short document must not fill the memory."""
    variable = '<variable name="v{0}" type="double" shape="4000000"><values start="0" increment="1"/></variable>'
    members = "".join(f"<netcdf>{variable.format(number)}</netcdf>" for number in range(5))
    found = first_error(write_ncml(folder / "a.ncml", join(members, 'type="union"')))
    assert (found[0], "more than 16777216 values" in found[1]) == ("bad-ncml", True), found


def test_fixed_and_unlimited_dimensions(folder: Path) -> None:
    (folder / "u.cdl").write_text("netcdf u { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = 1, 2 ; }")
    assert nczarr.convert("u.cdl", "u.nc") is not None
    path = write_ncml(folder / "a.ncml", '<dimension name="t" isUnlimited="false"/>', 'location="u.nc"')
    with nczarr.open(path) as dataset:
        assert not dataset.dimensions["t"].unlimited
        assert dataset["/v"][:].tolist() == [1, 2]


@pytest.mark.parametrize("paths", blocks(corpus()), ids=block_ids(corpus(), lambda path: path.stem))
def test_documents_of_our_server_declare_the_same(paths: Sequence[Path]) -> None:
    """All but structures, and dimensions that a nearer one hides, which the documents have as lengths."""
    check_each(paths, check_document)


def check_document(path: Path) -> None:
    checked = phases.read_path(str(path), Report(), Options())
    if checked is None or not all(one.type in ATOMIC for one in checked.variables.values()):
        return
    report = Report()
    again = phases.read(Source("a.ncml", write_document(checked, None).encode()), report, Options())
    assert again is not None, report.list_sorted()
    assert again.dimensions == checked.dimensions
    assert again.shapes == checked.shapes
    for nodes, others in ((checked.variables, again.variables), (checked.groups, again.groups)):
        for name, node in nodes.items():
            assert getattr(others[name], "type", None) == getattr(node, "type", None)
            numbers = {one.name: one.value for one in node.attributes if is_number(one.value.type)}
            assert {one.name: one.value for one in others[name].attributes if one.name in numbers} == numbers
            assert [one.name for one in others[name].attributes] == [one.name for one in node.attributes]


@pytest.mark.parametrize(
    ("name", "pattern", "date"),
    [
        ("CG2006158_120000h_usfc.nc", "CG#yyyyDDD_HHmmss", "2006-06-07T12:00:00Z"),
        ("NATIONAL_1km_SFC-T_20051206_2300.gini", "NATIONAL_1km_SFC-T_#yyyyMMdd_HHmm", "2005-12-06T23:00:00Z"),
        ("x-03Feb99.nc", "x-#ddMMMyy", "1999-02-03T00:00:00Z"),
        ("2001-02-03T04.nc", "#yyyy-MM-dd'T'HH", "2001-02-03T04:00:00Z"),
        ("20010203 more", "#yyyyMMdd# and text", "2001-02-03T00:00:00Z"),
    ],
)  # fmt: skip
def test_dates_in_names(name: str, pattern: str, date: str) -> None:
    assert write_date(read_date(name, pattern)) == date


@pytest.mark.parametrize("pattern", ["yyyy", "#", "#yyyyQ", "#yyyyMMdd", "#yyyyyyyy", "#yyyy yyyy"])
def test_names_without_a_date(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|name"):
        read_date("20010299", pattern)


def test_places_that_are_watched(folder: Path) -> None:
    write_ncml(folder / "inner.ncml", join('<scan location="." suffix="1.cdl"/>'))
    path = write_ncml(folder / "a.ncml", join(f'{TWO}<netcdf location="inner.ncml"/>', 'type="union"'))
    names = {os.path.relpath(place, folder) for place in list_watched(path, Following())}
    assert names == {"s2.cdl", "inner.ncml", ".", "s1.cdl"}


EVERY = """<attribute name="title" value="a"/><dimension name="y" orgName="x"/><dimension name="z" length="2"/>
<variable name="u" orgName="t" type="double"><attribute name="units" value="K"/><remove type="attribute" name="q"/>
</variable>
<variable name="n" type="int" shape="z"><values start="0" increment="2"/></variable>
<variable name="w" type="String" shape="z"><values>a b</values></variable>
<variable name="time" type="int"><attribute name="units" value="days since 2000-01-01"/></variable>
<remove type="variable" name="other"/><group name="g"><variable name="v" type="int"/></group>
<enumTypedef name="e" type="enum2"><enum key="1">one</enum></enumTypedef>
<aggregation dimName="time" type="joinExisting" timeUnitsChange="true">
<promoteGlobalAttribute name="p" orgName="title"/>
<netcdf location="s1.cdl" ncoords="1"/><netcdf location="s2.cdl"><attribute name="b" value="c"/></netcdf>
<scan location="." suffix="3.cdl" regExp=".*cdl" subdirs="false"/>
</aggregation>"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(10))
def test_random_edits_are_read_or_reported(folder: Path, seed: int) -> None:
    """Fifty edits of one document; the whole suite makes five hundred."""
    data = Path(write_ncml(folder / "a.ncml", EVERY)).read_bytes()
    report = Report()
    assert phases.read(Source("a.ncml", data), report, Options()) is not None, report.list_sorted()
    pick = random.Random(seed)
    for _ in range(50):
        report = Report()
        try:
            checked = phases.read(Source("a.ncml", mutate(data, pick)), report, Options())
        except CompileError:
            continue
        assert checked is not None or report.errors
