"""`nczarr.check` reports what the command reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command

WRONG = "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(y) ;\n}\n"
GROUPS = "netcdf t {\nvariables:\n  int v ;\n  string s ;\ngroup: g {\nvariables:\n  int64 w ;\n}\n}\n"


@pytest.mark.parametrize(
    ("text", "command", "arguments"),
    [
        (WRONG, [], {}),
        (GROUPS, ["--for", "zarr3", "--for", "zarr2"], {"readers": ("zarr3", "zarr2")}),
        (GROUPS, ["--kind", "nc3"], {"kind": "nc3"}),
        (GROUPS, ["--schema", "schema.cdl"], {"schema": "schema.cdl"}),
        (GROUPS, ["--for", "nz"], {"readers": "nz"}),
        (GROUPS, [], {}),
    ],
)
def test_both_ways(
    text: str, command: list[str], arguments: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.cdl").write_text(text)
    Path("schema.cdl").write_text("netcdf s {\ndimensions:\n  x = 2 ;\nvariables:\n  float v(x) ;\n}\n")
    ran = run_command("check", "t.cdl", *command, "--message-format", "json")
    records = [json.loads(line) for line in ran.err.splitlines()]
    diagnostics = nczarr.check("t.cdl", **arguments)
    assert [(one.code, str(one.severity), one.message) for one in diagnostics] == [
        (record["code"], record["severity"], record["message"]) for record in records
    ]
    assert bool(diagnostics) == bool(command or text is WRONG)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="did you mean `zarr3`"):
        nczarr.check("samples/01-station.cdl", readers="zarr33")
    with pytest.raises(ValueError, match="kind of netCDF file"):
        nczarr.check("samples/01-station.cdl", kind="nc9")


def test_the_function_stays_when_the_folder_is_imported() -> None:
    import nczarr.semantics.checked

    assert callable(nczarr.check)
