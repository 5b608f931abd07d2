"""`--var` brings the variables that `ncks -v` brings, `--dim` and `--sel` cut as `ncks -d` does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import nczarr
from tests.support.related_variables import BROUGHT, CDL

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(shutil.which("ncks") is None, reason="ncks is not installed"),
]


def ncks(*arguments: str) -> nczarr.DatasetHandle:
    subprocess.run(["ncks", "-O", *arguments, "a.nc", "k.nc"], check=True, capture_output=True)
    return nczarr.open("k.nc")


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = CDL.replace("group: g { variables: float u(time) ; }", "")
    nczarr.write(nczarr.from_cdl(text), "a.nc", kind="nc3")


@pytest.mark.parametrize("name", sorted({*BROUGHT} - {"u"}))
def test_the_same_variables(name: str) -> None:
    nczarr.convert("a.nc", "b.nc", variables=[name])
    ours, theirs = set(nczarr.open("b.nc").checked.variables), set(ncks("-v", name).checked.variables)
    # ncks does not read the form `crs: lat lon`
    assert ours - theirs == ({"/crs"} if name == "wind" else set())
    assert theirs <= ours


@pytest.mark.parametrize(
    ("cut", "options"),
    [
        ("time,1,2", {"dims": {"time": slice(1, 3)}}),
        ("time,-2,-1", {"dims": {"time": slice(-2, None)}}),
        ("time,0,3,2", {"dims": {"time": slice(None, None, 2)}}),
        ("lat,-5.0,10.0", {"sel": {"lat": (-5, 10)}}),
        ("lat,2.0", {"nearest": {"lat": 2}}),
    ],
)
def test_the_same_cells(cut: str, options: dict[str, object]) -> None:
    nczarr.convert("a.nc", "b.nc", **options)  # type: ignore[arg-type]
    ours, theirs = nczarr.open("b.nc"), ncks("-d", cut)
    for path in ours.checked.variables:
        assert ours[path][...].tolist() == theirs[path][...].tolist(), path
