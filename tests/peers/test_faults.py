"""Known faults of readers: each shows them itself, reads the repaired store, and `check --for` tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr import peers
from nczarr.diagnostics import Report
from nczarr.stores.directory import DirectoryStore
from tests.conftest import missing_peer

from . import faults_netcdf_c
from .faulty import Fault, described, edit, write
from .worker import Worker

pytestmark = pytest.mark.peer

TABLES = {"netcdf-c": faults_netcdf_c}
CASES = [(reader, fault) for reader, table in TABLES.items() for fault in table.FAULTS]
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
    peer = peers.named(reader)
    assert peer is not None
    report = Report()
    peers.check(peer, DirectoryStore(str(folder)), report)
    return {each.code for each in report.sorted()}


def seen(worker: Worker, reader: str, folder: Path) -> dict[str, Any]:
    return worker.ask(f"{reader} {folder}")


@pytest.mark.parametrize(("reader", "fault"), CASES, ids=[f"{reader} {fault.name}" for reader, fault in CASES])
def test_fault(reader: str, fault: Fault, tmp_path: Path, worker: Worker) -> None:
    faulty = write(edit(fault.base, fault.changes), tmp_path / "faulty.zarr")
    right = write(edit(fault.base, fault.repaired), tmp_path / "right.zarr")
    assert found(reader, right) == set()
    assert found(reader, faulty) == {fault.code}
    wanted = seen(worker, reader, right)
    assert "error" not in wanted
    differences = described(seen(worker, reader, faulty), wanted)
    assert (differences or [""])[0].startswith(fault.saw), differences


@pytest.mark.parametrize(("reader", "fault"), QUIET, ids=[f"{reader} {fault.name}" for reader, fault in QUIET])
def test_quiet(reader: str, fault: Fault, tmp_path: Path, worker: Worker) -> None:
    folder = write(edit(fault.base, fault.changes), tmp_path / "right.zarr")
    assert found(reader, folder) <= {"read-only-layout"}
    assert "error" not in seen(worker, reader, folder)


@pytest.mark.parametrize("reader", TABLES)
def test_every_rule_has_a_case(reader: str) -> None:
    peer = peers.named(reader)
    assert peer is not None
    table = TABLES[reader]
    shown = {fault.code for fault in table.FAULTS} | {code for code, _ in table.ONLY_READ}
    assert shown == {rule.code for rule in (*peer.stores, *(peer.files or ()))}
