"""Classic files of ours against those of ncgen, from the same text and in the same run, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from nczarr.ast import Attribute, Constant, Dataset, Kind, Variable
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.registry import find_format
from nczarr.semantics.classic_layout import CLASSIC_KINDS
from tests.conftest import ROOT
from tests.support.peers.classic import DIFFERENCES, differing, refused, unexplained
from tests.support.peers.classic_texts import texts
from tests.support.peers.ncgen import REFUSED
from tests.support.peers.netcdf3_pairs import Pair, cases, checked_pair, corpus, ours, pieces, read, theirs

pytestmark = pytest.mark.peer

Tool = Callable[[str], str]
Peer = Callable[[str], ModuleType]

TAKEN: dict[str, tuple[Kind, ...]] = {
    "bigf1": ("nc3", "nc6", "nc5"),
    "bigf2": ("nc6", "nc5"),
    "bigf3": ("nc5",),
    "bigr1": ("nc3", "nc6", "nc5"),
    "bigr2": ("nc6", "nc5"),
    "bigr3": ("nc5",),
}
"""Which kinds ncgen takes of the files in `ncgen3` that declare 4 GB; the netCDF format specification says so too."""


@pytest.mark.program
@pytest.mark.sampled(7)
@pytest.mark.parametrize(("stem", "kind"), [pytest.param(*case, id="-".join(case)) for case in cases()])
def test_the_corpus_byte_for_byte(stem: str, kind: Kind, tmp_path: Path, tool: Tool, shared: Path) -> None:
    source = corpus() / f"{stem}.cdl"
    wanted = theirs(tool("ncgen"), source, kind, tmp_path / "theirs.nc")
    if refused(stem):
        report = Report()
        assert read(source.read_bytes(), stem, kind, report) is None
        assert {found.code for found in report.list_sorted()} == {"format-conflict"}
        return
    made = ours(source.read_bytes(), source.name, kind)
    if not differing(stem, kind):
        assert made == wanted
        return
    (tmp_path / "ours.nc").write_bytes(made)
    command = [sys.executable, str(shared / "tools" / "nc-same"), "--max", "0", "theirs.nc", "ours.nc"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stderr
    assert unexplained(stem, kind, found.stdout.splitlines()) == []


@pytest.mark.giant
@pytest.mark.parametrize(("stem", "kind"), [(stem, kind) for stem, kinds in TAKEN.items() for kind in kinds])
def test_files_of_four_gigabytes(stem: str, kind: Kind, tmp_path: Path, tool: Tool, shared: Path) -> None:
    source, target = corpus() / f"ncgen3__{stem}.cdl", tmp_path / "theirs.nc"
    subprocess.run([tool("ncgen"), "-k", kind, "-o", str(target), str(source)], check=True)
    checked = read(source.read_bytes(), source.name, kind, Report())
    assert checked is not None
    with target.open("rb") as file:
        for piece in pieces(checked, kind):
            assert file.read(len(piece)) == piece
        assert not file.read(1)
    target.unlink()


@pytest.mark.parametrize("stem", TAKEN)
@pytest.mark.parametrize("kind", CLASSIC_KINDS)
def test_sizes_are_taken_and_refused_as_by_ncgen(stem: str, kind: Kind, shared: Path) -> None:
    report = Report()
    checked = read((corpus() / f"ncgen3__{stem}.cdl").read_bytes(), stem, kind, report)
    assert (checked is not None) == (kind in TAKEN[stem])
    assert {found.code for found in report.list_sorted()} == (set() if checked else {"format-conflict"})


TEXTS = [pytest.param(text, kind, id=f"{name}-{kind}") for name, text, kinds in texts() for kind in kinds]


@pytest.mark.program
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("text", "kind"), TEXTS)
def test_byte_for_byte(text: str, kind: Kind, tmp_path: Path, tool: Tool) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(text, "utf-8")
    assert ours(text.encode(), "t.cdl", kind) == theirs(tool("ncgen"), source, kind, tmp_path / "theirs.nc")


STEADY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def ncgen_is_right(dataset: Dataset) -> bool:
    """Whether ncgen has no known fault with the dataset: see docs/reference/ncgen-differences.md, classic files."""
    attributes = [*dataset.attributes, *(item for variable in dataset.variables for item in variable.attributes)]
    return (
        bool(dataset.dimensions or dataset.variables or dataset.attributes)
        and all(item.value.count for item in attributes)
        and all(variable.type != "int64" for variable in dataset.variables)
    )


def against_ncgen(pair: Pair, kind: Kind, ncgen: str, folder: Path) -> None:
    checked = checked_pair(pair, kind)
    if not ncgen_is_right(checked.dataset):
        return
    report, form = Report(), find_format("cdl")
    assert form is not None
    text = phases.text(checked, form, report, Options())
    assert text is not None
    source = folder / "t.cdl"
    source.write_bytes(b"".join(text))
    try:
        wanted = theirs(ncgen, source, kind, folder / "theirs.nc")
    except subprocess.CalledProcessError:
        return  # names that ncgen's scanner does not take
    assert b"".join(pieces(checked, kind)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nc3", "nc6"])
@STEADY
@given(pair=datasets_with_data(classic=True))
def test_generated_datasets_byte_for_byte(kind: Kind, tmp_path: Path, tool: Tool, pair: Pair) -> None:
    against_ncgen(pair, kind, tool("ncgen"), tmp_path)


@pytest.mark.slow
@STEADY
@given(pair=datasets_with_data(wide=True))
def test_generated_datasets_of_cdf5_byte_for_byte(tmp_path: Path, tool: Tool, pair: Pair) -> None:
    against_ncgen(pair, "nc5", tool("ncgen"), tmp_path)


def reads_back(pair: Pair, kind: Kind, library: ModuleType, folder: Path) -> None:
    checked = checked_pair(pair, kind)
    (folder / "t.nc").write_bytes(b"".join(pieces(checked, kind)))
    with library.Dataset(folder / "t.nc") as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        assert (
            file.data_model
            == {"nc3": "NETCDF3_CLASSIC", "nc6": "NETCDF3_64BIT_OFFSET", "nc5": "NETCDF3_64BIT_DATA"}[kind]
        )
        wanted = [(item.name, item.size, item.unlimited) for item in checked.dataset.dimensions]
        assert [(name, len(item), item.isunlimited()) for name, item in file.dimensions.items()] == wanted
        assert list(file.variables) == [variable.name for variable in checked.dataset.variables]
        _same_attributes(file, checked.dataset.attributes)
        for path, variable in checked.variables.items():
            found = file.variables[variable.name]
            _same_attributes(found, variable.attributes)
            shape = checked.shapes[path]
            assert found.shape == shape
            source = checked.parts.get(path, {}).get("")
            if source is not None:
                values = source.read(tuple(slice(0, length) for length in shape))
            else:
                fill = checked.fills[path]
                assert fill is not None
                assert isinstance(fill.data, bytes)
                values = np.frombuffer(fill.data, found[...].dtype.newbyteorder("<"))
                values = np.broadcast_to(values[0], shape)
            assert _bits(found[...]) == _bits(values)


def _same_attributes(owner: Any, wanted: tuple[Attribute, ...]) -> None:
    assert owner.ncattrs() == [item.name for item in wanted]
    for item in wanted:
        if item.value.type != "char":  # texts come back without trailing NULs
            assert _bits(owner.getncattr(item.name)) == _little(item.value)


def _little(value: Constant) -> bytes:
    assert isinstance(value.data, bytes)
    return value.data


def _bits(values: Any) -> bytes:
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nc3", "nc6"])
@STEADY
@given(pair=datasets_with_data(classic=True))
def test_the_library_reads_it_back(kind: Kind, peer: Peer, tmp_path: Path, pair: Pair) -> None:
    reads_back(pair, kind, peer("netCDF4"), tmp_path)


@pytest.mark.slow
@STEADY
@given(pair=datasets_with_data(wide=True))
def test_the_library_reads_cdf5_back(peer: Peer, tmp_path: Path, pair: Pair) -> None:
    reads_back(pair, "nc5", peer("netCDF4"), tmp_path)


def test_the_page_names_every_difference() -> None:
    page = (ROOT / "docs" / "reference" / "ncgen-differences.md").read_text("utf-8")
    page = page.partition("## Classic files")[2].partition("\n## ")[0]
    files = DIFFERENCES.keys() | {file for file, _ in REFUSED}
    assert [file for file in sorted(files) if f"`{file}`" not in page] == []


@pytest.mark.parametrize("kind", CLASSIC_KINDS)
def test_the_library_reads_empty_attributes(kind: Kind, peer: Peer, tmp_path: Path) -> None:
    empty = tuple(
        Attribute(name=f"a_{name}", value=Constant(type=name, count=0, data=b"")) for name in ("int", "double")
    )
    behind = Attribute(name="behind", value=Constant.numbers("short", [7]))
    variable = Variable(name="v", type="int", attributes=(*empty, behind))
    reads_back(
        (Dataset(name="t", variables=(variable,), attributes=(*empty, behind)), {}), kind, peer("netCDF4"), tmp_path
    )
