"""What pure stores lose is exactly what was announced: generated datasets, the corpus, and real files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nczarr
from nczarr import registry
from nczarr.arrays.sources.source import Parts
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plan.planner import plan_target
from nczarr.plugins.testing.strategies import datasets_with_data
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.memory import MemoryStore
from tests.conftest import shared_folder
from tests.support.peers import corpus, exactness
from tests.support.peers.announced import differences
from tests.support.peers.odd_files import FILES, UNLIKE
from tests.support.proof import share
from tests.support.targets import content

SHARED, REAL = shared_folder(), exactness.real_folder()
TEXTS = list(corpus.files(SHARED)) if SHARED is not None else []
REAL_FILES = list(exactness.real(REAL)) if REAL is not None else []
FORMS = ("zarr2", "zarr3")
OPTIONS = Options.of(allow_loss=frozenset({"all"}))

relaxed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def unlike(checked: Checked, form: str) -> dict[str, Counter[tuple[str, str]]]:
    """Differences that no loss told, and losses that are no difference."""
    row = registry.find_format(form)
    assert row is not None
    report = Report()
    planned, store = plan_target(checked, row, OPTIONS, report), content(checked, row, report, OPTIONS)
    if planned is None or store is None:  # names that no key can have
        assert {each.code for each in report.list_sorted()} >= {"unsafe-name"}
        return {}
    seen = phases.read(MemoryStore(store), Report(), OPTIONS)
    assert seen is not None
    told = Counter((loss.kind, loss.path) for loss in planned.losses)
    told += Counter(
        ("masking-fill", each.message.split("`")[1]) for each in report.list_sorted() if each.code == "masking-fill"
    )
    found = differences(checked, seen)
    sides = {"nobody told": found - told, "told for nothing": told - found}
    return {name: side for name, side in sides.items() if side}


@pytest.mark.slow
@given(datasets_with_data(), st.sampled_from(FORMS))
@settings(relaxed, max_examples=share(1000))
def test_generated_datasets(generated: tuple[Dataset, dict[str, Parts]], form: str) -> None:
    dataset, parts = generated
    checked = check(Unchecked(dataset, parts=parts), Report())
    assert checked is not None
    assert unlike(checked, form) == {}


@pytest.mark.sampled(12)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_texts(path: Path) -> None:
    checked = corpus.checked(path)
    if checked is None:
        pytest.skip("not a dataset: the tests of errors have it")
    assert [unlike(checked, form) for form in FORMS] == [{}, {}]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [name for name in FILES if name not in UNLIKE])
def test_files_of_odd_shape(name: str, tmp_path: Path, peer: Callable[[str], object]) -> None:
    peer("h5py")
    FILES[name](tmp_path / "odd.nc")
    checked, said = exactness.read(tmp_path / "odd.nc")
    assert checked is not None, said
    assert [unlike(checked, form) for form in FORMS] == [{}, {}]


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
@pytest.mark.parametrize("subject", REAL_FILES, ids=lambda subject: subject.name)
def test_real_files(subject: exactness.Subject) -> None:
    checked, said = exactness.read(subject.path)
    assert checked is not None, said
    assert [unlike(checked, form) for form in FORMS] == [{}, {}]


RAW_FIELDS = r"""netcdf s { types: compound a { char x(1) ; } ; compound k { int x(1) ; } ; group: g { variables:
  a b ; a b:_FillValue = {"\000"} ; a c ; a c:_FillValue = {"z"} ; k d ; k d:_FillValue = {{0}} ;
  k e ; k e:_FillValue = {{-2147483647}} ; k f ; k f:_FillValue = {{5}} ; } }"""


@pytest.mark.parametrize("form", FORMS)
def test_fill_values_of_records_with_arrays(form: str) -> None:
    assert unlike(nczarr.from_cdl(RAW_FIELDS).checked, form) == {}
