"""The remedy of each rule of `check --for`, applied as its text says: the reader reads the store then."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nczarr.diagnostics.report import Diagnostic, Report
from nczarr.plugins.readers import peer as peers
from nczarr.plugins.readers.rule import number as number_of
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.open import open_source
from tests.conftest import missing_peer, run_command
from tests.support.peers import array_readers, faults_netcdf_c, faults_xarray, faults_zarr_python
from tests.support.peers.faults_netcdf_c import TWO
from tests.support.peers.faults_zarr_python import ZARR_3, V
from tests.support.peers.faulty import GONE, INTS, NCZARR, PURE, Fault, edit, number, write
from tests.support.peers.installed import installed
from tests.support.peers.remedies import REMEDIES, UNTRIED
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

MOST = 6
"""Times that the check is asked again, if a remedy shows the next fault."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    for name in ("netCDF4", "zarr", "xarray"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    made = Worker("read_faults.py", 16 << 30)  # each store is read by a process of its own, which may crash
    yield made
    made.close()


LAST = {"unconsolidated-store": 1, "read-only-layout": 2, "hidden-group": 2}
"""Order of findings that every store of a base has, behind all others; those of 2 are no obstacle."""


def found(reader: str, folder: Path) -> list[Diagnostic]:
    peer = peers.find_peer(installed(reader))
    assert peer is not None
    report = Report()
    peer.check(DirectoryStore(str(folder)), report)
    findings = [one for one in report.list_sorted() if LAST.get(one.code, 0) < 2]
    return sorted(findings, key=lambda one: LAST.get(one.code, 0))


def documents(folder: Path) -> dict[str, Any]:
    """The keys of a store on disk."""
    made: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            data, is_document = path.read_bytes(), path.name.startswith(".z") or path.name == "zarr.json"
            made[path.relative_to(folder).as_posix()] = json.loads(data) if is_document else data
    return made


def mended(reader: str, store: dict[str, Any], place: Path) -> Path:
    """The store after all remedies, one after another, as a user applies them."""
    for turn in range(MOST):
        folder = write(store, place / str(turn))
        findings = found(reader, folder)
        if not findings:
            return folder
        first = findings[0]
        assert first.helps, f"`{first.code}` has no remedy: {first.message}"
        remedy = REMEDIES[reader][first.code]
        if isinstance(remedy, tuple):
            target = place / f"converted-{turn}.zarr"
            names = {"SRC": str(folder), "DST": str(target)}
            ran = run_command(*(names.get(word, word) for word in remedy))
            assert ran.status == 0, ran.err
            assert first.code not in {one.code for one in found(reader, target)}
            store = documents(target)
            continue
        store = edit(store, {})
        remedy(store, first.primary.key or "", first.primary.pointer or "")
    last = found(reader, write(store, place / "last"))
    raise AssertionError(f"remedies do not end: {[one.message for one in last]}")


TABLES = {"netcdf-c": faults_netcdf_c, "zarr-python": faults_zarr_python, "xarray": faults_xarray}


def cases() -> Iterator[Any]:
    """The first case of each code is quick; what xarray does through zarr-python is slow."""
    known = set()
    for reader, table in TABLES.items():
        for fault in table.FAULTS:
            if (reader, fault.code) not in UNTRIED:
                quick = fault.saw != "?" and (reader, fault.code) not in known
                known.add((reader, fault.code))
                marks = () if quick else pytest.mark.slow
                yield pytest.param(reader, fault, marks=marks, id=f"{reader} {fault.name}")


@pytest.mark.long
@pytest.mark.parametrize(("reader", "fault"), list(cases()))
def test_the_reader_reads_what_a_remedy_made(reader: str, fault: Fault, tmp_path: Path, worker: Worker) -> None:
    faulty = edit(fault.base, fault.changes)
    release = number_of(installed(reader).partition("@")[2])
    if fault.until and release >= number_of(fault.until):
        return  # this release reads the store as it is
    assert fault.code in {one.code for one in found(reader, write(faulty, tmp_path / "faulty"))}
    seen = worker.ask(f"{reader} {mended(reader, faulty, tmp_path)}")
    assert "error" not in seen, seen
    has_arrays = any("array" in key or "shape" in str(document) for key, document in faulty.items())
    assert any(path not in ("/", "warnings") for path in seen) or not has_arrays, "it shows variables"


def test_groups_are_opened_as_the_remedy_says(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    [fault] = [fault for fault in faults_xarray.FAULTS if fault.code == "hidden-group"]
    folder = write(edit(fault.base, fault.changes), tmp_path / "groups.zarr")
    with xarray.open_dataset(folder, engine="zarr", group="g", consolidated=False) as group:
        assert group["u"].values.tolist() == [1, 2, 3]
    assert "u" in xarray.open_datatree(folder, engine="zarr", consolidated=False)["g"]


@pytest.mark.parametrize("fault", [fault for fault in faults_xarray.FILES if fault.code == "skipped-type"])
def test_skipped_types_are_read_from_the_store(fault: Any, tmp_path: Path, worker: Worker) -> None:
    text = fault.text.replace("variables:", "dimensions: x = 3 ; variables: int v(x) ;")
    source, target = tmp_path / "a.cdl", tmp_path / "a.zarr"
    source.write_text(f"netcdf t {{ {text} }}")
    file = tmp_path / "a.nc"
    assert run_command("compile", str(source), "-o", str(file), "--kind", "nc4").status == 0
    assert "/w" not in worker.ask(f"xarray {file}")
    accepted = ("--allow-loss", "lost-nil") if "string" in text else ()  # cells that were never written
    ran = run_command("convert", str(file), str(target), "--to", "zarr3", "--allow-loss", "lost-type", *accepted)
    assert ran.status == 0, ran.err
    seen = worker.ask(f"xarray {target}")
    assert "error" not in seen, seen


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
    [one] = found("netcdf-c", write(store, tmp_path / "hidden"))
    assert one.code == "hidden-member"
    listed = edit(store, {"a/.zattrs#/_nczarr_group/arrays": ["p", name]})
    seen = worker.ask(f"netcdf-c {write(listed, tmp_path / 'listed')}")
    assert ("error" in seen) == ("but first mend" in one.helps[0]), (seen, one.helps)
    assert f"/a/{name}" in worker.ask(f"netcdf-c {mended('netcdf-c', store, tmp_path)}")


# ---- libraries of arrays ---------------------------------------------------------------------------------------------

TEXT = [{"name": "vlen-utf8"}]
SQUARE = {
    V + "shape": [3, 3],
    V + "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 3]}},
    "v/c/0": GONE,
    "v/c/0/0": INTS * 3,
}
OF_ARRAYS = [
    *faults_zarr_python.FAULTS,
    Fault("doubled-dimension", {**SQUARE, V + "dimension_names": ["x", "x"]}, "", base=ZARR_3),
    Fault("bad-codecs", {V + "codecs": [{"name": "bytes"}]}, "", base=ZARR_3),
    Fault(
        "unknown-dtype",
        {V + "data_type": "string", V + "fill_value": "", V + "codecs": TEXT, "v/c/0": GONE},
        "",
        base=ZARR_3,
    ),
    Fault("broken-document", {V + "attributes": {"a": float("nan")}}, "", base=ZARR_3),
    Fault("broken-document", {"v/.zattrs#/a": float("nan")}, "", base=PURE),
    Fault("missing-member", {"v/.zarray#/filters": GONE}, "", base=PURE),
    Fault("bad-fill", {"v/.zarray#/fill_value": "", "v/.zarray#/dtype": "|S4"}, "", base=PURE),
    Fault(
        "unread-codec",
        {**TWO, "v/.zarray#/order": "F", "v/0.0": INTS[:4] * 2 + INTS[4:8] * 2 + INTS[8:] * 2},
        "",
        base=PURE,
    ),
    Fault("bad-fill", {"v/.zarray#/fill_value": None, "v/.zarray#/dtype": "<c8", "v/0": INTS * 2}, "", base=PURE),
]
"""Stores that some library of arrays does not read."""


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["tensorstore", "zarrs"])
def test_libraries_read_the_arrays_that_remedies_made(reader: str, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    if importlib.util.find_spec(reader) is None:
        missing_peer(reader)
    peer = peers.find_peer(reader)
    assert peer is not None
    known, rows = set(), []
    for turn, fault in enumerate(OF_ARRAYS):
        place = tmp_path / str(turn)
        faulty = edit(fault.base, fault.changes)
        codes = {one.code for one in found(reader, write(faulty, place / "faulty"))}
        if not codes:
            continue
        known |= codes
        folder = mended(reader, faulty, place)
        for path, array in zarr.open_group(folder, mode="r").arrays():
            truth = place / f"{path}.npy"
            np.save(truth, array[...])
            rows.append(
                {"store": str(folder), "array": path, "version": array.metadata.zarr_format, "truth": str(truth)}
            )
    listing = tmp_path / "rows.json"
    listing.write_text(json.dumps(rows))
    script = Path(array_readers.__file__)
    ran = subprocess.run(
        [sys.executable, str(script), reader, str(listing)], capture_output=True, text=True, check=True
    )
    answers = json.loads(ran.stdout)
    wrong = [(row["store"], answer) for row, answer in zip(rows, answers, strict=True) if answer != "equal"]
    assert not wrong
    assert known == {rule.code for rule in peer.stores}


@pytest.mark.parametrize("reader", TABLES)
def test_every_rule_has_a_remedy(reader: str) -> None:
    peer = peers.find_peer(reader)
    assert peer is not None
    untried = {code for name, code in UNTRIED if name == reader}
    assert REMEDIES[reader].keys() | untried == {rule.code for rule in peer.stores}


SPATIAL = {"name": "spatial:", "uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"}
DECLARED = "v/zarr.json#/attributes"


@pytest.mark.parametrize("declared", [{}, [{"x": 1}], [SPATIAL]])
def test_declarations_of_geo_are_removed(declared: Any, tmp_path: Path) -> None:
    """The remedy: nothing is said of a store without the entry."""
    faulty = write(edit(ZARR_3, {DECLARED: {"zarr_conventions": declared}}), tmp_path / "faulty")
    findings = found("geo", faulty)
    assert findings
    assert all("or remove the" in finding.helps[0] for finding in findings)
    assert found("geo", write(edit(ZARR_3, {DECLARED: {}}), tmp_path / "right")) == []


def test_a_declaration_of_nz_is_converted(tmp_path: Path) -> None:
    source, target = write(edit(ZARR_3, {}), tmp_path / "a.zarr"), tmp_path / "b.zarr"
    findings = found("nz", source)
    assert findings
    assert all("--to zarr3 --declare nz" in finding.helps[0] for finding in findings)
    assert run_command("convert", str(source), str(target), "--to", "zarr3", "--declare", "nz").status == 0
    assert found("nz", target) == []


@pytest.mark.parametrize("layout", ["cloud", "cmip7"])
def test_layouts_are_written_as_the_remedy_says(layout: str, tmp_path: Path) -> None:
    netcdf, source, target = pytest.importorskip("netCDF4"), tmp_path / "a.nc", tmp_path / "b.nc"
    with netcdf.Dataset(source, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 3000)
        file.createVariable("t", "f8", ("t",), chunksizes=(1,))[:] = np.arange(600)
        file.createVariable("v", "f4", ("t", "x"), chunksizes=(1, 500))[:] = np.zeros((600, 3000), "f4")
    peer = peers.find_peer(layout)
    assert peer is not None

    def codes(path: Path) -> set[str]:
        report = Report()
        peer.check(open_source(str(path)), report)
        return {one.code for one in report.list_sorted() if any(f"--layout {layout}" in help_ for help_ in one.helps)}

    assert codes(source)
    assert run_command("convert", str(source), str(target), "--layout", layout).status == 0
    assert codes(target) == set()


@pytest.mark.long
def test_every_rule_says_what_to_do() -> None:
    silent = {
        (peer.name, rule.name)
        for peer in peers.peers()
        for rule in (*peer.stores, *(peer.files or ()))
        if not rule.instead
    }
    assert silent == {("netcdf-c", "hidden-member")}, "its remedy depends on the member"
