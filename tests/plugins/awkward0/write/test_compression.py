"""Policies of compression: what stands for one, which rule applies, and what is refused."""

from __future__ import annotations

import lzma
import zlib
from typing import Any

import numpy as np
import pytest

from nczarr.plugins.awkward0.write.compression import CompressionRule, find_rule, rules_of_policy

ZLIB = ("zlib", "decompress")


@pytest.mark.parametrize("nothing", [None, False, [], ()])
def test_nothing_is_no_rule(nothing: Any) -> None:
    assert rules_of_policy(nothing) == ()


@pytest.mark.parametrize(
    "policy",
    [
        True,
        zlib.compress,
        (zlib.compress, ZLIB),
        (zlib.compress, list(ZLIB)),
        {"pair": zlib.compress},
        {"pair": (zlib.compress, ZLIB), "minsize": 0, "types": object, "contexts": "*"},
        [zlib.compress],
        [(zlib.compress, ZLIB)],
        [{"pair": (zlib.compress, ZLIB)}],
        (CompressionRule(zlib.compress, ZLIB),),
        CompressionRule(zlib.compress, ZLIB),
    ],
)
def test_everything_that_is_one_rule_for_all(policy: Any) -> None:
    assert rules_of_policy(policy) == (CompressionRule(zlib.compress, ZLIB),)


def test_two_functions_are_two_rules() -> None:
    assert [rule.decompress for rule in rules_of_policy((zlib.compress, lzma.compress))] == [
        ZLIB,
        ("lzma", "decompress"),
    ]


@pytest.mark.parametrize(
    ("array", "compressed"),
    [
        (np.zeros(1024, "i8"), True),
        (np.zeros(1023, "i8"), False),
        (np.zeros(1024, ">u8"), True),
        (np.zeros(8192, bool), True),
        (np.zeros(9999, "f8"), False),
        (np.zeros(9999, "S1"), False),
        (np.zeros(9999, [("x", "i8")]), False),
    ],
)
def test_the_default_takes_integers_and_truth_values(array: Any, compressed: bool) -> None:
    assert (find_rule(rules_of_policy("default"), array, "") is not None) is compressed


def test_the_first_rule_that_applies_wins() -> None:
    policy = rules_of_policy(
        [
            {"contexts": ["*.counts", "*.tags"], "pair": zlib.compress},
            {"types": np.floating, "minsize": 16, "pair": lzma.compress},
        ]
    )
    chosen = [
        find_rule(policy, np.zeros(2, kind), context)
        for kind, context in (("f8", "JaggedArray.counts"), ("f8", ""), ("f4", ""), ("i8", "JAGGEDARRAY.COUNTS"))
    ]
    assert [None if rule is None else rule.compress for rule in chosen] == [zlib.compress, lzma.compress, None, None]


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (7, TypeError),
        ("zlib", TypeError),
        ([7], TypeError),
        ({"minsize": 1}, TypeError),
        ({"pair": zlib.compress, "size": 1}, TypeError),
        ({"pair": zlib.compress, "minsize": -1}, TypeError),
        ({"pair": zlib.compress, "minsize": True}, TypeError),
        ({"pair": zlib.compress, "types": "int"}, TypeError),
        ({"pair": zlib.compress, "contexts": 1}, TypeError),
        ((zlib.compress, ("zlib",)), TypeError),
        (bytes, ValueError),
        ((zlib.compress, ("bz2", "decompress")), ValueError),
        ((zlib.compress, ("os", "system")), ValueError),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        rules_of_policy(policy)


def test_a_rule_may_name_what_our_readers_do_not_know() -> None:
    (rule,) = rules_of_policy({"pair": (bytes, ("mine", "undo")), "foreign": True})
    assert rule.decompress == ("mine", "undo")
    assert rule.apply(np.array([1], "|u1")) == b"\x01"


def test_an_inverse_that_does_not_undo_is_noticed() -> None:
    (rule,) = rules_of_policy((lzma.compress, ZLIB))
    with pytest.raises(ValueError, match=r"zlib\.decompress does not undo"):
        rule.apply(np.zeros(3))


def test_other_levels_of_a_known_inverse_are_taken() -> None:
    (rule,) = rules_of_policy((lambda data: zlib.compress(data, 9), ZLIB))
    assert zlib.decompress(rule.apply(np.arange(9).view("M8[s]"))) == np.arange(9).tobytes()


def test_a_function_that_gives_no_bytes_is_named() -> None:
    (rule,) = rules_of_policy({"pair": (len, ("mine", "undo")), "foreign": True})
    with pytest.raises(TypeError, match="len returned int"):
        rule.apply(np.zeros(3))
