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


OPTIONS: list[dict[str, Any]] = [
    {},
    {"cf": True},
    {"cf": "1.8", "select": ["cf"]},
    {"readers": "zarr3"},
    {"readers": ["xarray", "netcdf-c"]},
    {"schema": "f_1.nc"},
    {"data": True},
    {"kind": "nc3"},
]
"""Options of `check`; the schema is also given as a handle."""


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["f_1.nc", "f_1.zarr"])
def test_an_open_dataset_is_checked_as_its_path(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'netcdf f_1 { dimensions: t = 2 ; variables: int t(t) ; t:units = "days since 2000-1-1" ; data: t = 0, 1 ; }'
    for target in ("f_1.nc", "f_1.zarr"):
        nczarr.convert(nczarr.from_cdl(text), target)
    wanted = nczarr.check(name, **options)
    opened = {key: nczarr.open(value) if key == "schema" else value for key, value in options.items()}
    found = nczarr.check(nczarr.open(name), **opened)
    assert [(one.code, one.message) for one in found] == [(one.code, one.message) for one in wanted]
    assert wanted or "cf" not in options


def test_open_datasets_are_checked_together(tmp_path: Path) -> None:
    for day in (0, 1):
        text = "netcdf d { dimensions: t = 1 ; variables: int t(t) ; data: t = 0 ; }"
        nczarr.convert(nczarr.from_cdl(text.replace("t = 0", f"t = {day}")), tmp_path / f"{day}.zarr")
    handles = [nczarr.open(tmp_path / f"{day}.zarr") for day in (1, 0)]
    paths = [tmp_path / f"{day}.zarr" for day in (1, 0)]
    by_path, by_handle = (nczarr.check(sources, combine=True, along="t") for sources in (paths, handles))
    assert [one.code for one in by_path] == [one.code for one in by_handle]


def test_a_dataset_in_memory_is_not_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    builder = nczarr.DatasetBuilder("d", kind="nc3")
    builder.variable("v", "int")
    assert {one.code for one in nczarr.check(builder.finish(), cf=True)} == {"cf-conventions", "cf-long-name"}
    with pytest.raises(ValueError, match="xarray reads what is stored"):
        nczarr.check(builder.finish(), readers="xarray")


def test_what_an_open_dataset_lacks_is_reported(tmp_path: Path) -> None:
    nczarr.convert(nczarr.from_cdl("netcdf d { variables: int v ; int w ; }"), tmp_path / "d.zarr")
    document = next(path for path in (tmp_path / "d.zarr" / "v").iterdir() if b'"shape"' in path.read_bytes())
    document.write_text(document.read_text().replace("<i4", "unknown").replace("int32", "unknown"))
    (tmp_path / "d.zarr" / ".zmetadata").unlink(missing_ok=True)
    with pytest.warns(nczarr.DataWarning):
        handle = nczarr.open(tmp_path / "d.zarr")
    assert [(one.code, str(one.severity)) for one in nczarr.check(handle)] == [("unreadable-array", "error")]
