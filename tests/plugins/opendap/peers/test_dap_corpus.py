"""The recorded datasets of netcdf-c's own client tests: equal to what its ncdump prints, or to their declarations.

tests/support/opendap_prints.py states the rule of comparison.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.arrays.regions import every_block
from nczarr.diagnostics.report import CompileError, Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from tests.support.opendap_prints import differences

DIFFERENT = {
    "NestedSeq": "netcdf-c omits sequences in sequences",
    "NestedSeq2": "netcdf-c omits sequences in sequences",
    "synth8": "netcdf-c omits the values of sequences in sequences",
    "test.23": "netcdf-c omits grids in sequences",
    "synth9": "the recorded response has no values; ours is an error",
    "in_no_three_double_dmn.nc": "the print divides a text at its line end, so that it is no valid CDL",
}
"""Datasets whose print is not what the server sent, and why."""

LEAST = 85
"""Prints that must be equal."""

SUFFIX = {"dap2": "dods", "dap4": "dap"}


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[tuple[str, Path, Path | None]]:
    """Names of the recorded datasets, with their response and print."""
    folder = shared / "data" / "dap"
    if not folder.is_dir():
        pytest.skip("the recorded datasets are not among the shared data")
    found = json.loads((folder / "index.json").read_text())["cases"]
    return [
        (
            each["name"],
            folder / each["files"][SUFFIX[each["protocol"]]],
            folder / each["files"]["ncdump"] if "ncdump" in each["files"] else None,
        )
        for each in found
    ]


def test_prints_are_equal(cases: list[tuple[str, Path, Path | None]]) -> None:
    different, equal = {}, 0
    for name, response, printed in cases:
        if printed is None:
            continue
        try:
            found = differences(printed, response)
        except CompileError as error:
            found = [str(error)]
        if found:
            different[name] = found
        else:
            equal += 1
    assert different.keys() == DIFFERENT.keys(), different
    assert equal >= LEAST


def test_datasets_without_a_print_have_what_they_declare(cases: list[tuple[str, Path, Path | None]]) -> None:
    count = 0
    for _, response, printed in cases:
        if printed is not None:
            continue
        count += 1
        dataset = nczarr.open(response)
        if response.suffix == ".dods":
            text = response.with_suffix(".dds").read_text()
            for name, shape in re.findall(r"^    (?:Byte|U?Int\d+|Float\d+) (\w+)((?:\[.*\])*);", text, re.MULTILINE):
                lengths = [int(each) for each in re.findall(r"(\d+)\]", shape)]
                assert list(dataset["/" + name][...].shape) == lengths
        else:
            text = response.with_suffix(".dmr").read_text()
        for variable in dataset.variables.values():
            assert re.search(rf"\b{re.escape(variable.name.partition('.')[0])}\b", text)
            variable[...]
    assert count == 10


def _fuzz(cases: list[tuple[str, Path, Path | None]], rounds: int) -> None:
    """Read mutated recordings: each gives a dataset whose values read, or diagnostics."""
    chosen = random.Random(4)
    originals = [path.read_bytes() for _, path, _ in cases if path.stat().st_size < 1 << 15]
    for number in range(rounds):
        data = bytearray(chosen.choice(originals))
        for _ in range(chosen.choice((1, 1, 2, 8))):
            at = chosen.randrange(len(data))
            match chosen.randrange(4):
                case 0:
                    data[at] = chosen.randrange(256)
                case 1:
                    del data[at : at + chosen.choice((1, 4, 100))]
                case 2:
                    data[at:at] = chosen.choice((b"\0", b"\xff" * 4, b"{", b"}", b'"', b"</", bytes(data[:20])))
                case 3:
                    data[at : at + 4] = chosen.choice((b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\xff"))
            data = data or bytearray(b"x")
        report = Report()
        read = phases.read(Source(f"{number}.{chosen.choice(('dods', 'dap'))}", bytes(data)), report, Options())
        assert not [found for found in report.list_sorted() if found.code == "internal-error"], (
            number,
            report.list_sorted(),
        )
        if read is None:
            assert any(found.severity is Severity.ERROR for found in report.list_sorted())
            continue
        for parts in read.parts.values():
            for array in parts.values():
                _touch(array)


def _touch(array: Any) -> None:
    shape = array.layout.shape
    block = tuple(max(1, min(length, 64)) for length in shape)
    for index in every_block(shape, block):
        region = tuple(slice(n * b, min((n + 1) * b, s)) for n, b, s in zip(index, block, shape, strict=True))
        try:
            array.read(region)
        except OSError:
            return
        if len(shape) > 2:
            return


def test_mutations_are_read_or_reported(cases: list[tuple[str, Path, Path | None]]) -> None:
    _fuzz(cases, 100)


@pytest.mark.slow
def test_many_mutations_are_read_or_reported(cases: list[tuple[str, Path, Path | None]]) -> None:
    _fuzz(cases, 3000)
