"""Known faults of readers: each shows them itself, reads the repaired store, and `check --for` tells the two apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.plugins.readers import peer as peers
from nczarr.plugins.readers.rule import number
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.open import open_source
from tests.conftest import missing_peer, run_command
from tests.support.peers import faults_netcdf_c, faults_xarray, faults_zarr_python
from tests.support.peers.faulty import Fault, described, edit, write
from tests.support.peers.installed import installed
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

TABLES = {"netcdf-c": faults_netcdf_c, "zarr-python": faults_zarr_python, "xarray": faults_xarray}
EVERYWHERE = {"xarray": {"unconsolidated-store", "masking-fill"}, "netcdf-c": {"read-only-layout"}}
"""What is to be said of the bases of a reader's stores, and so of all."""


def cases() -> Iterator[Any]:
    """The first case of each code is quick; the others, and what xarray does through zarr-python, are slow."""
    known = set()
    for reader, table in TABLES.items():
        for fault in table.FAULTS:
            quick = fault.saw != "?" and (reader, fault.code) not in known
            known.add((reader, fault.code))
            yield pytest.param(reader, fault, marks=() if quick else pytest.mark.slow, id=f"{reader} {fault.name}")


QUIET = [(reader, fault) for reader, table in TABLES.items() for fault in table.QUIET]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    import importlib.util

    for name in ("netCDF4", "zarr", "xarray"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    made = Worker("read_faults.py", 16 << 30)
    yield made
    made.close()


def found(reader: str, folder: Path) -> set[str]:
    peer = peers.find_peer(installed(reader))
    assert peer is not None
    report = Report()
    peer.check(DirectoryStore(str(folder)), report)
    return {each.code for each in report.list_sorted()}


def seen(worker: Worker, reader: str, folder: Path) -> dict[str, Any]:
    return worker.ask(f"{reader} {folder}")


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("reader", "fault"), list(cases()))
def test_fault(reader: str, fault: Fault, tmp_path: Path, worker: Worker) -> None:
    faulty = write(edit(fault.base, fault.changes), tmp_path / "faulty.zarr")
    right = write(edit(fault.base, fault.repaired), tmp_path / "right.zarr")
    everywhere = (EVERYWHERE.get(reader, set()) | {"text-as-bytes"}) - {fault.code}  # of `|S4`, whatever its fill value
    assert found(reader, right) - everywhere == set()
    release = number(installed(reader).partition("@")[2])
    if fault.until and release >= number(fault.until):
        assert found(reader, faulty) - everywhere == set()
        assert "error" not in seen(worker, reader, faulty)
        return
    assert found(reader, faulty) - everywhere == {fault.code}
    wanted = seen(worker, reader, right)
    assert "error" not in wanted
    differences = described(seen(worker, reader, faulty), wanted)
    saw = faults_netcdf_c.saw_in_4_9(fault) if (reader, release) == ("netcdf-c", number("4.9")) else fault.saw
    assert (differences or [""])[0].startswith(saw) or (saw == "?" and differences), differences


@pytest.mark.long
@pytest.mark.sampled(10)
@pytest.mark.parametrize(("reader", "fault"), QUIET, ids=[f"{reader} {fault.name}" for reader, fault in QUIET])
def test_quiet(reader: str, fault: Fault, tmp_path: Path, worker: Worker) -> None:
    folder = write(edit(fault.base, fault.changes), tmp_path / "right.zarr")
    assert found(reader, folder) <= EVERYWHERE.get(reader, set())
    assert "error" not in seen(worker, reader, folder)


def compiled(part: str, path: Path) -> Path:
    """A netCDF-4 file of one variable and a part of CDL."""
    source = path.with_suffix(".cdl")
    dimensions, _, rest = part.partition("dimensions:")[2].partition(";") if "dimensions:" in part else ("", "", part)
    types, _, rest = rest.partition("variables:") if rest.startswith("types:") else ("", "", rest)
    variables, group = ("", rest) if rest.startswith("group:") else (rest.removeprefix("variables:"), "")
    extra = f"{dimensions} ;" if dimensions else ""
    text = f"netcdf t {{ {types} dimensions: x = 3 ; {extra} variables: int v(x) ; {variables} data: v = 1, 2, 3 ;"
    text += f" {group} }}"
    source.write_text(text)
    ran = run_command("compile", str(source), "-o", str(path), "--kind", "nc4")
    assert ran.status == 0, ran.err
    return path


def found_in(path: Path) -> set[str]:
    peer = peers.find_peer("xarray")
    assert peer is not None
    report = Report()
    peer.check(open_source(str(path)), report)
    return {each.code for each in report.list_sorted()}


@pytest.mark.long
@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", faults_xarray.FILES, ids=[fault.name for fault in faults_xarray.FILES])
def test_file(fault: faults_xarray.FileFault, tmp_path: Path, worker: Worker) -> None:
    faulty, right = compiled(fault.text, tmp_path / "faulty.nc"), compiled(fault.repaired, tmp_path / "right.nc")
    assert found_in(right) == set()
    assert found_in(faulty) == {fault.code}
    wanted = seen(worker, "xarray", right)
    assert "error" not in wanted
    differences = described(seen(worker, "xarray", faulty), wanted)
    assert (differences or [""])[0].startswith(fault.saw), differences


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", faults_xarray.QUIET_FILES)
def test_quiet_file(part: str, tmp_path: Path, worker: Worker) -> None:
    path = compiled(part, tmp_path / "right.nc")
    assert found_in(path) == set()
    answer = seen(worker, "xarray", path)
    assert "error" not in answer
    assert ("/w" in answer) == (" w(x)" in part)


@pytest.mark.long
@pytest.mark.parametrize("reader", TABLES)
def test_every_rule_has_a_case(reader: str) -> None:
    peer = peers.find_peer(reader)
    assert peer is not None
    table = TABLES[reader]
    files = {fault.code for fault in getattr(table, "FILES", ())}
    shown = {fault.code for fault in table.FAULTS} | {code for code, _ in table.ONLY_READ} | files
    assert shown == {rule.code for rule in (*peer.stores, *(peer.files or ()))}


def refuses(act: Callable[[], object]) -> bool:
    try:
        act()
    except (KeyError, ValueError):
        return True
    return False


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "values", [[1, 2, 4], [4, 2, 1], [1, 4, 2], [2, 1, 4], [1, 2, 2], [2, 2, 1], [2, 2, 2], [1, 4, 1], [1], []]
)
@pytest.mark.parametrize("form", ["netcdf", "zarr2", "zarr3"])
def test_xarray_needs_coordinates_in_order(
    values: list[int], form: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    xarray = peer("xarray")
    builder = nczarr.DatasetBuilder("t")
    builder.variable("x", "int", [builder.dimension("x", len(values))])
    path = tmp_path / ("a.nc" if form == "netcdf" else "a.zarr")
    nczarr.write(builder.finish(data={"/x": values}), path, format=form)
    with xarray.open_dataset(path, engine="nczarr") as opened:
        opened = opened.load()
    refused = len(values) > 0 and (
        refuses(lambda: opened.sel(x=slice(0, 3)))
        or refuses(lambda: xarray.combine_by_coords([opened]))
        or refuses(lambda: opened.reindex(x=[1]))
    )
    faults = found_in(path) if form == "netcdf" else found("xarray", path)
    assert ("unsorted-coordinate" in faults) == refused
    assert not faults - {"unsorted-coordinate"}
