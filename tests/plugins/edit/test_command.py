"""`nczarr edit`: the command, its refusals, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import nczarr
from nczarr.formats.netcdf3.reader import read_header
from nczarr.plugins.edit.patches import file_patch
from nczarr.stores.finish import is_edit_unfinished
from tests.conftest import run_command

TEXT = """netcdf a {
dimensions:
  t = UNLIMITED ; x = 3 ; spare = 4 ;
variables:
  int v(x) ;
    v:units = "Celsius" ;
    v:remark = "some words that leave room" ;
  float w(t, x) ;
  :title = "Hello" ;
data:
  v = 1, 2, 3 ;
  w = 1, 2, 3, 4, 5, 6 ;
}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run_command("compile", "-", "-o", "a.nc", "--kind", "nc3", stdin=TEXT.encode()).status == 0
    return tmp_path / "a.nc"


def refuse(*arguments: str, status: int = 1, stdin: str = "") -> str:
    """The codes of the errors of an edit, which changes nothing."""
    before = Path("a.nc").read_bytes()
    ran = run_command("edit", "a.nc", *arguments, "--message-format", "json", stdin=stdin.encode())
    assert ran.status == status, ran.err
    assert Path("a.nc").read_bytes() == before
    assert os.listdir() == ["a.nc"]
    return " ".join(json.loads(line)["code"] for line in ran.err.splitlines() if line.startswith("{"))


def test_a_dry_run_writes_nothing(file: Path) -> None:
    before = file.read_bytes()
    ran = run_command("edit", "a.nc", "--set", '/v@units="K"', "--dry-run")
    assert ran.status == 0
    assert ran.out.decode().splitlines()[0] == '~ /v@units: "Celsius" → "K"'
    assert (file.read_bytes(), os.listdir()) == (before, ["a.nc"])


def test_the_result_as_json(file: Path) -> None:
    ran = run_command("edit", "a.nc", "--set", '/v@units="K"', "--message-format", "json")
    result = json.loads(ran.err.splitlines()[-1])
    assert (result["result"], result["undo_file"], result["recovered"]) == ("edit", "a.nc.undo-1.json", False)
    assert result["changes"][0] == '~ /v@units: "Celsius" → "K"'


def test_errors_of_instructions(file: Path) -> None:
    for arguments in (
        ("--set", "/q@units=1"),
        ("--set", "units"),
        ("--delete", "/v@unit"),
        ("--delete", "/vv"),
        ("--delete", "/"),
        ("--rename", "/v@units=remark"),
        ("--rename", "/v=w1", "--rename", "/v=w2"),
        ("--rename", "/v=w"),
        ("--rename", "/v=w1", "--delete", "/v"),
        ("--set", "/v@_ChunkSizes=1"),
        ("--set", "/v@a=1 ; :b = 2"),
        ("--set", "/v@a=1", "--set", "v@a=2"),
        ("--set", "sp /v@a=1"),
        ("--set", "/v@a="),
        ("--delete", "dim:/x"),
    ):
        assert "bad-edit" in refuse(*arguments, status=2), arguments


def test_errors_of_values_are_at_their_place(file: Path) -> None:
    ran = run_command("edit", "a.nc", "--set", "byte /v@a=1, 300", "--message-format", "json")
    error = json.loads(ran.err.splitlines()[0])
    assert (ran.status, error["code"], error["file"], error["column"]) == (1, "value-range", "--set", 14)


def test_errors_of_the_new_header(file: Path) -> None:
    assert refuse("--set", 'string /v@a="x"') == "format-conflict"
    assert refuse("--rename", "/v=a/b") == "slash-in-name"
    assert refuse("--set", "/v@_FillValue=1.5f, 2f") != ""
    assert refuse("--header", "-", stdin="netcdf a { variables: int v ") == "expected-token"


def test_changes_that_need_values(file: Path) -> None:
    header = TEXT.partition("data:")[0] + "}"
    for old, new in (
        ("int v", "float v"),
        ("x = 3", "x = 4"),
        ("v(x)", "v(spare)"),
        ("t = UNLIMITED", "t = 3"),
        ("x = 3 ; spare = 4", "spare = 4 ; x = 3"),
        ("  int v(x) ;\n", "  int v(x) ;\n    v:_ChunkSizes = 1 ;\n"),
    ):
        assert old in header
        assert "data-edit" in refuse("--header", "-", stdin=header.replace(old, new)), new
    assert "data-edit" in refuse("--header", "-", stdin=TEXT)
    assert "data-edit" in refuse("--set", '@history="' + "long" * 100 + '"')
    assert "data-edit" in refuse("--header", "-", stdin=header.replace("  float w", "  int added(x) ;\n  float w"))


def test_a_header_with_room(file: Path) -> None:
    assert run_command("convert", "a.nc", "b.nc", "--header-pad", "1KiB").status == 0
    assert Path("b.nc").stat().st_size == file.stat().st_size + 1024
    assert nczarr.diff("a.nc", "b.nc") == []
    old, history = Path("b.nc").read_bytes(), "long" * 200
    ran = run_command("edit", "b.nc", "--set", f'@history="{history}"')
    assert ran.status == 0, ran.err
    assert nczarr.open("b.nc").attributes["history"] == history
    assert run_command("edit", "b.nc", "--undo", "b.nc.undo-1.json").status == 0
    assert Path("b.nc").read_bytes() == old
    ran = run_command("convert", "a.nc", "c.nc", "--header-pad", "2GiB")
    assert (ran.status, "format-conflict" in ran.err) == (1, True)


def test_an_unlimited_dimension_of_the_last_variable(file: Path) -> None:
    header = TEXT.partition("data:")[0].replace("t = UNLIMITED", "t = 2") + "}"
    ran = run_command("edit", "a.nc", "--header", "-", stdin=header.encode())
    assert ran.status == 0, ran.err
    assert read_header(file.read_bytes()).records == 0
    assert nczarr.open(file)["w"][:].tolist() == [[1, 2, 3], [4, 5, 6]]
    back = TEXT.partition("data:")[0] + "}"
    ran = run_command("edit", "a.nc", "--header", "-", stdin=back.encode())
    assert ran.status == 0, ran.err
    assert nczarr.diff(file, nczarr.from_cdl(TEXT)) == []


def test_undo_files_are_numbered_and_refused_out_of_order(file: Path) -> None:
    old = file.read_bytes()
    for number, units in enumerate(("K", "m"), 1):
        assert run_command("edit", "a.nc", "--set", f'/v@units="{units}"').status == 0
        assert Path(f"a.nc.undo-{number}.json").exists()
    ran = run_command("edit", "a.nc", "--undo", "a.nc.undo-1.json")
    assert (ran.status, "unmatched-undo" in ran.err) == (2, True)
    for number in (2, 1):
        assert run_command("edit", "a.nc", "--undo", f"a.nc.undo-{number}.json").status == 0
    assert file.read_bytes() == old
    ran = run_command("edit", "a.nc", "--undo", "a.nc.undo-1.json")
    assert "reversed already" in ran.err
    assert run_command("edit", "a.nc", "--set", '/v@units="K"', "--undo-file", "own.json").status == 0
    assert "own.json" in os.listdir()


def test_a_failing_undo_file_restores_the_target(file: Path) -> None:
    before = file.read_bytes()
    ran = run_command("edit", "a.nc", "--set", '/v@units="K"', "--undo-file", "missing/own.json")
    assert ran.status == 3
    assert (file.read_bytes(), os.listdir()) == (before, ["a.nc"])


def test_an_undo_file_replaces_no_other_file(file: Path) -> None:
    """Neither the dataset itself, nor another file, nor a document of the store that it restores."""
    before = file.read_bytes()
    Path("own.json").write_text("own")
    for name in ("a.nc", "own.json"):
        ran = run_command("edit", "a.nc", "--set", '/v@units="K"', "--undo-file", name)
        assert (ran.status, "error[target-exists]" in ran.err) == (2, True)
    assert (file.read_bytes(), Path("own.json").read_text()) == (before, "own")
    assert run_command("convert", "a.nc", "s.zarr", "--to", "zarr2", "--allow-loss", "all").status == 0
    kept = {path: path.read_bytes() for path in Path("s.zarr").rglob("*") if path.is_file()}
    for command in (("edit", "s.zarr", "--set", '/v@units="K"'), ("migrate", "s.zarr", "--to", "nczarr3")):
        for name in ("s.zarr/zarr.json", "s.zarr/.zattrs"):
            assert run_command(*command, "--undo-file", name).status == 2
    assert {path: path.read_bytes() for path in Path("s.zarr").rglob("*") if path.is_file()} == kept


def test_an_unfinished_edit_is_not_read_and_is_restored(file: Path) -> None:
    before = file.read_bytes()
    patch = file_patch.FilePatch((file_patch.BytePatch(9, before[9:12], b"xyz"),), len(before), len(before))
    file_patch.PreparedFilePatch("a.nc", patch).commit()
    assert "unfinished-edit" in run_command("dump", "a.nc").err
    with pytest.raises(nczarr.CompileError, match="unfinished-edit"):
        nczarr.open("a.nc")
    ran = run_command("edit", "a.nc", "--recover")
    assert (ran.status, "reversed" in ran.err) == (0, True)
    assert (file.read_bytes(), os.listdir()) == (before, ["a.nc"])
    assert "nothing to change" in run_command("edit", "a.nc", "--recover").err


EDITOR = """import sys
text = open(sys.argv[1]).read()
assert "data:" not in text
open(sys.argv[1], "w").write(text.replace("Celsius", "K").replace("int v", {type!r}))
"""


def test_the_editor(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("editor") / "editor.py"
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    script.write_text(EDITOR.format(type="int v"))
    assert run_command("edit", "a.nc").status == 0
    assert nczarr.open(file)["v"].attributes["units"] == "K"
    script.write_text(EDITOR.format(type="float v"))
    ran = run_command("edit", "a.nc")
    assert (ran.status, "the text is kept: nczarr edit a.nc --header " in ran.err) == (1, True)
    kept = Path(ran.err.rpartition("--header ")[2].split()[0])
    assert "float v" in kept.read_text()
    kept.unlink()
    monkeypatch.setenv("VISUAL", "false")
    assert run_command("edit", "a.nc").status == 3
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c 1")
    assert "nothing to change" in run_command("edit", "a.nc").err


def test_the_same_name_is_no_change(file: Path) -> None:
    before = file.read_bytes()
    ran = run_command("edit", "a.nc", "--rename", "/v=v")
    assert (ran.status, "nothing to change" in ran.err) == (0, True)
    assert (file.read_bytes(), os.listdir()) == (before, ["a.nc"])


def test_what_cannot_be_edited(file: Path, tmp_path: Path) -> None:
    assert refuse("--undo", "a.nc", "--set", "@a=1", status=2) == ""
    ran = run_command("edit", "missing.nc", "--set", "@a=1")
    assert ran.status == 3
    Path("a.cdl").write_text(TEXT)
    refused = run_command("edit", "a.cdl", "--set", "@a=1").err
    assert "uneditable-target" in refused
    [editable] = re.findall("formats that can be edited: (.*)", refused)
    assert {"netcdf4", "reference", "zarr3"} <= set(editable.split(", "))
    Path("folder").mkdir()
    assert run_command("edit", "folder", "--set", "@a=1").status in (1, 2)
    assert os.listdir("folder") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write every file")
def test_a_read_only_file(file: Path) -> None:
    file.chmod(stat.S_IRUSR)
    assert run_command("edit", "a.nc", "--set", '/v@units="K"').status == 3
    assert os.listdir() == ["a.nc"]


KILL = """
import os, sys
limit, calls = int(sys.argv[1]), 0
def count(function):
    def run(*arguments, **others):
        global calls
        calls += 1
        if calls == limit:
            os._exit(9)
        return function(*arguments, **others)
    return run
from nczarr.plugins.edit.patches import file_patch
from nczarr.stores.finish import is_edit_unfinished
file_patch.write_at = count(file_patch.write_at)
for name in ("fsync", "replace", "unlink"):
    setattr(os, name, count(getattr(os, name)))
from nczarr.__main__ import main
sys.exit(main(["edit", "a.nc", "--set", '/v@units="K"', "--rename", "/v=volume"]))
"""


@pytest.mark.long
def test_a_kill_at_any_step(file: Path) -> None:
    old = file.read_bytes()
    ends = set()
    for limit in range(1, 60):
        file.write_bytes(old)
        done = subprocess.run([sys.executable, "-c", KILL, str(limit)], check=False, capture_output=True, timeout=60)
        if done.returncode == 0:
            break
        unfinished = is_edit_unfinished("a.nc")
        ran = run_command("edit", "a.nc", "--recover")
        assert ran.status == 0, ran.err
        data = file.read_bytes()
        ends.add((unfinished, data == old))
        assert data == old or [item.name for item in read_header(data).variables] == ["volume", "w"]
        for entry in os.listdir():
            if entry != "a.nc":
                os.unlink(entry)
    assert ends >= {(False, True), (True, True)}
    assert nczarr.open(file)["volume"].attributes["units"] == "K"


def test_an_interruption_restores_the_target(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.edit import edit_header as operation

    before = file.read_bytes()

    def interrupt(*arguments: object) -> None:
        assert Path("a.nc").read_bytes() != before
        raise KeyboardInterrupt

    monkeypatch.setattr(operation, "_read_again", interrupt)
    assert run_command("edit", "a.nc", "--set", '/v@units="K"').status == 130
    assert (file.read_bytes(), os.listdir()) == (before, ["a.nc"])


def test_a_target_that_does_not_read_as_expected_is_restored(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.edit import edit_header as operation

    monkeypatch.setattr(operation, "_find_difference", lambda *_, **__: "it differs")
    assert refuse("--set", '/v@units="K"') == "failed-edit"


def test_attributes_of_what_is_removed_are_refused(file: Path) -> None:
    before = file.read_bytes()
    ran = run_command("edit", "a.nc", "--set", '/v@new="q"', "--delete", "/v")
    assert (ran.status, "gets other attributes and is removed" in ran.err) == (2, True)
    assert file.read_bytes() == before
