"""What CDL cannot say is announced before a line is written; what is left compiles."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.arrays.sources.source import Parts
from nczarr.ast import (
    Attribute,
    CompoundType,
    Constant,
    Dataset,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    OpaqueType,
    Variable,
    VlenType,
)
from nczarr.cli.compile import text as tree_text
from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.formats.cdl.write.losses import in_constant
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.registry import find_format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from tests.conftest import run_command

CDL = find_format("cdl")
assert CDL is not None

ALL = Options.of(special=True, allow_loss=frozenset(["all"]))
ODD = struct.pack("<I", 0xFFC00000)
"""A NaN as processors make it: with its sign set."""
SKY = EnumType(name="sky", base="ubyte", constants=(EnumConstant(name="cloudy", value=1),))


def compiled(dataset: Dataset, parts: dict[str, Parts] | None = None) -> Checked:
    report = Report()
    checked = check(Unchecked(dataset, parts=parts or {}), report)
    assert checked is not None, [found.message for found in report.list_sorted()]
    return checked


def written(checked: Checked, options: Options) -> tuple[bytes | None, Report]:
    report = Report()
    assert CDL is not None
    pieces = phases.text(checked, CDL, report, options)
    return None if pieces is None else b"".join(pieces), report


def read_back(text: bytes) -> Dataset:
    report = Report()
    checked = phases.read(Source("t.cdl", text), report, Options())
    assert checked is not None, [found.message for found in report.list_sorted()] + [text.decode()]
    return checked.dataset


def number(name: str = "v", **members: object) -> Variable:
    return Variable(name=name, type="int", **members)  # type: ignore[arg-type]


X = Dimension(name="x", size=3)
ONE = Constant.numbers("int", [1])
ODD_NAN = Constant(type="float", count=1, data=ODD)
FOREIGN = Constant(type="/g/t", count=1, data=b"x")
INNER = Group(name="g", types=(OpaqueType(name="t", size=1),), dimensions=(X,))

VALUE_LOSSES: dict[str, tuple[str, Dataset, Dataset]] = {
    "attribute without values": (
        "lost-attribute",
        Dataset(name="t", attributes=(Attribute(name="a", value=Constant.numbers("int", [])),)),
        Dataset(name="t"),
    ),
    "attribute named as a special one": (
        "lost-attribute",
        Dataset(name="t", variables=(number(attributes=(Attribute(name="_Storage", value=ONE),)),)),
        Dataset(name="t", variables=(number(),)),
    ),
    "attribute of a type declared later": (
        "lost-attribute",
        Dataset(
            name="t", attributes=(Attribute(name="a", value=FOREIGN),), groups=(INNER,)
        ),
        Dataset(name="t", groups=(INNER,)),
    ),
    "variable of a type declared later": (
        "lost-type",
        Dataset(name="t", variables=(Variable(name="v", type="/g/t"), number("w")), groups=(INNER,)),
        Dataset(name="t", variables=(number("w"),), groups=(INNER,)),
    ),
    "type made of one declared later": (
        "lost-type",
        Dataset(name="t", types=(VlenType(name="l", base="/g/t"),), groups=(INNER,)),
        Dataset(name="t", groups=(INNER,)),
    ),
    "dimension declared later": (
        "renamed-dimension",
        Dataset(name="t", variables=(number(dimensions=("/g/x",)),), groups=(INNER,)),
        Dataset(
            name="t",
            dimensions=(Dimension(name="_Anonymous_Dim_3", size=3),),
            variables=(number(dimensions=("/_Anonymous_Dim_3",)),),
            groups=(INNER,),
        ),
    ),
    "variable": (
        "unsafe-name",
        Dataset(name="t", variables=(number("_"), number())),
        Dataset(name="t", variables=(number(),)),
    ),
    "group": ("unsafe-name", Dataset(name="t", groups=(Group(name="_"),)), Dataset(name="t")),
    "type": ("unsafe-name", Dataset(name="t", types=(OpaqueType(name="\u2003o", size=1),)), Dataset(name="t")),
    "attribute": ("unsafe-name", Dataset(name="t", attributes=(Attribute(name="_", value=ONE),)), Dataset(name="t")),
    "constant": (
        "unsafe-name",
        Dataset(name="t", types=(SKY.model_copy(update={"constants": (EnumConstant(name="_", value=1),)}),)),
        Dataset(name="t"),
    ),
    "field": (
        "unsafe-name",
        Dataset(name="t", types=(CompoundType(name="c", fields=(Field(name="\u00a0f", type="int"),)),)),
        Dataset(name="t"),
    ),
    "string with a NUL": (
        "cut-string",
        Dataset(name="t", attributes=(Attribute(name="a", value=Constant.strings([b"a\0b"])),)),
        Dataset(name="t", attributes=(Attribute(name="a", value=Constant.strings([b"a"])),)),
    ),
    "length that no variable has": (
        "lost-length",
        Dataset(name="t", dimensions=(Dimension(name="x", size=3, unlimited=True),)),
        Dataset(name="t", dimensions=(Dimension(name="x", size=0, unlimited=True),)),
    ),
    "dimension": (
        "unsafe-name",
        Dataset(name="t", dimensions=(Dimension(name="_", size=2),), variables=(number(dimensions=("/_",)),)),
        Dataset(
            name="t",
            dimensions=(Dimension(name="_Anonymous_Dim_2", size=2),),
            variables=(number(dimensions=("/_Anonymous_Dim_2",)),),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUE_LOSSES)
def test_value_losses_are_refused_or_the_rest_compiles(case: str) -> None:
    code, dataset, rest = VALUE_LOSSES[case]
    checked = compiled(dataset)
    text, report = written(checked, Options.of(special=True))
    assert text is None
    assert {(found.code, found.severity) for found in report.list_sorted()} >= {(code, Severity.ERROR)}
    text, report = written(checked, Options.of(special=True, allow_loss=frozenset([code])))
    assert text is not None
    assert {found.severity for found in report.list_sorted()} == {Severity.WARNING}
    assert read_back(text) == rest


def test_what_hangs_on_a_lost_thing_is_lost_by_name() -> None:
    inner = Group(name="_", types=(OpaqueType(name="t", size=1),), dimensions=(X,))
    user = Variable(name="v", type="/_/t", dimensions=("/_/x",))
    checked = compiled(
        Dataset(name="t", groups=(inner, Group(name="h", variables=(user, number("w", dimensions=("/_/x",))))))
    )
    text, report = written(checked, ALL)
    assert text is not None
    assert [found.code for found in report.list_sorted()].count("unsafe-name") == 1
    assert {"lost-type", "renamed-dimension"} <= {found.code for found in report.list_sorted()}
    assert [variable.name for variable in read_back(text).groups[0].variables] == ["w"]


ANNOTATIONS: dict[str, Dataset] = {
    "anonymous dimensions": Dataset(name="t", variables=(number(dimensions=(2,)),)),
    "length 0": Dataset(name="t", dimensions=(Dimension(name="x", size=0),)),
    "bits of unusual NaNs": Dataset(name="t", attributes=(Attribute(name="a", value=ODD_NAN),)),
    "layout of compounds": Dataset(
        name="t", types=(CompoundType(name="c", size=8, fields=(Field(name="f", type="int", offset=4),)),)
    ),
    "version": Dataset(name="t", version="1.0.0"),
    "dataset's name": Dataset(name="a {b}"),
}  # fmt: skip


@pytest.mark.parametrize("words", ANNOTATIONS)
def test_annotation_losses_are_one_warning(words: str) -> None:
    text, report = written(compiled(ANNOTATIONS[words]), Options.of(special=True))
    assert text is not None
    read_back(text)
    (found,) = report.list_sorted()
    assert (found.code, found.severity) == ("lost-annotations", Severity.WARNING)
    assert words in found.message


def test_values_without_a_spelling(tmp_path: Path) -> None:
    b = nczarr.DatasetBuilder("t")
    b.variable("v", b.enum("sky", "ubyte", {"clear": 0, "cloudy": 1}), [3])
    b.variable("w", b.compound("c", {"k": b.enum("one", "byte", {"a": 1}), "f": "double"}), [2])
    odd = np.frombuffer(struct.pack("<Q", 0x7FF8000000000001), "<f8")[0]
    records = np.array([(1, 2.5), (5, odd)], [("k", "i1"), ("f", "<f8")])
    dataset = b.finish(data={"/v": [0, 7, 8], "/w": records})
    with pytest.raises(nczarr.CompileError) as raised:
        nczarr.write(dataset, tmp_path / "t.cdl")
    messages = [found.message for found in raised.value.diagnostics if found.code == "unnamed-value"]
    assert ["2 values" in messages[0], "1 value " in messages[1]] == [True, True]
    warned = nczarr.write(dataset, tmp_path / "t.cdl", allow_loss="unnamed-value")
    assert any("unusual NaNs (1)" in found.message for found in warned)
    assert "clear, 7, 8" in (tmp_path / "t.cdl").read_text()


@pytest.mark.parametrize("data", [math.nan, math.inf, -math.inf, -0.0, 1e300])
def test_usual_values_lose_nothing(data: float) -> None:
    assert not in_constant(Constant.numbers("double", [data]), {})


def test_nan_bits_in_ragged_attributes() -> None:
    inner = Constant(type="float", count=2, data=ODD + struct.pack("<f", math.nan))
    value = Constant(type="/l", count=1, data=(inner,))
    assert in_constant(value, {"/l": VlenType(name="l", base="float")}) == {"nan-bits": 1}


def test_a_length_that_nothing_tells() -> None:
    time = Dimension(name="time", size=3, unlimited=True)
    checked = compiled(
        Dataset(
            name="t",
            types=(SKY,),
            dimensions=(time,),
            variables=(Variable(name="v", type="/sky", dimensions=("/time",)),),
        )
    )
    text, report = written(checked, Options.of(special=True))
    assert text is None
    assert [found.code for found in report.list_sorted()] == ["lost-length"]
    text, _ = written(checked, ALL)
    assert text is not None
    assert read_back(text).dimensions[0].size == 0


def test_data_that_are_not_printed_lose_nothing() -> None:
    b = nczarr.DatasetBuilder("t")
    b.variable("v", b.enum("sky", "ubyte", {"clear": 0}), [b.dimension("x", 1)])
    b.variable("w", "int")
    checked = b.finish(data={"/v": [7], "/w": 1}).checked
    assert [found.code for found in written(checked, Options())[1].list_sorted()] == ["unnamed-value"]
    for options in (Options.of(header_only=True), Options.of(variables=("w",)), Options.of(coordinates_only=True)):
        assert not written(checked, options)[1].list_sorted()


def test_dump_prints_and_warns() -> None:
    source = (
        b"dataset t 2.0.0 {\n  enum sky ubyte { clear 0 }\n  attribute a sky 7\n  variable _ int\n  variable v int\n}\n"
    )
    done = run_command("dump", "-", stdin=source)
    assert done.status == 0
    assert "int v ;" in done.text
    assert ":a = 7 ;" in done.text
    assert "warning[unnamed-value]" in done.err
    assert "warning[unsafe-name]" in done.err
    strict = run_command("dump", "-", "--strict", stdin=source)
    assert (strict.status, strict.text) == (1, "")


@pytest.mark.parametrize("form", ["notation", "ast"])
def test_notation_and_ast_lose_nothing(form: str) -> None:
    for _, dataset, _ in VALUE_LOSSES.values():
        report = Report()
        row = find_format(form)
        assert row is not None
        pieces = phases.text(compiled(dataset), row, report, Options())
        assert pieces is not None
        again = phases.read(Source("t", b"".join(pieces)), report, Options(), row)
        assert report.list_sorted() == []
        assert again is not None
        assert again.dataset == dataset


@pytest.mark.slow
@given(datasets_with_data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_losses_are_exactly_the_differences(generated: tuple[Dataset, dict[str, Parts]]) -> None:
    dataset, parts = generated
    checked = compiled(dataset, parts)
    text, report = written(checked, ALL)
    assert text is not None
    found = {each.code for each in report.list_sorted()}
    if "unnamed-value" in found:
        return
    again = read_back(text)
    if not found:
        assert tree_text(again) == tree_text(dataset)
    elif not any("NaNs" in each.message for each in report.list_sorted()):
        assert again != dataset


def test_a_name_that_ends_in_a_wide_space_keeps_it_at_the_end_of_an_attribute() -> None:
    kind = EnumType(name="e", base="byte", constants=(EnumConstant(name="a\xa0", value=0),))
    value = Constant(type="/e", count=1, data=b"\0")
    tree = Dataset(name="t", types=(kind,), attributes=(Attribute(name="a", value=value),), kind="nc4")
    text, _ = written(compiled(tree), ALL)
    assert text is not None
    assert read_back(text) == tree


@pytest.mark.slow
def test_unwritten_values_that_no_reader_would_fill_in_are_printed(tmp_path: Path) -> None:
    document = {"zarr_format": 2, "shape": [2000, 1000], "chunks": [100, 100], "dtype": "<i4", "compressor": None,
                "filters": None, "order": "C", "fill_value": 7}  # fmt: skip
    (tmp_path / "s" / "v").mkdir(parents=True)
    (tmp_path / "s" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "s" / "v" / ".zarray").write_text(json.dumps(document))
    (tmp_path / "s" / "v" / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["y", "x"]}')
    nczarr.convert(tmp_path / "s", tmp_path / "t.cdl")
    found = nczarr.from_cdl((tmp_path / "t.cdl").read_text())
    assert (found["/v"][...] == 7).all()


def test_values_of_cells_that_were_never_written(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """HDF5's fill value is no attribute: what CDL cannot say of it is lost in every cell."""
    h5py = peer("h5py")
    peer("netCDF4")
    enum = h5py.enum_dtype({"A": 1, "B": 2}, ">i4")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file.create_dataset("unnamed", (4,), dtype=enum)
        file.create_dataset("named", (8,), dtype=enum, chunks=(2,), fillvalue=2)[:2] = [1, 2]
        unusual = np.array([0x7FF8000000000123], "u8").view("f8")[0]
        file.create_dataset("nan", (8,), dtype=">f8", chunks=(2,), fillvalue=unusual)[:2] = 1
    with pytest.raises(nczarr.CompileError, match="`/unnamed` has 4 values without an enum constant"):
        nczarr.convert(tmp_path / "t.h5", tmp_path / "t.cdl")
    done = nczarr.convert(tmp_path / "t.h5", tmp_path / "t.cdl", allow_loss=["unnamed-value"])
    assert [(each.kind, each.path) for each in done.losses] == [("nan-bits", "/nan"), ("unnamed-value", "/unnamed")]
