"""Each language makes a program of each sample, or refuses it for a known reason."""

from __future__ import annotations

import re

import pytest

import nczarr
from nczarr.plugins.generate.languages import LANGUAGES
from tests.support.generated import SAMPLES

LISTS = dict.fromkeys(("03", "05", "11", "12"), "lists are several arrays")

REFUSED: dict[str, dict[str, str]] = {
    "c": {},
    "fortran": dict.fromkeys(("03", "05", "06", "11", "12"), "variables of numbers and chars"),
    "java": {
        "03": "variables of atomic types", "04": "of a whole file", "05": "variables of atomic types",
        "06": "no missing string", "07": "of a whole file", "11": "atomic types", "12": "atomic types",
    },
    "json-schema": LISTS,
    "pydantic": LISTS,
    "typescript": {**LISTS, "03": "no compound types", "05": "no opaque types", "12": "no compound types"},
    "ncml": {"02": "hides its dimension", "06": "no missing string"},
    "python-netcdf4": {
        "03": "field `instrument` is of a type", "05": "no opaque types", "06": "writes texts beyond ASCII",
        "12": "field `temp_vl` is of a type",
    },
    "python-zarr": {
        "03": "lists are several arrays", "05": "lists are several arrays", "06": "no missing string",
        "11": "lists are several arrays", "12": "lists are several arrays",
    },
    "xarray": {
        "02": "hides a dimension", "03": "no compound types", "05": "no opaque types", "06": "no missing string",
        "07": "cannot leave cells undefined", "11": "no vlen types", "12": "no compound types",
    },
}  # fmt: skip
"""Samples that a language cannot express, by number, with a reason of theirs."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sample_is_made_or_refused(language: str) -> None:
    refused = {}
    for sample in SAMPLES:
        try:
            files = nczarr.generate(language, nczarr.open(sample))
        except nczarr.CompileError as error:
            refused[sample.name[:2]] = " ".join(one.message for one in error.diagnostics)
        else:
            assert all(text.endswith("\n") and "\t" not in text for text in files.values())
    wanted = REFUSED.get(language, {})
    assert list(refused) == list(wanted)
    assert [number for number, reason in wanted.items() if not re.search(f"`/.*{reason}", refused[number])] == []
