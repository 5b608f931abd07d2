"""`explain STORE KEY`: of stores, and of schemas whose store does not exist yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nczarr
from nczarr.plugins.schema.explain_key import _load_members
from tests.conftest import ROOT, run_command

TEXT = """netcdf d {
dimensions: y = 5 ; x = 7 ;
variables:
  short v(y, x) ; v:_ChunkSizes = 2, 4 ; v:_DeflateLevel = 5 ; v:units = "K" ;
data: v = NUMBERS ;
group: g { variables: int deep ; data: deep = 3 ; }
}
""".replace("NUMBERS", ", ".join(map(str, range(1, 36))))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.cdl").write_text(TEXT)


def explain(*words: str) -> str:
    ran = run_command("explain", *words)
    assert ran.status == 0, ran.err
    return ran.out.decode()


def test_documents_of_a_schema() -> None:
    said = explain("d.cdl", "v/.zarray", "--to", "zarr2")
    assert said.startswith("v/.zarray: document of the variable /v, at d.cdl:4:9\n")
    assert re.search(r"^  chunks +\[2, 4\] +length of a chunk .* \[Zarr v2: Metadata\]$", said, re.MULTILINE)
    said = explain("d.cdl", "g/deep/zarr.json", "--to", "zarr3")
    assert "document of the variable /g/deep, at d.cdl:6:27" in said
    assert re.search(r"^  data_type +\"int32\" .*\[Zarr v3: Data types\]$", said, re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "nczarr3"])
def test_every_key_of_a_store(form: str) -> None:
    """Every member of every document has a meaning; every chunk has the cells that it holds."""
    nczarr.write(nczarr.open("d.cdl"), "d.zarr", format=form)
    keys = [str(path.relative_to("d.zarr")) for path in Path("d.zarr").rglob("*") if path.is_file()]
    for key in keys:
        said = explain("d.zarr", key)
        assert "no specification" not in said, said
        of_schema = explain("d.cdl", key, "--to", form)
        assert said.split(", at ")[0] == of_schema.split(", at ")[0]
        assert said.splitlines()[1:] == of_schema.splitlines()[1:]
    chunks = [key for key in keys if "v/" in key and ".z" not in key and not key.endswith(".json")]
    assert len(chunks) == 6
    last = explain("d.zarr", max(chunks))
    assert re.search(r"values \[\d:\d, \d:\d\] of \(5, 7\): \d+ of type <i2", last)
    assert "zlib:5" in last or "deflate:5" in last


def test_the_cells_of_a_chunk() -> None:
    nczarr.write(nczarr.open("d.cdl"), "d.zarr", format="zarr2")
    said = explain("d.zarr", "v/0.1")
    assert "chunk (0, 1) of a grid of chunks of 2 × 4" in said
    assert "values [0:2, 4:7] of (5, 7): 6 of type <i2" in said
    assert f"{Path('d.zarr/v/0.1').stat().st_size} bytes" in said


def test_faults() -> None:
    ran = run_command("explain", "d.cdl", "v/.zaray", "--to", "zarr2")
    assert (ran.status, "did you mean `v/.zarray`?" in ran.err) == (1, True)
    assert run_command("explain", "d.cdl", "v/.zarray", "--to", "netcdf4").status == 2
    assert run_command("explain", "nowhere.cdl", "x").status == 3
    assert run_command("explain", "--to", "zarr2").status == 2


def test_members_of_all_samples_are_known() -> None:
    known = _load_members()
    for sample in sorted((ROOT / "samples").glob("*.cdl")):
        for form in ("zarr2", "zarr3", "nczarr"):
            listed = run_command("dump", str(sample), "--as", "keys", "--to", form, "-h")
            keys = re.findall(r"^== (\S+)$", listed.out.decode(), re.MULTILINE)
            assert {key.rpartition("/")[2] for key in keys} <= set(known), (sample, keys)
