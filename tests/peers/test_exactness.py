"""netCDF → stores → netCDF changes nothing: real files, the corpus compiled by ncgen, and files of odd shapes.

Some of them here, the same every time; all of them in the proof. Scores beside those of others:
docs/explanation/exactness.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import shared_folder
from tests.support.peers import corpus, exactness
from tests.support.peers.exactness import ROUTES, Subject
from tests.support.peers.odd_files import FILES, UNLIKE

pytestmark = pytest.mark.peer

SHARED, REAL = shared_folder(), exactness.real_folder()
REAL_FILES = list(exactness.real(REAL)) if REAL is not None else []
TEXTS = exactness.texts(SHARED, REAL) if SHARED is not None else []
QUICK = [path for path in TEXTS if "big" not in path.name]
"""Without those of gigabytes, which go one way alone: archives of arrays and streams would hold them in full."""

REFUSED = {("long_names", "zarr3-2019"): "characters in keys; the limit is 255"}
"""Files, and the way that they cannot go, with why."""

Tool = Callable[[str], str]


def assert_exact(subject: Subject, folder: Path, shared: Path, tool: Tool, routes: tuple[tuple[str, ...], ...]) -> None:
    checked, said = exactness.read(subject.path)
    assert checked is not None, said
    data = exactness.declared(checked) <= exactness.DUMPED
    for number, route in enumerate(routes):
        inside = folder / str(number)
        inside.mkdir()
        target, said = exactness.through(subject.path, inside, route)
        assert target is not None, (route, said)
        assert exactness.judge(subject.path, target, shared / "tools", tool("ncdump"), data=data) == ("exact", [])


@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
@pytest.mark.parametrize("subject", REAL_FILES[::10], ids=lambda subject: subject.name)
def test_a_real_file_comes_back(subject: Subject, tmp_path: Path, shared: Path, tool: Tool) -> None:
    assert_exact(subject, tmp_path, shared, tool, ROUTES[2:])


@pytest.mark.sampled(3)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("cdl", QUICK[::30], ids=lambda path: path.stem)
def test_a_compiled_file_comes_back(cdl: Path, tmp_path: Path, shared: Path, tool: Tool) -> None:
    for number, subject in enumerate(exactness.compiled(cdl, tmp_path, tool("ncgen"))):
        folder = tmp_path / f"of {number}"
        folder.mkdir()
        assert_exact(subject, folder, shared, tool, (ROUTES[number], ROUTES[3], ROUTES[5]))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [name for name in FILES if name not in UNLIKE])
def test_a_file_of_odd_shape_comes_back(
    name: str, tmp_path: Path, shared: Path, tool: Tool, peer: Callable[[str], object]
) -> None:
    peer("h5py")
    path = tmp_path / f"{name}.nc"
    FILES[name](path)
    routes = tuple(route for route in ROUTES[2:] if (name, *route) not in REFUSED)
    assert_exact(Subject("odd", path), tmp_path, shared, tool, routes)


@pytest.mark.plugin("zarr_drafts")
@pytest.mark.parametrize("way", REFUSED, ids=" → ".join)
def test_a_file_that_a_store_cannot_hold_is_refused(way: tuple[str, ...], tmp_path: Path) -> None:
    name, *route = way
    FILES[name](tmp_path / "odd.nc")
    target, said = exactness.through(tmp_path / "odd.nc", tmp_path, tuple(route))
    assert target is None
    assert REFUSED[way] in said[0]


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
@pytest.mark.parametrize("subject", REAL_FILES, ids=lambda subject: subject.name)
def test_every_real_file_comes_back(subject: Subject, tmp_path: Path, shared: Path, tool: Tool) -> None:
    assert_exact(subject, tmp_path, shared, tool, ROUTES)


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize("cdl", corpus.small(TEXTS), ids=lambda path: path.stem)
def test_every_compiled_file_comes_back(cdl: Path, tmp_path: Path, shared: Path, tool: Tool) -> None:
    routes = ROUTES if cdl in QUICK else ROUTES[:1]
    for number, subject in enumerate(exactness.compiled(cdl, tmp_path, tool("ncgen"))):
        folder = tmp_path / f"of {number}"
        folder.mkdir()
        assert_exact(subject, folder, shared, tool, routes)
