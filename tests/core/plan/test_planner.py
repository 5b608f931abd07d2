from __future__ import annotations

import numpy as np
import pytest

from nczarr.ast import (
    Attribute,
    Codec,
    CompoundType,
    Constant,
    Dataset,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    Storage,
    Variable,
    VlenType,
)
from nczarr.diagnostics.report import Report, Severity
from nczarr.options import Options
from nczarr.plan.chunk_lengths import CHUNK_BYTES, default_chunks
from nczarr.plan.planner import plan_target
from nczarr.plan.plans import Plan
from nczarr.registry import find_format
from tests.support.making import checked

X = Dimension(name="x", size=4)
ENUM = EnumType(name="e", base="byte", constants=(EnumConstant(name="off", value=0),))


def planned(dataset: Dataset, form: str = "nczarr", data: dict[str, object] | None = None, **options: object):  # type: ignore[no-untyped-def]
    report = Report()
    made = plan_target(checked(dataset, data), find_format(form), Options.of(**options), report)  # type: ignore[arg-type]
    return made, report


def codes(report: Report) -> list[str]:
    return [found.code for found in report.list_sorted()]


@pytest.mark.parametrize(
    ("variables", "types", "code"),
    [
        ((Variable(name="v", type="/e"),), (ENUM,), "lost-type"),
        ((Variable(name="v", type="/s"),), (VlenType(name="s", base="int"),), "lost-type"),
        (
            (Variable(name="v", type="/c"),),
            (CompoundType(name="c", fields=(Field(name="s", type="string"),)),),
            "lost-type",
        ),
        (
            (Variable(name="v", type="int", attributes=(Attribute(name="a", value=Constant.numbers("int", [])),)),),
            (),
            "lost-attribute",
        ),
        (
            (
                Variable(
                    name="v", type="int", attributes=(Attribute(name="_ARRAY_DIMENSIONS", value=Constant.text(b"x")),)
                ),
            ),
            (),
            "lost-attribute",
        ),
        (
            (Variable(name="v", type="int", attributes=(Attribute(name="a", value=Constant.text(b"a\0b")),)),),
            (),
            "altered-attribute",
        ),
        (
            (Variable(name="v", type="int", attributes=(Attribute(name="a", value=Constant.strings([None])),)),),
            (),
            "lost-nil",
        ),
    ],
)
def test_value_losses_are_errors_unless_allowed(variables, types, code) -> None:  # type: ignore[no-untyped-def]
    dataset = Dataset(name="", types=types, variables=variables)
    made, report = planned(dataset, "zarr2")
    assert made is None
    assert code in codes(report)
    made, report = planned(dataset, "zarr2", allow_loss=frozenset({code}))
    assert made is not None
    assert report.errors == 0
    assert {found.severity for found in report.list_sorted()} == {Severity.WARNING}
    made, report = planned(dataset, "nczarr")
    assert made is not None
    assert codes(report) == []


def test_nan_loses_its_width_in_plain_json_unless_it_is_the_fill_value() -> None:
    nan = Constant.numbers("float", [float("nan")])
    fill = Variable(name="v", type="float", attributes=(Attribute(name="_FillValue", value=nan),))
    assert planned(Dataset(name="", variables=(fill,)), "zarr2")[0] is not None
    other = Variable(name="v", type="float", attributes=(Attribute(name="missing_value", value=nan),))
    made, _ = planned(Dataset(name="", variables=(other,)), "zarr2")
    assert made is not None
    assert [loss.kind for loss in made.losses] == ["attribute-type"]


def test_annotation_losses_are_one_warning() -> None:
    dataset = Dataset(
        name="n",
        kind="nc4",
        dimensions=(X, Dimension(name="t", size=0, unlimited=True), Dimension(name="u", size=1)),
        variables=(Variable(name="c", type="char", dimensions=("/x", "/t"), storage=Storage(endian="little")),),
        attributes=(
            Attribute(name="a", value=Constant.numbers("short", [1])),
            Attribute(name="kept", value=Constant.numbers("int", [1])),
            Attribute(name="s", value=Constant.strings([b"x"])),
        ),
    )
    made, report = planned(dataset, "zarr2")
    assert isinstance(made, Plan)
    assert codes(report) == ["lost-annotations"]
    for what in ("types of attributes (1)", "unlimited", "unused", "strings", "storage hints", "kind", "name"):
        assert what in report.list_sorted()[0].message
    verbose = planned(dataset, "zarr2", verbose=True)[1].list_sorted()[0]
    assert "lost: dimension `/u`, unused" in verbose.notes


def test_filters_without_a_name_are_dropped_and_said() -> None:
    szip = Storage(chunks=(4,), codecs=(Codec(id=4, parameters=(32, 8)),))
    dataset = Dataset(
        name="", dimensions=(X,), variables=(Variable(name="v", type="int", dimensions=("/x",), storage=szip),)
    )
    made, report = planned(dataset, "nczarr")
    assert codes(report) == ["lost-annotations"]
    assert made.targets["/v"][""].layout.codecs == ()
    assert made.storage["/v"].codecs == szip.codecs


@pytest.mark.parametrize("name", ["a/b", ".zattrs", "..", "x" * 256])
def test_names_that_are_no_keys(name: str) -> None:
    made, report = planned(Dataset(name="", variables=(Variable(name=name, type="int"),)))
    assert made is None
    assert codes(report) == ["unsafe-name"]


def test_a_group_and_a_variable_cannot_share_a_key() -> None:
    dataset = Dataset(name="", variables=(Variable(name="a", type="int"),), groups=(Group(name="a"),))
    assert codes(planned(dataset)[1]) == ["unsafe-name"]


def test_options_of_chunks_and_codecs() -> None:
    dataset = Dataset(
        name="",
        dimensions=(X, Dimension(name="y", size=100)),
        variables=(
            Variable(name="v", type="int", dimensions=("/x", "/y")),
            Variable(name="w", type="int", dimensions=("/y",)),
            Variable(name="s", type="int"),
        ),
    )
    made, report = planned(dataset, chunks={"y": (10,), "/w": (50,)}, codecs={"": "zstd:3", "/w": "none"})
    assert codes(report) == []
    assert made.targets["/v"][""].layout.chunks == (4, 10)
    assert made.targets["/w"][""].layout.chunks == (50,)
    assert made.targets["/v"][""].layout.codecs == (Codec(id=2), Codec(id=32015, parameters=(3,)))
    assert made.targets["/w"][""].layout.codecs == ()
    assert made.targets["/s"][""].layout.codecs == ()
    assert codes(planned(dataset, chunks={"z": (1,)})[1]) == ["unmatched-chunks"]
    assert codes(planned(dataset, chunks={"/v": (1,)})[1]) == ["unmatched-chunks"]
    assert codes(planned(dataset, codecs={"/q": "none"})[1]) == ["bad-codec"]
    assert codes(planned(dataset, codecs={"": "zlib:99"})[1]) == ["bad-codec"]


def test_two_dimensions_of_one_name_get_two_names() -> None:
    inner = Group(
        name="g",
        dimensions=(Dimension(name="x", size=7),),
        variables=(Variable(name="v", type="int", dimensions=("/x", "/g/x", 3, 3)),),
    )
    dataset = Dataset(name="", dimensions=(X,), groups=(inner,))
    made, _ = planned(dataset)
    assert made.axes["/g/v"] == ("x_2", "x", "_Anonymous_Dim_3", "_Anonymous_Dim_3_2")
    assert "renamed-dimension" in codes(planned(dataset, "zarr2")[1])


@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        ([b"a", b"bcd"], "|S3"),
        ([b"", b""], "|S128"),
        ([b"x" * 257, b""], "|O"),
        ([b"a\0", b""], "|O"),
        ([None, b"a"], "|O"),
        ([b"\xff", b"a"], "|O"),
    ],
)
def test_short_strings_are_of_fixed_length(texts: list[bytes | None], dtype: str) -> None:
    dataset = Dataset(name="", variables=(Variable(name="s", type="string", dimensions=(2,)),))
    data = {"/s": np.array(texts, object)}
    made, _ = planned(dataset, data=data)
    assert made.targets["/s"][""].layout.dtype == dtype
    made, _ = planned(dataset, "zarr2", data=data, allow_loss=frozenset({"all"}))
    assert made.targets["/s"][""].layout.dtype == "|O"


def test_nil_strings_are_run_length_coded() -> None:
    dataset = Dataset(name="", variables=(Variable(name="s", type="string", dimensions=(2, 3)),))
    values = np.array([[None, None, b"a"], [None, b"", None]], object)
    made, _ = planned(dataset, data={"/s": values})
    assert made.targets["/s"][""].nil == ((0, 2), (3, 1), (5, 1))


@pytest.mark.parametrize("shape", [(), (0,), (5,), (10**6, 10**6), (1, 10**9), (10**12,), (3, 1, 10**7)])
def test_default_chunks_are_of_bounded_size(shape: tuple[int, ...]) -> None:
    chunks = default_chunks(shape, 8)
    assert len(chunks) == len(shape)
    assert all(1 <= chunk <= max(1, length) for chunk, length in zip(chunks, shape, strict=True))
    size = int(np.prod(chunks, dtype=object)) * 8
    assert size <= CHUNK_BYTES
    total = int(np.prod(shape, dtype=object)) * 8
    assert size * 4 >= min(total, CHUNK_BYTES)  # never a million tiny ones


def test_numbers_are_shuffled_before_a_compressor_alone() -> None:
    zstd, zlib, shuffle = Codec(id=32015, parameters=(5,)), Codec(id=1, parameters=(5,)), Codec(id=2)

    def chain(text: str, form: str = "nczarr", kind: str = "int", *source: Codec) -> tuple[Codec, ...]:
        variable = Variable(name="v", type=kind, dimensions=("/x",), storage=Storage(codecs=source))
        made, _ = planned(Dataset(name="", dimensions=(X,), variables=(variable,)), form=form, codecs={"": text})
        return made.targets["/v"][""].layout.codecs

    assert chain("zstd:5") == (shuffle, zstd)
    assert chain("zlib:5", "zarr2") == (shuffle, zlib)
    assert chain("zstd:5", "nczarr", "int", shuffle, zlib) == (shuffle, zstd)
    assert chain("zlib:5", "nczarr", "int", zlib) == (zlib,)  # chunks are copied
    assert chain("noshuffle+zstd:5") == (zstd,)
    assert chain("noshuffle+zlib:5", "nczarr", "int", shuffle, zlib) == (zlib,)
    assert chain("zstd:5", kind="byte") == chain("zstd:5", kind="char") == (zstd,)
    assert chain("zstd:5", "zarr3") == chain("zstd:5", "nczarr3") == (zstd,)  # it has no registered shuffle
    assert [codec.id for codec in chain("blosc:zstd:5")] == [32001]
    assert [codec.id for codec in chain("fletcher32")] == [3]
