"""Variables with equal dimensions, type and storage: an answer for one holds for all, a fault is one of each."""

from __future__ import annotations

from typing import Any

import pytest

from nczarr.ast import Dataset, Dimension, Group, Storage, Variable
from nczarr.diagnostics.report import Report
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked

CHUNKED = Storage(layout="chunked", chunks=(2,))


def checked(
    variables: tuple[Variable, ...], *, forward: bool = True, **members: Any
) -> tuple[Checked | None, list[tuple[str, str]]]:
    report = Report()
    dimensions = Dimension(name="x", size=3), Dimension(name="y", size=1)
    dataset = Dataset(name="d", dimensions=dimensions, variables=variables, **members)
    found = check(Unchecked(dataset, forward=forward), report)
    return found, [(each.code, each.message) for each in report.list_sorted()]


def variables(*types: str, dimensions: tuple[str | int, ...] = ("x",), storage: Storage = CHUNKED) -> Any:
    return tuple(
        Variable(name=f"v{number}", type=each, dimensions=dimensions, storage=storage)
        for number, each in enumerate(types)
    )


@pytest.mark.parametrize("forward", [True, False])
def test_references_and_shapes(forward: bool) -> None:
    found, messages = checked(variables("int", "int", "short", dimensions=("x", 4), storage=Storage()), forward=forward)
    assert messages == []
    assert found is not None
    assert {path: each.dimensions for path, each in found.variables.items()} == dict.fromkeys(
        ("/v0", "/v1", "/v2"), ("/x", 4)
    )
    assert found.shapes == dict.fromkeys(("/v0", "/v1", "/v2"), (3, 4))


def test_scopes_differ() -> None:
    own = Group(name="g", dimensions=(Dimension(name="x", size=7),), variables=variables("int"))
    found, messages = checked(variables("int"), groups=(own,))
    assert messages == []
    assert found is not None
    assert found.shapes == {"/v0": (3,), "/g/v0": (7,)}


def test_undefined_dimensions_are_not_remembered() -> None:
    found, messages = checked((*variables("int"), *variables("int", "int", dimensions=("z",))[1:]))
    assert found is None
    assert [code for code, _ in messages] == ["undefined-dimension"]


def test_bad_chunks_are_reported_of_each() -> None:
    found, messages = checked(variables("int", "int", dimensions=("x", "y")))
    assert found is None
    text = "has 2 dimensions, but 1 chunk lengths are given"
    assert messages == [("bad-chunk-size", f"`v0` {text}"), ("bad-chunk-size", f"`v1` {text}")]


def test_bad_storage_of_a_later_type() -> None:
    found, messages = checked(variables("int", "char", "int", storage=Storage(endian="big")))
    assert found is None
    assert messages == [("bad-storage", "`v1` of type char has no byte order")]


def test_excessive_lengths_are_reported_of_each() -> None:
    found, messages = checked(variables("int", "int", dimensions=(2**63,), storage=Storage()))
    assert found is None
    assert [code for code, _ in messages] == ["bad-dimension-size"] * 2
