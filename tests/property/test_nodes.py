"""Nodes accept the members that pydantic accepts, and no others, whichever way they are made."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

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
    Node,
    OpaqueType,
    Quantize,
    Storage,
    Variable,
    VlenType,
)
from nczarr.ast.node import members_of
from nczarr.ast.validation import schema_of
from nczarr.diagnostics.report import Source, Span
from nczarr.plugins.testing.strategies import datasets

CLASSES: tuple[type[Node], ...] = (
    Attribute, Codec, CompoundType, Constant, Dataset, Dimension, EnumConstant, EnumType, Field, Group, OpaqueType,
    Quantize, Storage, Variable, VlenType,
)  # fmt: skip

X, ONE = Dimension(name="x", size=3), Constant.numbers("int", [1])
OPAQUE = OpaqueType(name="o", size=2)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    7,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "int",
    "char",
    "string",
    "byte",
    "/t",
    "2.0.0",
    "2.0",
    "nc4",
    "little",
    "chunked",
    "bitround",
    "enum",
    "opaque",
    "vlen",
    "compound",
    "bool",
    "datetime64[ms]",
    "utf32[0]",
    b"",
    b"abcd",
    b"ab",
    (),
    [],
    {},
    (1,),
    (0,),
    (1, 2),
    (-1,),
    (True,),
    ("x", 3),
    ("/x", -3),
    (1.5,),
    [1],
    (b"a", None),
    (None,),
    ("a",),
    (b"a", 1),
    (X,),
    (X, 1),
    [X],
    X,
    ONE,
    (ONE,),
    (ONE, b"a"),
    (OPAQUE,),
    (OPAQUE, X),
    (Codec(id=1),),
    Storage(),
    (Group(name="g"),),
    (Dataset(name="d"),),
    (Attribute(name="a", value=ONE),),
    (Variable(name="v", type="int"),),
    (EnumConstant(name="k", value=1),),
    (Field(name="f", type="int"),),
    Quantize(algorithm="bitround", digits=2),
    {"name": "x", "size": 1},
    ({"name": "x", "size": 1},),
    {"type": "int", "values": [1]},
    ({"id": 1},),
    ({"kind": "opaque", "name": "o", "size": 1},),
    {"chunks": (1,)},
)


def outcome(make: Any) -> Any:
    """The node, or the faults that were found."""
    try:
        return make()
    except ValidationError as error:
        return [(each["type"], each["loc"]) for each in error.errors()]


@st.composite
def given_members(draw: st.DrawFn) -> tuple[type[Node], dict[str, Any]]:
    cls = draw(st.sampled_from(CLASSES))
    names = [name for name in cls._members if name != "span"]
    needed = [name for name in names if name not in _defaults(cls)]
    chosen = needed + [name for name in names if name not in needed and draw(st.booleans())]
    return cls, {name: draw(st.sampled_from(VALUES)) for name in chosen}


def _defaults(cls: type[Node]) -> set[str]:
    from dataclasses import MISSING, fields

    return {each.name for each in fields(cls) if each.default is not MISSING}


@given(given_members())
def test_pydantic_decides(given: tuple[type[Node], dict[str, Any]]) -> None:
    cls, members = given
    made, wanted = (outcome(each) for each in (lambda: cls(**members), lambda: cls.model_validate(members)))
    assert made == wanted
    if isinstance(made, Node):
        again = outcome(lambda: cls.model_validate(members_of(made)))
        assert again == made
        assert repr(again) == repr(made)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_refuses_what_is_no_member(cls: type[Node]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        cls(nothing=1)
    with pytest.raises(ValidationError):
        cls.model_validate({"nothing": 1})
    with pytest.raises(ValidationError):
        cls.model_validate_json('{"nothing": 1}')


@pytest.mark.long
@given(datasets())
def test_values_and_their_copies(dataset: Dataset) -> None:
    assert Dataset.model_validate_json(dataset.model_dump_json()) == dataset
    assert Dataset.model_validate(dataset.model_dump()) == dataset
    for same in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset), dataset.model_copy()):
        assert same == dataset
        assert hash(same) == hash(dataset)
        assert repr(same) == repr(dataset)
    assert dataset.model_copy(update={"name": dataset.name + "x"}) != dataset


def test_a_node_is_frozen_and_its_span_is_outside_of_its_value() -> None:
    place = Span(Source("s", b"abc"), 0, 2)
    spanned = Dimension(name="x", size=3, span=place)
    assert spanned == X
    assert hash(spanned) == hash(X)
    assert repr(spanned) == "Dimension(name='x', size=3, unlimited=False)"
    assert spanned.model_dump() == {"name": "x", "size": 3, "unlimited": False}
    assert "span" not in str(Dataset.model_json_schema())
    assert spanned.model_copy(update={"size": 4}).span is place
    assert Group(name="x") != X
    with pytest.raises(AttributeError):
        X.size = 4  # type: ignore[misc]
    with pytest.raises(AttributeError):
        X.other = 4  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="no member length"):
        X.model_copy(update={"length": 4})


def test_the_tree_is_made_without_pydantic() -> None:
    """Its import takes longer than a small run."""
    script = (
        "import sys, nczarr.ast as ast\n"
        "ast.Dataset(name='d', dimensions=(ast.Dimension(name='x', size=1),))\n"
        "assert 'pydantic' not in sys.modules\n"
        "ast.Dataset.model_json_schema()\n"
        "assert 'pydantic' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_schema_is_made_once() -> None:
    assert schema_of(Dimension) is schema_of(Dimension)
