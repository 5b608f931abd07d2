"""Floats in JSON: the exact double of each, in every format, and the same bits back."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping
from typing import Any

import pytest

import nczarr
from nczarr import ast
from nczarr.ast import Constant
from nczarr.ast.values import shortest
from nczarr.diagnostics.report import Report
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.memory import MemoryStore
from tests.support.plugins import offered
from tests.support.stores import opened, written

EXACT = ("nczarr", "nczarr3", *offered("zarr3-2019"))
FORMS = ("zarr2", "zarr3", *EXACT)
TEXT = """netcdf t {
dimensions:
  x = 2 ;
variables:
  float v(x) ;
    v:_FillValue = 1e20f ;
    v:missing_value = 1e20f ;
    v:scale_factor = 0.1f ;
    v:offsets = 0.0024695806f, -0.f, 3.4028235e38f, 1.e-45f ;
    v:odd = NaNf, 0.1f, Infinityf ;
  float w(x) ;
    w:_FillValue = 1e20f ;
data:
  v = 1, 2 ;
}
"""
BITS = [0x7FC00000, 0x7FC00001, 0xFFC00000, 0x7F800000, 0xFF800000, 0x80000000, 1, 0x807FFFFF, 0x7F7FFFFF, 0x3DCCCCCD]


def dataset() -> Checked:
    return nczarr.from_cdl(TEXT).checked


def rechecked(checked: Checked, tree: ast.Dataset) -> Checked:
    """A changed tree with the same values."""
    report = Report()
    found = check(Unchecked(tree, forward=True, parts={"/v": checked.parts["/v"]}), report)
    assert found is not None, [each.message for each in report.list_sorted()]
    return found


def members(store: Mapping[str, bytes], name: str) -> list[Any]:
    """Every member of this name in the documents of a store."""

    def within(value: Any) -> list[Any]:
        if isinstance(value, list):
            return [found for each in value for found in within(each)]
        if not isinstance(value, dict):
            return []
        here = [value[name]] if name in value else []
        return here + [found for each in value.values() for found in within(each)]

    documents = [data for key, data in store.items() if key.rpartition("/")[2].startswith((".z", "zarr.")) or
                 key.startswith("meta/")]  # fmt: skip
    return [found for data in documents for found in within(json.loads(data))]


def of_bits(bits: list[int]) -> bytes:
    return struct.pack(f"<{len(bits)}I", *bits)


@pytest.mark.parametrize("form", FORMS)
def test_attributes_and_fill_values_are_exact_doubles(form: str) -> None:
    store = written(dataset(), form, consolidated=False)
    single = 1.0000000200408773e20
    assert 0.10000000149011612 in members(store, "scale_factor")
    assert single in members(store, "missing_value")
    assert members(store, "fill_value") == [single, single]
    shown = next(each for each in members(store, "offsets") if isinstance(each, list))
    assert [math_bits(each) for each in shown] == [math_bits(each) for each in singles(shown)]
    assert shown[0] == struct.unpack("<f", struct.pack("<f", 0.0024695806))[0]


def singles(values: list[float]) -> list[float]:
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def math_bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("form", EXACT)
def test_every_bit_of_a_float_comes_back(form: str) -> None:
    drawn = random.Random(7)
    bits = BITS + [drawn.getrandbits(32) for _ in range(2000)]
    attributes = [
        *(Constant(type="float", count=1, data=of_bits([each])) for each in bits),
        Constant(type="float", count=len(bits), data=of_bits(bits)),
    ]
    checked = dataset()
    tree = checked.dataset.model_copy(
        update={
            "attributes": tuple(
                ast.Attribute(name=f"a{number}", value=value) for number, value in enumerate(attributes)
            )
        }
    )
    again = rechecked(checked, tree)
    assert [each.value for each in again.dataset.attributes] == attributes
    seen, said = opened(MemoryStore(written(again, form)))
    assert said == []
    assert [each.value for each in seen.dataset.attributes] == attributes


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("form", EXACT)
def test_every_bit_of_a_fill_value_comes_back(form: str, bits: int) -> None:
    value = Constant(type="float", count=1, data=of_bits([bits]))
    checked = dataset()
    given = checked.dataset.variables[0]
    kept = tuple(each for each in given.attributes if each.name != "_FillValue")
    variable = given.model_copy(update={"attributes": (ast.Attribute(name="_FillValue", value=value), *kept)})
    tree = checked.dataset.model_copy(update={"variables": (variable,)})
    again = rechecked(checked, tree)
    seen, said = opened(MemoryStore(written(again, form)))
    assert said == []
    assert seen.dataset == again.dataset


def shortened(value: Any) -> Any:
    """A JSON value as earlier versions wrote it: floats in the shortest digits that mean them."""
    if isinstance(value, list):
        return [shortened(each) for each in value]
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    return float(shortest(value, "float")) if isinstance(value, float) else value


@pytest.mark.parametrize("form", EXACT)
def test_stores_with_the_shortest_digits_read_back_bit_for_bit(form: str) -> None:
    checked = dataset()
    payload = Constant(type="float", count=3, data=of_bits([0x7FC00001, 0x3DCCCCCD, 0x60AD78EC]))
    tree = checked.dataset.model_copy(update={"attributes": (ast.Attribute(name="odd", value=payload),)})
    checked = rechecked(checked, tree)
    old = {
        key: json.dumps(shortened(json.loads(data))).encode() if data[:1] == b"{" else data
        for key, data in written(checked, form).items()
    }
    assert b"0.1," in b"".join(old.values())
    seen, said = opened(MemoryStore(old))
    assert said == []
    constants = {(path, one.name): one.value for path, owner in owners(seen) for one in owner.attributes}
    assert constants == {(path, one.name): one.value for path, owner in owners(checked) for one in owner.attributes}
    assert {**seen.fills} == {**checked.fills}


def owners(checked: Checked) -> list[tuple[str, Any]]:
    """Groups and variables by FQN."""
    return [*checked.groups.items(), *checked.variables.items()]


@pytest.mark.parametrize("form", EXACT)
def test_a_float_that_another_program_changed_is_taken_from_the_plain_document(form: str) -> None:
    checked = dataset()
    payload = Constant(type="float", count=2, data=of_bits([0x7FC00001, 0x3DCCCCCD]))
    tree = checked.dataset.model_copy(update={"attributes": (ast.Attribute(name="odd", value=payload),)})
    checked = rechecked(checked, tree)
    changed = {
        key: data.replace(b"0.10000000149011612", b"0.25") if data[:1] == b"{" else data
        for key, data in written(checked, form).items()
    }
    seen, said = opened(MemoryStore(changed))
    assert {each.code for each in said} == {"stale-extension"}
    assert seen.dataset.attributes[0].value != payload


def test_the_json_of_a_tree_has_exact_doubles_and_reads_the_shortest() -> None:
    value = Constant.numbers("float", [0.1])
    assert '"values":[0.10000000149011612]' in value.model_dump_json()
    assert Constant.model_validate({"type": "float", "values": [0.1]}) == value
