from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nczarr.ast import (
    CompoundType,
    Constant,
    Dataset,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    OpaqueType,
    Quantize,
    UserType,
    Variable,
    VlenType,
)
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.extension.model import ArrayExtension, AttributeExtension, type_from_json, type_to_json
from nczarr.link.target import emit
from nczarr.options import Options
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.stores.memory import MemoryStore
from tests.support.making import checked
from tests.support.stores import opened


def written(dataset: Dataset) -> Iterator[tuple[str, bytes]]:
    """The documents of a dataset as NCZarr."""
    report = Report()
    planned = plan_target(checked(dataset), find_format("nczarr"), Options(), report)
    assert planned is not None, report.list_sorted()
    return emit(planned, report)


NESTED = Constant(type="/seq", count=2, data=(Constant.numbers("int", [1, 2]), Constant.numbers("int", [])))
TYPES = (
    EnumType(name="e", base="ubyte", constants=(EnumConstant(name="a b", value=3), EnumConstant(name="c", value=255))),
    OpaqueType(name="o", size=16),
    VlenType(name="seq", base="int"),
    CompoundType(
        name="c",
        fields=(Field(name="t", type="int64", offset=8), Field(name="v", type="/g/x", shape=(3, 2))),
        size=48,
    ),
)


@pytest.mark.parametrize(
    "extension",
    [
        ArrayExtension(),
        ArrayExtension(type="/seq", dimensions=("/t", 4)),
        ArrayExtension(
            "char", ("/x",), "compact", (), ((4, 32, 8), (2,)), "native", "nofill",
            Quantize(algorithm="bitgroom", digits=3), {"": ((0, 2), (9, 1))},
        ),
        ArrayExtension(nil={"a": ((0, 1),), "b/content": ((1, 1),)}),
        AttributeExtension(Constant.text(b"a\0\xff")),
        AttributeExtension(Constant.strings([b"a", None, b"\xff"]), 3),
        AttributeExtension(NESTED, 0),
        AttributeExtension(Constant(type="/o", count=1, data=bytes(16))),
        AttributeExtension(Constant.numbers("double", [])),
    ],
)  # fmt: skip
def test_the_extension_reads_back_from_json(extension) -> None:  # type: ignore[no-untyped-def]
    document = json.loads(json.dumps(extension.to_json()))
    refused: list[str] = []
    more = (refused.append,) if isinstance(extension, ArrayExtension) else ()
    assert type(extension).from_json(document, *more) == extension
    assert refused == []


@pytest.mark.parametrize("declared", TYPES)
def test_a_type_reads_back_from_json(declared: UserType) -> None:
    assert type_from_json(json.loads(json.dumps(type_to_json(declared)))) == declared


@pytest.mark.parametrize(
    "group",
    [
        {"dimensions": (Dimension(name="t", size=3),)},
        {
            "types": TYPES[:2],
            "variables": (
                Variable(name="b", type="int", dimensions=(4,)),
                Variable(name="a", type="/s", dimensions=(4, "/t")),
            ),
            "dimensions": (Dimension(name="t", size=3),),
        },
    ],
)
@pytest.mark.parametrize("fields", [{"name": ""}, {"kind": "nc4", "name": "ocean", "version": "2.1.0"}])
def test_the_extension_of_superblock_and_group_reads_back(group: dict[str, Any], fields: dict[str, Any]) -> None:
    types = (*group.get("types", ()), VlenType(name="s", base="int"))
    dataset = Dataset(**fields, **{**group, "types": types})
    found, said = opened(MemoryStore(dict(written(dataset))))
    assert said == []
    assert [each.name for each in found.dataset.variables] == [each.name for each in dataset.variables]
    assert [each.dimensions for each in found.dataset.variables] == [each.dimensions for each in dataset.variables]
    assert (found.dataset.types, found.dataset.dimensions) == (dataset.types, dataset.dimensions)
    assert (found.dataset.name, found.dataset.kind, found.dataset.version) == (
        dataset.name, dataset.kind, dataset.version
    )  # fmt: skip


def test_what_says_nothing_is_not_written() -> None:
    assert ArrayExtension().to_json() == {}
    documents = {key: json.loads(data) for key, data in written(Dataset(name=""))}
    assert documents[".zattrs"]["_nczarr_superblock"]["nczarr"] == {"version": "1"}
    assert "nczarr" not in documents[".zattrs"]["_nczarr_group"]
