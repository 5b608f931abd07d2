"""The remedy of each rule of `check --for netcdf-c`, applied as its text says: the library reads the store then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.operations import readers as peers
from nczarr.stores.directory import DirectoryStore
from tests.conftest import missing_peer, run_command
from tests.support.peers import faults_netcdf_c
from tests.support.peers.faulty import INTS, NCZARR, Fault, edit, number, write
from tests.support.peers.remedies import REMEDIES, UNTRIED
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

MOST = 6
"""Times that the check is asked again, if a remedy shows the next fault."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    import importlib.util

    if importlib.util.find_spec("netCDF4") is None:
        missing_peer("netCDF4")
    made = Worker("read_faults.py", 16 << 30)  # each store is read by a process of its own, which may crash
    yield made
    made.close()


def found(folder: Path) -> list[Diagnostic]:
    peer = peers.find_peer("netcdf-c")
    assert peer is not None
    report = Report()
    peers.check(peer, DirectoryStore(str(folder)), report)
    return [one for one in report.list_sorted() if one.code != "read-only-layout"]


def documents(folder: Path) -> dict[str, Any]:
    """The keys of a store on disk."""
    made: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            made[path.relative_to(folder).as_posix()] = json.loads(data) if path.name.startswith(".z") else data
    return made


def mended(store: dict[str, Any], place: Path) -> Path:
    """The store after all remedies, one after another, as a user applies them."""
    for turn in range(MOST):
        folder = write(store, place / str(turn))
        findings = found(folder)
        if not findings:
            return folder
        first = findings[0]
        assert first.helps, f"`{first.code}` has no remedy: {first.message}"
        remedy = REMEDIES[first.code]
        if isinstance(remedy, tuple):
            target = place / f"converted-{turn}.zarr"
            names = {"SRC": str(folder), "DST": str(target)}
            ran = run_command(*(names.get(word, word) for word in remedy))
            assert ran.status == 0, ran.err
            assert first.code not in {one.code for one in found(target)}
            store = documents(target)
            continue
        store = edit(store, {})
        remedy(store, first.primary.key or "", first.primary.pointer or "")
    raise AssertionError(f"remedies do not end: {[one.message for one in found(write(store, place / 'last'))]}")


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", faults_netcdf_c.FAULTS, ids=[fault.name for fault in faults_netcdf_c.FAULTS])
def test_the_library_reads_what_a_remedy_made(fault: Fault, tmp_path: Path, worker: Worker) -> None:
    faulty = edit(fault.base, fault.changes)
    assert fault.code in {one.code for one in found(write(faulty, tmp_path / "faulty"))}
    seen = worker.ask(f"netcdf-c {mended(faulty, tmp_path)}")
    assert "error" not in seen, seen
    assert any(path != "/" for path in seen) or ".zarray" not in str(faulty), "it shows variables"


HIDDEN: dict[str, dict[str, Any]] = {
    "a coordinate": {"y": ["/a/y"]},
    "a dimension of no group": {"u": ["/a/k"]},
    "a dimension of another group": {"u": ["/b/z"]},
    "a dimension above": {"u": ["/x"]},
    "no description": {"u": None},
    "no attributes": {"u": "none"},
}


@pytest.mark.parametrize("what", HIDDEN)
def test_one_remedy_of_a_hidden_array_is_enough(what: str, tmp_path: Path, worker: Worker) -> None:
    """It says what the library fails on if the array is listed, where it would crash."""
    [(name, references)] = HIDDEN[what].items()
    added: dict[str, Any] = {f"a/{name}/.zarray": number(), f"a/{name}/0": INTS}
    if references != "none":
        described = {} if references is None else {"_nczarr_array": {"dimension_references": references}}
        added[f"a/{name}/.zattrs"] = {"_ARRAY_DIMENSIONS": [name], **described}
    store = edit(NCZARR, added)
    [one] = found(write(store, tmp_path / "hidden"))
    assert one.code == "hidden-member"
    listed = edit(store, {"a/.zattrs#/_nczarr_group/arrays": ["p", name]})
    seen = worker.ask(f"netcdf-c {write(listed, tmp_path / 'listed')}")
    assert ("error" in seen) == ("but first mend" in one.helps[0]), (seen, one.helps)
    assert f"/a/{name}" in worker.ask(f"netcdf-c {mended(store, tmp_path)}")


def test_every_rule_has_a_remedy() -> None:
    peer = peers.find_peer("netcdf-c")
    assert peer is not None
    assert REMEDIES.keys() | UNTRIED.keys() == {rule.code for rule in peer.stores}
