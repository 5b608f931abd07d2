"""What we write of every corpus file, as libnetcdf, zarr-python, xarray and tensorstore see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import shared_folder
from tests.support.peers import corpus
from tests.support.peers.survey import STORES, survey
from tests.support.peers.worker import Worker

pytestmark = pytest.mark.peer

SHARED = shared_folder()
FILES = list(corpus.files(SHARED)) if SHARED is not None else []


@pytest.mark.sampled(20)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_peers_see_the_same(path: Path, tmp_path: Path, readers: dict[str, Worker]) -> None:
    """`nczarr`, `zarr2` and one of the two of Zarr v3; every third file as archives. A slow test has all of all."""
    dataset = corpus.checked(path)
    if dataset is None:
        pytest.skip("not a dataset: the tests of errors have it")
    number = FILES.index(path)
    forms = ("nczarr", "zarr2", "zarr3" if number % 2 else "nczarr3")
    stores = [(form, ".zip" if number % 3 == 1 and form != "nczarr" else ".zarr") for form in forms]
    outcome = survey(dataset, tmp_path, readers, path, stores)
    assert corpus.unexcused(path, outcome.differences) == []


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_folders_and_archives(path: Path, tmp_path: Path, readers: dict[str, Worker]) -> None:
    dataset = corpus.checked(path)
    if dataset is None:
        pytest.skip("not a dataset: the tests of errors have it")
    assert corpus.unexcused(path, survey(dataset, tmp_path, readers, path, STORES).differences) == []


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_shards(path: Path, tmp_path: Path, readers: dict[str, Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks and shards of our own choice are tiny, so that every file has some."""
    dataset = corpus.checked(path)
    if dataset is None:
        pytest.skip("not a dataset: the tests of errors have it")
    monkeypatch.setattr("nczarr.plan.chunk_lengths.CHUNK_BYTES", 24)
    monkeypatch.setattr("nczarr.plan.chunk_lengths.SHARD_BYTES", 400)
    outcome = survey(dataset, tmp_path, readers, stores=[("zarr3", ".zarr"), ("nczarr3", ".zip")], shards="auto")
    assert corpus.unexcused(path, outcome.differences) == []


ATTRIBUTES = r"""netcdf t {
:a = "007" ; :b = "1.50" ; :c = "true" ; :d = "{a:1}" ; :e = "  a " ; :f = "NaN" ; :g = "\"quoted\"" ; :h = "[1,2]" ;
:i = "-5" ; :j = "null" ; :k = "{\"a\":}" ; :l = "a,b" ; :m = "\\" ; :n = "" ; :o = "\u00e9" ; :p = "line\nend\t" ;
string :q = "true", "007" ; string :r = "{a:1}" ; :s = 1.1f, 16777216.f, 1e-45f ; :t = 123456789.123, 1e300, -0. ;
:v = 18446744073709551615ULL ; :w = -9223372036854775807LL ; :x = 1b, -128b ;
:y = 255ub ; :z = 0.1 ;
}"""


@pytest.mark.long
def test_attributes_reach_libnetcdf_unchanged(tmp_path: Path, readers: dict[str, Worker]) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(ATTRIBUTES)
    dataset = corpus.checked(source)
    assert dataset is not None
    assert len(dataset.dataset.attributes) == 25
    outcome = survey(dataset, tmp_path, readers)
    assert outcome.differences == []


TRAPS = """netcdf t {
dimensions:
  x = 2 ;
variables:
  string v(x) ; v:_nczarr_maxstrlen = 20 ;
  string w(x) ; w:_nczarr_maxstrlen = 3 ;
  string u(x) ;
  int big(x) ; big:_Endianness = "big" ;
  char c(x) ; c:_FillValue = "z" ;
data:
  v = "abcd", "efghijk" ;
  w = "abcd", "x" ;
  u = NIL, "" ;
  c = "a" ;
group: a {
  group: b {
    dimensions:
      d = 2 ;
  }
}
group: k {
  variables:
    int v(/a/b/d) ;
  data:
    v = 1, 2 ;
}
}
"""


@pytest.mark.slow
def test_traps_of_libnetcdf_are_avoided(tmp_path: Path, readers: dict[str, Worker]) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(TRAPS)
    dataset = corpus.checked(source)
    assert dataset is not None
    assert survey(dataset, tmp_path, readers).differences == []
