from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.diagnostics.report import Report
from nczarr.link.target import emit
from nczarr.options import Options
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from tests.conftest import shared_folder
from tests.support.blocks import block_ids, blocks, check_each
from tests.support.making import checked
from tests.support.peers import corpus
from tests.support.stores import rebuild
from tests.support.targets import content

SHARED = shared_folder()
FILES = list(corpus.files(SHARED)) if SHARED is not None else []


def documents(dataset: Checked, form: str = "nczarr", **options: object) -> Mapping[str, bytes]:
    report = Report()
    planned = plan_target(dataset, find_format(form), Options.of(**options), report)  # type: ignore[arg-type]
    assert planned is not None
    return dict(emit(planned, report))


@pytest.mark.sampled(12)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("paths", blocks(FILES), ids=block_ids(FILES, lambda path: path.stem))
def test_the_store_says_the_whole_tree(paths: Sequence[Path]) -> None:
    check_each(paths, check_tree)


def check_tree(path: Path) -> None:
    dataset = corpus.checked(path)
    if dataset is None:
        return  # not a dataset: the tests of errors have it
    assert rebuild(documents(dataset)) == dataset.dataset
    assert rebuild(documents(dataset, "nczarr3")) == dataset.dataset
    assert rebuild(documents(dataset, "nczarr3", shards={"": "auto"})) == dataset.dataset


DATASET = Dataset(
    name="n",
    dimensions=(Dimension(name="t", size=2, unlimited=True), Dimension(name="a b", size=3)),
    variables=(Variable(name="v", type="int", dimensions=("/t", "/a\\ b", 4)), Variable(name="s", type="float")),
    attributes=(
        Attribute(name="CLASS", value=Constant.text(b"x")),
        Attribute(name="_nczarr_attr", value=Constant.text(b"mine")),
        Attribute(name="z", value=Constant.numbers("float", [0.1])),
    ),
    groups=(Group(name="g", variables=(Variable(name="w", type="byte", dimensions=("/t",)),)),),
)


def test_the_root_comes_last_and_children_first() -> None:
    keys = list(documents(checked(DATASET)))
    assert keys[-2:] == [".zattrs", ".zgroup"]
    assert keys.index("g/w/.zarray") < keys.index("g/.zgroup") < keys.index(".zattrs")


def test_documents_are_one_line_of_raw_utf8() -> None:
    dataset = Dataset(name="é", attributes=(Attribute(name="ü", value=Constant.text("§ \u2028".encode())),))
    for document in documents(checked(dataset)).values():
        assert b"\n" not in document
        assert b"\\u" not in document


def test_members_stand_in_the_library_s_order() -> None:
    found = documents(checked(DATASET))
    array = json.loads(found["v/.zarray"])
    assert list(array) == ["zarr_format", "shape", "dtype", "chunks", "fill_value", "order", "compressor", "filters"]
    root = json.loads(found[".zattrs"])
    assert list(root) == ["CLASS", "z", "_nczarr_group", "_nczarr_superblock", "_nczarr_attr"]
    assert root["z"] == 0.10000000149011612
    assert root["_nczarr_attr"]["types"] == {"CLASS": ">S1", "z": "<f4"}
    assert list(root["_nczarr_attr"]["nczarr"]) == ["_nczarr_attr"]
    assert root["_nczarr_group"]["dimensions"] == {"t": {"size": 2, "unlimited": 1}, "a b": 3, "_Anonymous_Dim_4": 4}
    assert json.loads(found["v/.zattrs"])["_nczarr_array"]["dimension_references"] == [
        "/t",
        "/a b",
        "/_Anonymous_Dim_4",
    ]
    assert rebuild(found) == DATASET
    assert rebuild(documents(checked(DATASET), "nczarr3")) == DATASET


def test_zarr3_has_the_same_hidden_attributes() -> None:
    found = documents(checked(DATASET), "nczarr3")
    root = json.loads(found["zarr.json"])["attributes"]
    assert list(root) == ["CLASS", "z", "_nczarr"]
    hidden = json.loads(root["_nczarr"])
    assert list(hidden) == ["superblock", "group", "attr"]
    assert hidden["superblock"] == {"version": "3.0.0", "format": 3, "nczarr": {"version": "1", "name": "n"}}
    scalar = json.loads(found["s/zarr.json"])
    assert (scalar["shape"], json.loads(scalar["attributes"]["_nczarr"])["array"]["scalar"]) == ([], 1)
    char = documents(checked(Dataset(name="", variables=(Variable(name="c", type="char"),))), "nczarr3")
    assert "nczarr" not in json.loads(json.loads(char["c/zarr.json"])["attributes"]["_nczarr"])["array"]


def test_dtypes_of_attributes_are_those_of_arrays() -> None:
    from nczarr.arrays.values.parts import NUMPY
    from nczarr.formats.zarr.extension.documents import dtype

    for name, code in NUMPY.items():
        if name not in ("char", "string"):
            assert dtype(Constant.numbers(name, [1])) == code


def test_scalars() -> None:
    found = documents(checked(DATASET))
    assert json.loads(found["s/.zarray"])["shape"] == [1]
    assert json.loads(found["s/.zattrs"])["_ARRAY_DIMENSIONS"] == ["_scalar_"]
    assert json.loads(found["s/.zattrs"])["_nczarr_array"]["scalar"] == 1
    pure = documents(checked(DATASET), "zarr2", allow_loss=frozenset({"all"}))
    assert json.loads(pure["s/.zarray"])["shape"] == []
    assert json.loads(pure["s/.zattrs"])["_ARRAY_DIMENSIONS"] == []


def test_pure_stores_have_nothing_of_nczarr() -> None:
    for document in documents(checked(DATASET), "zarr2", allow_loss=frozenset({"all"})).values():
        assert b"_nczarr" not in document


@pytest.mark.parametrize("form", ["nczarr3", "zarr3"])
def test_consolidated_metadata_of_zarr3_stand_in_the_root(form: str) -> None:
    options = {"allow_loss": frozenset({"all"}), "consolidated": True}
    found = dict(documents(checked(DATASET), form, **options))
    root = json.loads(found.pop("zarr.json"))
    inside = root.pop("consolidated_metadata")
    assert inside["metadata"] == {key.removesuffix("/zarr.json"): json.loads(item) for key, item in found.items()}
    assert root == json.loads(documents(checked(DATASET), form, **options | {"consolidated": False})["zarr.json"])


@pytest.mark.parametrize("form", ["nczarr", "zarr2"])
def test_consolidated_metadata_hold_every_other_document(form: str) -> None:
    options = {"allow_loss": frozenset({"all"}), "consolidated": True}
    found = dict(documents(checked(DATASET), form, **options))
    everything = json.loads(found.pop(".zmetadata"))
    assert everything["zarr_consolidated_format"] == 1
    assert everything["metadata"] == {key: json.loads(document) for key, document in found.items()}


def test_the_same_dataset_gives_the_same_bytes() -> None:
    first = content(checked(DATASET), find_format("nczarr"), Report(), Options())  # type: ignore[arg-type]
    second = content(checked(DATASET), find_format("nczarr"), Report(), Options())  # type: ignore[arg-type]
    assert first is not None
    assert second is not None
    assert list(first.items()) == list(second.items())


@pytest.mark.parametrize("form", ["nczarr", "zarr2", "nczarr3", "zarr3"])
def test_bits_of_a_fill_value_that_is_no_number(form: str, tmp_path: Path) -> None:
    odd = np.array([0x7FC00123], "u4").view("f4")
    builder = nczarr.DatasetBuilder("d")
    builder.variable("v", "float", [builder.dimension("x", 3)], fill_value=odd[0])
    nczarr.write(builder.finish(), tmp_path / "s.zarr", format=form)
    found = nczarr.open(tmp_path / "s.zarr")
    assert found["v"][...].tobytes() == odd.tobytes() * 3
    if form.startswith("nczarr"):
        assert found["v"].attributes["_FillValue"].tobytes() == odd.tobytes()
