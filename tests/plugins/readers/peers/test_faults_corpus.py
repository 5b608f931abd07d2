"""`check --for` over all stores of the shared data, held against what readers were recorded to do; and over our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr import registry
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.readers import peer as peers
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store
from nczarr.stores.directory import DirectoryStore
from nczarr.stores.memory import MemoryStore
from tests.conftest import ROOT, missing_peer, shared_folder
from tests.support.peers.installed import installed
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

SHARED = shared_folder()
STORES = SHARED / "data" / "nczarr-stores" if SHARED is not None else None
RECORDED: list[dict[str, Any]] = json.loads((STORES / "index.json").read_text())["stores"] if STORES else []

MISREAD = {
    "py-attr-jsonlike": "bare texts are read as one letter, which the record calls ok",
    "ncgen490-nochar": "the store is read as pure Zarr: its own attribute shows, and types are guessed",
    "ncgen490-groups-scalar": "the store is read as pure Zarr: the scalar has become an array of one element",
    "zp2-plain": "texts with escapes and a list of integers and reals are changed",
    "ncgenHEAD-types": "an attribute `123` that is a text is read as one letter",
    "zp2-layout": "the array in column-major order is read in the wrong order: its values differ from zarr-python's",
}
"""Stores that libnetcdf opens, as the record says, and reads wrong; its model-*.json shows it."""


def found(reader: str, store: Store, release: str = "") -> list[Diagnostic]:
    peer = peers.find_peer(f"{reader}@{release}" if release else reader)
    assert peer is not None
    report = Report()
    peer.check(store, report)
    return report.list_sorted()


def errors(reader: str, path: Path, release: str = "") -> list[Diagnostic]:
    return [each for each in found(reader, DirectoryStore(str(path)), release) if each.severity is Severity.ERROR]


def cases() -> Iterator[Any]:
    for entry in RECORDED:
        yield pytest.param(entry, id=entry["path"].partition("/")[0])


@pytest.mark.parametrize("entry", list(cases()))
def test_netcdf_c(entry: dict[str, Any]) -> None:
    """An error exactly where libnetcdf 4.10.1 failed, hid or changed something."""
    assert STORES is not None
    recorded = entry["readers"]["libnetcdf 4.10.1 mode=nczarr,file"]
    wrong = recorded != "ok" or entry["path"].partition("/")[0] in MISREAD
    assert bool(errors("netcdf-c", STORES / entry["path"])) == wrong


@pytest.mark.parametrize("entry", list(cases()))
def test_zarr_python(entry: dict[str, Any]) -> None:
    """An error exactly where zarr-python 3.1.6 failed; values that differ from libnetcdf's are MISREAD's subject."""
    assert STORES is not None
    recorded = entry["readers"]["zarr-python 3.1.6"]
    assert bool(errors("zarr-python", STORES / entry["path"], "3.1")) == (not recorded.startswith("ok"))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    import importlib.util

    for name in ("netCDF4", "zarr", "xarray"):
        if importlib.util.find_spec(name) is None:
            missing_peer(name)
    made = Worker("read_faults.py", 16 << 30)
    yield made
    made.close()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("entry", list(cases()))
def test_xarray(entry: dict[str, Any], worker: Worker) -> None:
    """An error in the root group exactly where xarray, run now, fails to open that; consolidated, the store is one."""
    assert STORES is not None
    whole = (STORES / entry["path"] / ".zmetadata").exists()
    answer = worker.ask(f"xarray {STORES / entry['path']}")
    in_root = [
        each
        for each in errors("xarray", STORES / entry["path"], installed("xarray").partition("@")[2])
        if whole or (each.primary.key or "").count("/") < 2
    ]
    assert bool(in_root) == ("error" in answer), (in_root, answer.get("error"))


V2_IN_XARRAY = frozenset({"unconsolidated-store", "masking-fill", "hidden-group", "doubled-dimension"})
V3_IN_XARRAY = frozenset({"hidden-group", "doubled-dimension"})
NOTHING: frozenset[str] = frozenset()
TRUE_OF_OURS = {
    ("nczarr", "netcdf-c"): frozenset({"hidden-member", "lettered-char"}),
    ("zarr2", "netcdf-c"): frozenset({"unknown-dtype", "dropped-scalar", "structured-attribute", "mixed-list"}),
    ("zarr3", "netcdf-c"): frozenset({"unread-format"}),
    ("nczarr3", "netcdf-c"): frozenset({"unread-format"}),
    ("nczarr", "zarr-python"): NOTHING,
    ("zarr2", "zarr-python"): NOTHING,
    ("zarr3", "zarr-python"): NOTHING,
    ("nczarr3", "zarr-python"): NOTHING,
    ("nczarr", "xarray"): V2_IN_XARRAY | {"text-as-bytes", "scalar-dimension"},
    ("zarr2", "xarray"): V2_IN_XARRAY,
    ("zarr3", "xarray"): V3_IN_XARRAY,
    ("nczarr3", "xarray"): V3_IN_XARRAY,
}
"""Known faults of readers in stores that we write, by format and reader (docs/reference/compatibility.md)."""

SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


def written(checked: Checked, name: str) -> MemoryStore:
    form = registry.find_format(name)
    assert form is not None
    keys = phases.keys(checked, form, Report(), Options.of(allow_loss=frozenset({"all"})))
    assert keys is not None
    return MemoryStore(keys)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_our_own_stores(path: Path) -> None:
    checked = phases.read_path(str(path), Report(), Options())
    assert checked is not None
    for (form, reader), true in TRUE_OF_OURS.items():
        said = found(reader, written(checked, form))
        assert {each.code for each in said} <= true, (form, reader)


def test_hidden_members_are_those_without_a_type_of_netcdf_c() -> None:
    path = ROOT / "samples" / "05-every-type.cdl"
    checked = phases.read_path(str(path), Report(), Options())
    assert checked is not None
    said = [each.message for each in found("netcdf-c", written(checked, "nczarr")) if each.code == "hidden-member"]
    hidden = {message.split("`")[1] for message in said}
    assert hidden == {path for path, variable in checked.variables.items() if _is_hidden(checked, variable.type)}


def _is_hidden(checked: Checked, type_name: str) -> bool:
    declared = checked.types.get(type_name)
    return declared is not None and type(declared).__name__ != "EnumType"
