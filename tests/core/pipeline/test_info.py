"""Facts about datasets: sizes, gaps, missing chunks, requests; the checksum of a store."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.pipeline.zarr_checksum import compute_checksum
from nczarr.stores.memory import MemoryStore
from tests.conftest import ROOT, run_command
from tests.conftest import _Stream as Stream
from tests.support.dated_grid import make
from tests.support.plugins import ABSENT


def facts_of(path: Path) -> dict[str, Any]:
    ran = run_command("info", str(path), "--json")
    assert (ran.status, ran.err) == (0, "")
    facts: dict[str, Any] = json.loads(ran.out)
    assert facts == nczarr.info(path)
    return facts


@pytest.mark.parametrize("form", ["netcdf4", "zarr2", "zarr3", "nczarr"])
def test_sizes_chunks_and_gaps(form: str, tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path, form))
    variables = {entry["path"]: entry for entry in facts["variables"]}
    values = variables["/v"]
    assert (values["shape"], values["chunks"], values["grid"]) == ([8, 3, 4], [2, 3, 4], 4)
    assert values["size"] == 8 * 3 * 4 * 4
    if form == "netcdf4":
        assert values["missing"] == 3
    else:
        documents = (".zarray", ".zattrs", "zarr.json")
        chunks = [file for file in (tmp_path / "t.zarr" / "v").rglob("*") if file.is_file()]
        chunks = [file for file in chunks if file.name not in documents]
        assert values["missing"] == 4 - len(chunks)
        assert values["stored"] == sum(file.stat().st_size for file in chunks)
    assert variables["/names"]["size"] is None
    time = next(entry for entry in facts["coordinates"] if entry["path"] == "/time")
    assert (time["values"]["first"], time["values"]["last"]) == ("2000-01-01", "2000-02-01")
    assert time["values"]["gaps"] == ["2000-01-03 to 2000-01-08", "2000-01-10 to 2000-01-31"]
    assert facts["title"] == "a test"
    if form == "netcdf4":
        assert facts["stored"] == (tmp_path / "t.nc").stat().st_size
        assert "remote" in ABSENT or facts["opening"]["requests"] == 1
    else:
        assert facts["opening"] is None


def test_the_screen(tmp_path: Path) -> None:
    ran = run_command("info", str(make(tmp_path, "netcdf4")))
    text = ran.out.decode()
    assert f"{tmp_path / 't.nc'}: netcdf4, netCDF-4, " in text
    assert "  time   8 values: 2000-01-01 to 2000-02-01, step 1 to 21 days" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "gap: 2000-01-10 to 2000-01-31" in text
    assert "v: 3 of 4 chunks missing" in text


@pytest.mark.parametrize("form", ["netcdf4", "zarr3"])
def test_a_local_source_loads_no_event_loop_and_no_masked_arrays(form: str, tmp_path: Path) -> None:
    """Both took a quarter of the time of a small file."""
    code = "import sys; from nczarr.__main__ import main; status = main(sys.argv[1:]); "
    code += "print({'asyncio', 'numpy.ma'} & set(sys.modules)); sys.exit(status)"
    command = [sys.executable, "-c", code, "info", str(make(tmp_path, form))]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_lines_fit_the_terminal(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = make(tmp_path, "netcdf4")
    name = "a_very_long_name_of_a_variable_" * 5
    nczarr.edit(path, rename={"/v": name})
    piped = run_command("info", str(path)).text
    assert piped.count(name) == 2  # in the table, and of missing chunks
    assert "…" not in piped
    monkeypatch.setattr(Stream, "isatty", lambda stream: True)
    lines = run_command("info", str(path)).out.decode().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  variable"))
    assert max(map(len, lines[start:])) <= max(80, min(columns, 120))


def list_fields(value: Any, lead: str = "") -> Iterator[str]:
    """Yield the paths of the members of a JSON value, those of objects in lists once for each."""
    for each in value if isinstance(value, list) else [value] if isinstance(value, dict) else ():
        for key, member in each.items() if isinstance(each, dict) else ():
            yield f"{lead}{key}"
            if key not in ("dimensions", "opening"):  # the page describes these in words
                yield from list_fields(member, f"{lead}{key}{'[]' * isinstance(member, list)}.")


@pytest.mark.parametrize("form", ["netcdf4", "nczarr"])
def test_the_page_has_the_fields_that_are_printed(form: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/reference/info.md").read_text()
    documented = re.findall(r"^\| `(\S+)` \|", page, re.MULTILINE)
    facts = facts_of(make(tmp_path, form))
    assert documented == sorted(set(documented), key=documented.index)
    assert set(documented) == set(list_fields(facts))
    assert {key for entry in facts["dimensions"].values() for key in entry} == {"length", "unlimited"}
    assert set(facts["opening"] or {}) <= {"requests", "bytes"}


def test_months_have_no_gaps(tmp_path: Path) -> None:
    data = nczarr.from_cdl(
        'netcdf t { dimensions: time = 6 ; variables: int time(time) ; time:units = "days since 2001-01-01" ;'
        " data: time = 0, 31, 59, 90, 120, 151 ; }"
    )
    nczarr.write(data, tmp_path / "t.nc")
    assert facts_of(tmp_path / "t.nc")["coordinates"][0]["values"]["gaps"] == []


def test_the_checksum_is_that_of_zarr_checksum(tmp_path: Path) -> None:
    """The text was computed by zarr_checksum 0.4 for the same files."""
    store = MemoryStore({"zarr.json": b"a", "g/zarr.json": b"bcd", "g/c/0": b"xyz1", "g/c/10": b"", "g/c/2": b"q"})
    assert compute_checksum(store) == "60659b4f2be6747f9e006051252ae051-5--9"
    path = make(tmp_path, "zarr3")
    ran = run_command("info", str(path), "--checksum", "zarr")
    files = [file for file in path.rglob("*") if file.is_file()]
    total = sum(file.stat().st_size for file in files)
    assert ran.out.decode().endswith(f"-{len(files)}--{total}  {path}\n")
    refused = run_command("info", str(make(tmp_path, "netcdf4")), "--checksum", "zarr")
    assert (refused.status, "error[unknown-format]" in refused.err) == (1, True)


def test_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.nc").write_bytes(b"noise")
    ran = run_command("info", str(tmp_path / "x.nc"))
    assert (ran.status, ran.out) == (1, b"")
    assert "error[unknown-format]" in ran.err
    assert run_command("info", str(tmp_path / "missing.nc")).status == 3
