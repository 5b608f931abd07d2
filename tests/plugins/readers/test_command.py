"""`check --for`: readers and formats by name, status, places, and sources of every kind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_command
from tests.support.peers.faults_zarr_python import ZARR_3
from tests.support.peers.faulty import NCZARR, PURE, Store, edit, write

TEXT = "netcdf t {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2, 3 ;\n}\n"


def store(folder: Path, **changes: object) -> str:
    return str(
        write(edit(NCZARR, {key.replace("__", "#/"): value for key, value in changes.items()}), folder / "s.zarr")
    )


def test_nothing_to_say(tmp_path: Path) -> None:
    ran = run_command("check", store(tmp_path), "--for", "netcdf-c", "--for", "zarr-python")
    assert (ran.status, ran.out, ran.err) == (0, b"", "")


def test_verbose_lists_every_loss(tmp_path: Path) -> None:
    schema = tmp_path / "t.cdl"
    schema.write_text(TEXT.replace("x = 3", "x = UNLIMITED"))
    ran = run_command("check", str(schema), "--for", "zarr3", "--verbose")
    assert "lost: dimension `/x`, unlimited" in ran.err


def test_an_error_with_its_place(tmp_path: Path) -> None:
    path = str(write(edit(NCZARR, {"v/.zarray#/filters": []}), tmp_path / "s.zarr"))
    ran = run_command("check", path, "--for", "netcdf-c", "--message-format", "json")
    line = json.loads(ran.err)
    assert ran.status == 1
    assert (line["code"], line["key"], line["pointer"]) == ("empty-filters", "v/.zarray", "/filters")
    assert line["message"] == "`/v` has an empty list of filters: netCDF-C crashes"
    assert line["notes"] == ["seen with netCDF-C 4.9.3, 4.10.1, 4.10.2"]
    assert line["helps"] == ['write `"filters": null`']


def test_a_warning_is_something_found(tmp_path: Path) -> None:
    path = str(write(PURE, tmp_path / "s.zarr"))
    ran = run_command("check", path, "--for", "xarray", "-q")
    assert (ran.status, ran.err) == (1, "")


def test_sarif(tmp_path: Path) -> None:
    path = str(write(edit(NCZARR, {"v/.zarray#/filters": []}), tmp_path / "s.zarr"))
    ran = run_command("check", path, "--for", "netcdf-c", "--message-format", "sarif")
    assert [each["ruleId"] for each in json.loads(ran.err)["runs"][0]["results"]] == ["empty-filters"]


def test_padding_is_read_by_all_but_netcdf_c(tmp_path: Path) -> None:
    path = str(
        write(
            edit(PURE, {"v/.zarray#/dtype": [["a", "<i4"], ["", "<i4"]], "v/.zarray#/fill_value": None, "v/0": b""}),
            tmp_path / "s.zarr",
        )
    )
    (tmp_path / "s.zarr" / "v" / "0").unlink()
    assert run_command("check", path).status == 0
    assert "unknown-dtype" in run_command("check", path, "--for", "netcdf-c").err
    assert run_command("check", path, "--for", "zarr-python").err == ""


def test_several_sources_and_readers(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    paths = [store(good), str(write(edit(NCZARR, {"v/.zarray#/filters": []}), bad / "s.zarr"))]
    ran = run_command("check", *paths, "--for", "netcdf-c", "--for", "zarr-python")
    assert ran.status == 1
    assert ran.err.count("[empty-filters]") == 1


@pytest.mark.parametrize("reader", ["netcdf-c", "zarr-python", "xarray"])
def test_a_text_is_read_by_none(reader: str) -> None:
    ran = run_command("check", "-", "--for", reader, stdin=TEXT.encode())
    assert ran.status == 1
    assert "[unread-format]" in ran.err


def test_a_folder_without_documents(tmp_path: Path) -> None:
    assert "[unread-format]" in run_command("check", str(tmp_path), "--for", "netcdf-c").err


def test_readers_of_netcdf_files(tmp_path: Path) -> None:
    path = str(tmp_path / "t.nc")
    assert run_command("compile", "-", "-o", path, stdin=TEXT.encode()).status == 0
    assert run_command("check", path, "--for", "xarray").status == 0
    assert run_command("check", path, "--for", "gdal").status == 0
    assert "[unread-format]" in run_command("check", path, "--for", "zarr-python").err
    assert run_command("check", path, "--for", "netcdf-c").status == 0


@pytest.mark.parametrize(("form", "status"), [("zarr2", 0), ("netcdf3", 1), ("nczarr", 0), ("cdl", 0), ("netcdf", 0)])
def test_a_format_is_rehearsed(form: str, status: int) -> None:
    text = TEXT.replace("dimensions:", "types:\n  opaque(2) o ;\ndimensions:").replace(
        "int v(x) ;", "int v(x) ;\n  o w ;"
    )
    ran = run_command("check", "-", "--for", form, stdin=text.encode())
    assert ran.status == status, ran.err


def test_a_reader_and_a_format_of_standard_input() -> None:
    ran = run_command("check", "-", "--for", "xarray", "--for", "zarr2", stdin=TEXT.encode())
    assert "[unread-format]" in ran.err
    assert ran.status == 1


def test_unknown_readers(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_command("check", "-", "--for", "xaray", stdin=TEXT.encode())
    assert ran.status == 2
    assert "did you mean `xarray`?" in ran.err


def test_out_of_reach(tmp_path: Path) -> None:
    assert run_command("check", str(tmp_path / "none.zarr"), "--for", "xarray").status == 3


def test_deflated_text_of_a_store_in_an_archive(tmp_path: Path) -> None:
    path = str(tmp_path / "t.zip")
    assert run_command("compile", "-", "-o", path, "--to", "nczarr", stdin=TEXT.encode()).status == 0
    ran = run_command("check", path, "--for", "netcdf-c")
    assert "warning[zipped-store]" in ran.err


LENIENT = {"v/.zarray#/dtype": "<i1", "v/.zarray#/fill_value": None, "v/0": b"\1\2\3"}
"""A type that zarr-python 3.1 refuses and 3.4 reads."""


@pytest.mark.parametrize("reader", ["zarr-python", "xarray"])
def test_a_release_of_zarr_python_is_asked_about(reader: str, tmp_path: Path) -> None:
    path = str(write(edit(PURE, LENIENT), tmp_path / "s.zarr"))
    found = {}
    for asked in (reader, f"{reader}@3.4", f"{reader}@3.1"):
        ran = run_command("check", path, "--for", asked, "--message-format", "json")
        lines = [json.loads(line) for line in ran.err.splitlines()]
        found[asked] = [each for each in lines if each.get("code") == "unknown-dtype"]
    assert found[reader] == found[f"{reader}@3.4"] == []
    (old,) = found[f"{reader}@3.1"]
    assert "until zarr-python 3.4" in old["notes"][0]


@pytest.mark.parametrize(("release", "count"), [("3.1", 1), ("3.1.6", 1), ("3.4", 0), ("3.4.2", 0)])
def test_rules_of_codecs_know_releases(release: str, count: int, tmp_path: Path) -> None:
    """zarr-python 3.1.6 does not know `scale_offset`, 3.4.2 does."""
    codecs = [{"name": "scale_offset", "configuration": {"offset": 0, "scale": 1}}, {"name": "bytes"}]
    path = str(write(edit(ZARR_3, {"v/zarr.json#/codecs": codecs}), tmp_path / "s.zarr"))
    ran = run_command("check", path, "--for", f"zarr-python@{release}")
    assert ran.err.count("unread-codec") == count


@pytest.mark.parametrize(
    "asked",
    [
        "zarr-python@3.2",
        "zarr-python@",
        "zarr-python@new",
        "zarr-python@3.1.",
        "zarr-python@3.1.x",
        "zarr-python@3.2.1",
        "xarray@2",
        "netcdf-c@4.8",
        "nz@2",
    ],
)
def test_an_unknown_release_is_refused(asked: str, tmp_path: Path) -> None:
    ran = run_command("check", store(tmp_path), "--for", asked)
    assert ran.status == 2
    assert "no rules for release" in ran.err
    assert f"`{asked.partition('@')[0]}" in ran.err


def test_the_format_of_a_source_may_be_named(tmp_path: Path) -> None:
    """A folder may hold metadata of Zarr v2 and v3; a text may look like another format."""
    path = tmp_path / "both.zarr"
    path.mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"')
    assert run_command("check", str(path), "--from", "zarr2").status == 0
    ran = run_command("check", str(path), "--from", "zarr3")
    assert ran.status == 1
    assert "zarr.json" in ran.err
    assert run_command("check", "-", "--from", "cdl", stdin=b"netcdf t { }").status == 0
    assert run_command("check", "-", "--from", "notation", stdin=b"netcdf t { }").status == 1


@pytest.mark.parametrize("more", [[], ["--for", "netcdf-c"], ["--for", "zarr2"]], ids=str)
def test_a_format_that_the_source_cannot_have(more: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.cdl").write_text("netcdf t { }")
    for place, given in ((str(tmp_path / "t.cdl"), b""), ("-", b"netcdf t { }")):
        ran = run_command("check", place, "--from", "zarr3", *more, stdin=given)
        assert ran.status == 1
        assert ran.err.count("unknown-format") == 1
        ran = run_command("check", place, "--from", "cld", *more, stdin=given)
        assert "unknown format `cld`" in ran.err


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    schema, gone = tmp_path / "a.cdl", tmp_path / "gone"
    schema.write_text("netcdf a { variables: int v(x) ; }")
    gone.mkdir()
    script = "import os, sys; os.rmdir(os.getcwd()); from nczarr.__main__ import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "check", str(schema)]
    done = subprocess.run(command, cwd=gone, capture_output=True, text=True, check=False)
    assert (done.returncode, "undefined-dimension" in done.stderr) == (1, True), done.stderr


TEXTS = 'netcdf t { dimensions: x = 2 ; variables: string s(x) ; char c(x) ; data: s = "a", "bé" ; c = "ab" ; }'
WRITES, STATES = "write `zarr3`", "state the encoding"


def advice_for_xarray(path: Path) -> list[str]:
    ran = run_command("check", str(path), "--for", "xarray", "--select", "text-as-bytes", "--message-format", "json")
    return [help_ for line in ran.err.splitlines() for help_ in json.loads(line)["helps"]]


@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr3"])
def test_texts_are_bytes_for_xarray_until_they_are_converted(form: str, tmp_path: Path) -> None:
    schema, texts = tmp_path / "t.cdl", tmp_path / "t.zarr"
    schema.write_text(TEXTS)
    assert run_command("compile", str(schema), "-o", str(texts), "-q").status == 0
    assert [text.startswith(WRITES) for text in advice_for_xarray(texts)] == [True]
    assert run_command("convert", str(texts), str(tmp_path / "c.zarr"), "--to", form, "-q").status == 0
    assert advice_for_xarray(tmp_path / "c.zarr") == []
    assert run_command("migrate", str(texts), "--to", form, "-q").status == 0
    assert [text.startswith(WRITES if form == "nczarr3" else STATES) for text in advice_for_xarray(texts)] == [True]
    assert run_command("convert", str(texts), str(tmp_path / "d.zarr"), "--to", form, "-q").status == 0
    assert [text.startswith(STATES) for text in advice_for_xarray(tmp_path / "d.zarr")] == [True] * (form != "nczarr3")
    assert run_command("edit", str(texts), "--set", 's@_Encoding="utf-8"', "-q").status == 0
    assert advice_for_xarray(texts) == []


@pytest.mark.parametrize("base", [PURE, ZARR_3], ids=["zarr2", "zarr3"])
def test_bytes_of_any_length_are_bytes_for_xarray_also_where_they_are_converted(base: Store, tmp_path: Path) -> None:
    data = b"\3\0\0\0" + b"\1\0\0\0a" * 3
    if base is PURE:
        kind = {"v/.zarray#/dtype": "|O", "v/.zarray#/filters": [{"id": "vlen-bytes"}], "v/.zarray#/fill_value": None}
        texts = edit(base, {**kind, "v/0": data})
    else:
        kind = {"v/zarr.json#/data_type": "bytes", "v/zarr.json#/codecs": [{"name": "vlen-bytes"}]}
        texts = edit(base, {**kind, "v/zarr.json#/fill_value": "", "v/c/0": data})
    path = write(texts, tmp_path / "s.zarr")
    assert [text.startswith(STATES) for text in advice_for_xarray(path)] == [True]
    assert run_command("convert", str(path), str(tmp_path / "c.zarr"), "--to", "zarr3", "-q").status == 0
    assert [text.startswith(STATES) for text in advice_for_xarray(tmp_path / "c.zarr")] == [True]


@pytest.mark.parametrize("name", ["r.json", "r.parq"])
def test_reference_documents_are_stores_of_fsspec(name: str, tmp_path: Path) -> None:
    """xarray reads the texts of a netCDF-4 file as bytes there, and says nothing of consolidated metadata."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("fsspec")
    pytest.importorskip("pyarrow")
    paths = [str(tmp_path / f"{number}.nc") for number in range(2)]
    for number, path in enumerate(paths):
        part = xarray.Dataset({"name": ("time", [f"é{number}"])}, {"time": [number]})
        part.to_netcdf(path, unlimited_dims=["time"])
    target = str(tmp_path / name)
    assert run_command("refs", "combine", *paths, "-o", target, "--along", "time").status == 0
    ran = run_command("check", target, "--for", "xarray", "--for", "zarr-python")
    assert (ran.status, ran.err.count("warning["), ran.err.count("[text-as-bytes]")) == (1, 1, 1), ran.err
    if name == "r.json":
        read = xarray.open_zarr("reference://", storage_options={"fo": target}, consolidated=False)
        assert read["name"].values.tolist() == ["é0".encode(), "é1".encode()]
    assert run_command("check", target, "--for", "tensorstore").err.count("[unread-format]") == 1
