"""Columns of all kinds through arrays of awkward 2: values, types, and that awkward holds them valid."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr.plugins.awkward0.columns import awkward2_layouts as unions
from nczarr.plugins.awkward0.columns.awkward2 import of_awkward, to_awkward
from nczarr.plugins.awkward0.columns.nodes import Column
from nczarr.plugins.awkward0.write.serialize import LostPartsWarning, serialize
from tests.support.columns import columns, items, mark


def plain(value: Any) -> Any:
    """Values where numbers are what they are worth: awkward makes one type of the numbers of a union."""
    match value:
        case list():
            return [plain(each) for each in value]
        case {"record": pairs}:
            return {"record": [[name, plain(each)] for name, each in pairs]}
        case {"time": [count, _]}:
            return count
        case {"float": text}:
            number = float.fromhex(text)
            return int(number) if number.is_integer() else text
        case {"complex": [real, imag]}:
            return plain({"float": real}) if float.fromhex(imag) == 0 else value
        case _:
            return value


@pytest.mark.slow
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_columns_go_through_awkward(peer: Callable[[str], ModuleType], depth: int) -> None:
    peer("awkward")

    @settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns(depth=depth))
    def check(column: Column) -> None:
        wanted = json.dumps(plain(items(column)))
        array = to_awkward(column)
        assert json.dumps(plain(mark(array.to_list()))) == wanted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostPartsWarning)
            back = of_awkward(array)
            serialize(array, {})
        assert json.dumps(plain(items(back))) == wanted
        again = to_awkward(back)
        assert again.type == array.type
        assert again.to_list() == array.to_list() or "nan" in wanted

    check()


@pytest.mark.slow
def test_arrays_are_valid_where_no_integers_are_too_large(
    peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    ak = peer("awkward")
    monkeypatch.setattr(unions, "EXACT", 1 << 64)

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns(depth=2))
    def check(column: Column) -> None:
        assert ak.validity_error(to_awkward(column)) == ""

    check()


@pytest.mark.slow
@pytest.mark.parametrize("compression", [None, True])
def test_what_is_written_is_read(compression: object) -> None:
    @settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
    @given(columns())
    def check(column: Column) -> None:
        storage: dict[str, bytes] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostPartsWarning)
            serialize(column, storage, name="v", suffix=".raw", schemasuffix=".json", compression=compression)
            back = nczarr.awkward0.columns(storage, "v.json")
            again: dict[str, bytes] = {}
            serialize(back, again, name="v", suffix=".raw", schemasuffix=".json", compression=compression)
        assert json.dumps(items(back)) == json.dumps(items(column))
        assert nczarr.awkward0.columns(again, "v.json") is not None

    check()
