"""`--verify` reads a target with the library of its format as well, in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nczarr
from nczarr import registry
from nczarr.diagnostics.report import Report
from nczarr.options import UNREAD, Options, Writing
from nczarr.plan.planner import plan_target
from nczarr.plan.plans import Plan
from nczarr.plugins.second_reader import verification
from nczarr.plugins.second_reader.verification import verify_elsewhere
from nczarr.semantics.checked import Checked
from tests.conftest import ROOT, run_command

pytestmark = pytest.mark.peer

SHARE = verification.share_process
"""The function itself, in whose place all tests share one process."""

LIBRARY = {
    "netcdf3": "libnetcdf",
    "netcdf4": "libnetcdf",
    "nczarr": "zarr",
    "nczarr3": "zarr",
    "zarr2": "zarr",
    "zarr3": "zarr",
}
PACKAGE = {"libnetcdf": "netCDF4", "zarr": "zarr"}
TYPES = b"""netcdf types {
types: byte enum e { A = 0, B = 7 }; opaque(3) o; compound c { short s; double d(2); }; int(*) l;
dimensions: x = 3; t = UNLIMITED;
variables:
  double number(t, x); char text(x); string word(x); e kind(x); o key(x); c record(x); l list(x); int one;
data:
  number = 1, NaN, -0., 4, 5, 6; text = "abc"; word = "a", "", "\xc3\xa9"; kind = A, B, A;
  key = 0x010203, 0x000000, 0xffffff;
  record = {1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}; list = {1, 2}, {}, {3}; one = 42;
}"""


CLASSIC = """netcdf s { dimensions: t = UNLIMITED; x = 2;
variables: short v(t, x); char c(x); data: v = 1, 2, 3, 4; c = "ab"; }"""


def target_as_read(place: Path) -> Checked:
    """The target as this package reads it."""
    from nczarr.pipeline import phases

    checked = phases.read_path(str(place), Report(), Options.of(allow_loss=UNREAD), None)
    assert checked is not None
    return checked


def planned(source: Path, format_name: str) -> Plan:
    """A plan of a conversion, as `convert` makes it."""
    report, form = Report(), registry.find_format(format_name)
    assert form is not None
    from nczarr.pipeline import phases

    checked = phases.read_path(str(source), report, Options(), None)
    assert checked is not None
    made = plan_target(checked, form, Options.of(kind="nc4" if format_name == "netcdf4" else None), report)
    assert made is not None
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "types.cdl"
    path.write_bytes(TYPES)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("format_name", ["netcdf4", "nczarr", "nczarr3", "zarr2", "zarr3"])
def test_every_type_is_found_equal(
    format_name: str, source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    library = LIBRARY[format_name]
    peer(PACKAGE[library])
    target = tmp_path / ("t.nc" if library == "libnetcdf" else "t.zarr")
    done = nczarr.convert(source, target, format_name, verify=True, allow_loss=["all"])
    assert done.verified_with[0] == "nczarr"
    assert done.verified_with[1].startswith("libnetcdf 4" if library == "libnetcdf" else "zarr-python 3")
    assert [each for each in done.diagnostics if each.code == "unread-variable"] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5", "nc7"])
def test_every_kind_of_file_is_found_equal(kind: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    source = tmp_path / "s.cdl"
    source.write_text(CLASSIC)
    done = run_command("convert", str(source), str(tmp_path / "s.nc"), "--kind", kind, "--verify")
    assert done.status == 0
    assert "verified with libnetcdf 4" in done.err


@pytest.mark.slow
def test_other_values_in_a_file_are_found(source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    library, target = peer("netCDF4"), tmp_path / "t.nc"
    nczarr.convert(source, target)
    with library.Dataset(target, "a") as file:
        file["number"][1, 2] = 6.5
        file["word"][0] = "b"
    report = Report()
    assert (
        verify_elsewhere(planned(source, "netcdf4"), frozenset(), str(target), target_as_read(target), report)
        is not None
    )
    found = [(each.code, each.message.split("`")[1]) for each in report.list_sorted()]
    assert found == [("unequal-target", "/number"), ("unequal-target", "/word")]


@pytest.mark.slow
def test_other_values_in_a_store_are_found(source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    library, target = peer("zarr"), tmp_path / "t.zarr"
    nczarr.convert(source, target, "nczarr3")
    library.open_array(target / "kind", mode="r+")[1] = 0
    library.open_array(target / "list/counts", mode="r+")[...] = np.array([1, 1, 1])
    report = Report()
    assert (
        verify_elsewhere(planned(source, "nczarr3"), frozenset(), str(target), target_as_read(target), report)
        is not None
    )
    assert [each.message.split("`")[1] for each in report.list_sorted()] == ["/kind", "/list"]


@pytest.mark.slow
def test_what_the_library_cannot_read_is_a_warning(
    source: Path, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    peer("zarr")
    target = tmp_path / "t.zarr"
    nczarr.convert(source, target, "nczarr3")
    shutil.rmtree(target / "one")
    report = Report()
    verify_elsewhere(planned(source, "nczarr3"), frozenset(), str(target), target_as_read(target), report)
    assert [(each.code, str(each.severity)) for each in report.list_sorted()] == [("unread-variable", "warning")]


@pytest.mark.long
@pytest.mark.parametrize("target", ["r.json", "r.parquet"])
@pytest.mark.parametrize("inner", ["zarr2", "nczarr"])
def test_references_are_found_equal(inner: str, target: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("zarr")
    source = tmp_path / "s.nc"
    (tmp_path / "s.cdl").write_text(CLASSIC)
    nczarr.convert(tmp_path / "s.cdl", source, kind="nc4")
    done = run_command(
        "convert", str(source), str(tmp_path / target), "--to", inner, "--relative", "--inline", "0", "--verify"
    )
    assert (done.status, "verified with zarr-python 3" in done.err, "unread-variable" in done.err) == (0, True, False)


@pytest.mark.long
def test_other_values_behind_references_are_found(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    library, form, report = peer("netCDF4"), registry.find_format("reference"), Report()
    peer("zarr")
    schema, source, target = (tmp_path / name for name in ("s.cdl", "s.nc", "r.json"))
    schema.write_text(CLASSIC)
    nczarr.convert(schema, source, kind="nc3")
    nczarr.convert(source, target, writing=Writing(inline=0))
    with library.Dataset(source, "a") as file:
        file["v"][1, 1] = 5
    assert form is not None
    verify_elsewhere(
        planned(schema, "zarr2")._replace(form=form), frozenset(), str(target), target_as_read(target), report
    )
    assert [(each.code, each.message.split("`")[1]) for each in report.list_sorted()] == [("unequal-target", "/v")]


def test_without_the_library_only_our_reader_verifies(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nczarr.plugins.second_reader.verification.MODULES", {"zarr": ("no_such_package",)})
    done = nczarr.convert(source, tmp_path / "t.zarr", "nczarr3", verify=True)
    assert done.verified_with == ("nczarr",)


def test_the_targets_of_a_run_share_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]
) -> None:
    peer("netCDF4")
    sources, started = [], []
    for number in range(3):
        sources.append(tmp_path / f"s{number}.cdl")
        sources[-1].write_text(CLASSIC.replace("3, 4", f"3, {number}"))
    start = verification._start
    monkeypatch.setattr(verification, "_start", lambda: started.append(start()) or started[-1])
    monkeypatch.setattr(verification, "share_process", SHARE)
    ran = run_command("convert", *map(str, sources), str(tmp_path / "out"), "--to", "netcdf4", "--verify")
    assert (ran.status, "3 of 3" in ran.err, "verified with libnetcdf" in ran.err) == (0, True, True)
    assert len(started) == 1
    assert started[0].poll() is not None
    with SHARE():  # one that has ended is replaced
        nczarr.convert(sources[0], tmp_path / "one.nc", verify=True)
        started[-1].kill()
        started[-1].wait()
        assert len(nczarr.convert(sources[1], tmp_path / "two.nc", verify=True).verified_with) == 2
    assert len(started) == 3


def test_arrays_without_elements_are_passed_over(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    source = tmp_path / "s.cdl"
    source.write_text("netcdf s { dimensions: t = UNLIMITED; x = 2; variables: int v(t, x); int one; data: one = 1; }")
    assert nczarr.convert(source, tmp_path / "s.nc", kind="nc4", verify=True).verified_with[1].startswith("libnetcdf")


@pytest.mark.slow
@pytest.mark.parametrize("sample", sorted((ROOT / "samples").glob("*.cdl")), ids=lambda path: path.stem)
def test_samples_are_found_equal(sample: Path, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("zarr")
    done = nczarr.convert(sample, tmp_path / "t.zarr", verify=True)
    assert done.verified_with[1].startswith("zarr-python")
    assert [each for each in done.diagnostics if each.code == "unread-variable"] == []


ELEMENTS = {
    **{text: np.array([0, 1, 1], text) for text in "? i1 <i2 <i4 <i8 u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16".split()},
    **{text: np.array([0, 1, 1], text) for text in ">i2 >u4 >f2 >f8 >c8 >c16".split()},
    **{text: np.array([1, 2, 3], "<i8").astype(text) for text in "<M8[s] >M8[ns] <M8[D] <m8[10us]".split()},
    "<U3": np.array(["a", "\u00e9", "abc"]),
    "S3": np.array([b"a", b"", b"abc"]),
    "V3": np.array([b"abc", b"def", b"ghi"], "V3"),
    "odd-halves": np.array([0x7E01, 0x8000, 0x7C00], "<u2").view("<f2"),
    "scalar-half": np.array(1.5, "<f2"),
    "scalar-complex": np.array(1 + 2j, ">c16"),
    "record": np.array(
        [(1, 2, "a", b"b", True)] * 3, [("h", "<f2"), ("c", "<c8"), ("u", "<U2"), ("s", "S2"), ("b", "?")]
    ),
}
NESTED = np.array([((1, 2), 3)] * 3, [("r", [("x", "<i2"), ("y", "<f2")]), ("z", "<f8")])
"""Element that only Zarr v3 has."""


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize("target", ["zarr2", "zarr3", "nczarr", "nczarr3"])
@pytest.mark.parametrize("version", [2, 3])
def test_every_kind_of_element_of_zarr_is_read(
    version: int, target: str, tmp_path: Path, peer: Callable[[str], ModuleType]
) -> None:
    """Those that netCDF lacks are widened in the model, and kept as they are in a store of Zarr."""
    zarr = peer("zarr")
    store = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=version)
    for number, values in enumerate([*ELEMENTS.values(), *[NESTED] * (version == 3)]):
        array = store.create_array(f"v{number}", shape=values.shape, chunks=values.shape, dtype=values.dtype)
        array[...] = values
    store.create_array("text", shape=(2,), dtype=str)[:] = np.array(["a", "\u00e9"], object)
    bytes_of_any_length = zarr.core.dtype.VariableLengthBytes()
    store.create_array("bytes", shape=(2,), dtype=bytes_of_any_length)[:] = np.array([b"a", b"xy"], object)
    found = {type(array.metadata.dtype).__name__ for _, array in store.arrays() if version == 3}
    registered = {kind.__name__ for kind in zarr.core.dtype.data_type_registry.contents.values()}
    assert version == 2 or not registered - found
    done = nczarr.convert(tmp_path / "a.zarr", tmp_path / "t.zarr", target, verify=True, allow_loss=["all"])
    assert done.verified_with[1].startswith("zarr-python 3")
    assert [each.message for each in done.diagnostics if each.code == "unread-variable"] == []


def test_other_values_of_any_element_are_found(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    zarr, target = peer("zarr"), tmp_path / "t.zarr"
    for place, step in ((tmp_path / "a.zarr", 0), (target, 1)):
        store = zarr.open_group(place, mode="w", zarr_format=2)
        for name, values in ELEMENTS.items():
            array = store.create_array(name, shape=values.shape, chunks=values.shape, dtype=values.dtype)
            array[...] = np.roll(values, step) if values.ndim else values + step
    report = Report()
    plan = planned(tmp_path / "a.zarr", "zarr2")
    verify_elsewhere(plan, frozenset(), str(target), target_as_read(target), report)
    found = {each.message.split("`")[1].lstrip("/") for each in report.list_sorted() if each.code == "unequal-target"}
    assert found == ELEMENTS.keys() - {"record"}  # of three equal ones
