"""The command line against the system: streams that are closed or full, places that cannot be written, sudden ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from nczarr.__main__ import main
from tests.conftest import ROOT, run_command
from tests.support.signals import hear_interrupts

GOOD = b"netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2 ;\n}\n"
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
    "PYTHONPATH": str(ROOT),
}


def shell(line: str, folder: Path, *, unbuffered: bool = False) -> tuple[int, str]:
    """Status and standard error of a shell line in which `nczarr` is our command."""
    python = f'"{sys.executable}" {"-u " if unbuffered else ""}-m nczarr'
    done = subprocess.run(
        ["bash", "-c", line.replace("nczarr", python, 1)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert "internal-error" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ok.cdl").write_bytes(GOOD)
    (tmp_path / "bad.cdl").write_text("netcdf t { int ; }")
    return tmp_path


@pytest.mark.long
@pytest.mark.sampled(6)
@pytest.mark.parametrize("call", ["compile ok.cdl", "dump ok.cdl", "formats", "--version", "--help", "convert --help"])
@pytest.mark.parametrize(("to", "unbuffered"), [("> /dev/full", False), ("> /dev/full", True), (">&-", False)])
def test_a_product_that_reaches_nobody(call: str, to: str, unbuffered: bool, folder: Path) -> None:
    status, errors = shell(f"nczarr {call} {to}", folder, unbuffered=unbuffered)
    assert status == 3
    assert call == "--version" or "No space left" in errors or "Bad file descriptor" in errors


@pytest.mark.slow
@pytest.mark.parametrize("form", ["human", "json", "sarif"])
def test_diagnostics_that_reach_nobody(form: str, folder: Path) -> None:
    for to in ("2> /dev/full", "2>&-", "2>&- >&- <&-"):
        assert shell(f"nczarr check bad.cdl --message-format {form} {to}", folder)[0] == 1
    assert shell("nczarr compile ok.cdl --chunks x=0 2> /dev/full", folder)[0] == 2
    assert shell("nczarr nonsense 2>&-", folder)[0] == 2


def test_input_that_comes_from_nowhere(folder: Path) -> None:
    status, errors = shell("nczarr check - <&-", folder)
    assert status == 3
    assert "`<stdin>`: Bad file descriptor" in errors


@pytest.mark.slow
def test_targets_are_never_the_streams_of_others(folder: Path) -> None:
    """What a library writes on a closed standard error must not land in a file that was opened since."""
    for suffix in ("cdl", "nc", "zarr"):
        assert shell(f"nczarr compile ok.cdl -o t.{suffix} <&- >&- 2>&-", folder)[0] == 0
    assert (folder / "t.nc").read_bytes()[:3] == b"CDF"
    assert (folder / "t.cdl").read_bytes().startswith(b"netcdf t {")


@pytest.mark.parametrize("suffix", ["cdl", "nc", "zarr", "ncz", "zip"])
def test_what_stands_at_the_place_of_a_target(suffix: str, folder: Path) -> None:
    source, target = str(folder / "ok.cdl"), folder / f"t.{suffix}"
    home = folder / f"home.{suffix}"
    (home / "letters").mkdir(parents=True)
    done = run_command("compile", source, "-o", str(home), "--overwrite")
    assert (done.status, "error[target-exists]" in done.err) == (2, True)
    assert (home / "letters").is_dir()
    target.write_text("a file")
    assert run_command("compile", source, "-o", str(target)).status == 2
    assert target.read_text() == "a file"
    assert run_command("compile", source, "-o", str(target), "--overwrite").status == 0
    again = run_command("compile", source, "-o", str(target), "--overwrite")
    assert again.status == 0
    below = run_command("compile", source, "-o", f"{source}/t.{suffix}")
    assert (below.status, "Not a directory" in below.err) == (3, True)
    link = folder / f"link.{suffix}"
    link.symlink_to(home)
    assert run_command("compile", source, "-o", str(link), "--overwrite").status == 0
    assert (home / "letters").is_dir()
    assert {path.name for path in folder.iterdir()} == {"ok.cdl", "bad.cdl", home.name, target.name, link.name}


def test_devices_are_not_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cdl")
    done = run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / "pipe.cdl"), "--overwrite")
    assert (done.status, "neither a file nor a folder" in done.err) == (2, True)


def test_a_store_replaces_an_empty_folder_and_no_other(folder: Path) -> None:
    (folder / "t.zarr").mkdir()
    assert run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / "t.zarr"), "--overwrite").status == 0
    assert (folder / "t.zarr" / ".zgroup").exists()


def test_names_as_long_as_they_may_be(folder: Path) -> None:
    for name in ("x" * 251 + ".cdl", "é" * 124 + ".nc", "x" * 250 + ".zarr", "x" * 251 + ".zip"):
        for _ in range(2):
            assert run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / name), "--overwrite").status == 0
        assert (folder / name).exists()
    done = run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / ("x" * 252 + ".cdl")))
    assert (done.status, "too long" in done.err, "partial" in done.err) == (3, True, False)


@pytest.mark.parametrize("name", ["new\nline.cdl", "tab\t.cdl", "\x1b[31m.cdl", "-dash.cdl", " ", "é\udcff.cdl"])
def test_odd_names_of_files(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path(name).write_bytes(GOOD)
    assert run_command("check", "--", name).status == 0
    Path(name).write_text("netcdf t { int ; }")
    for form in ("human", "json", "sarif"):
        done = run_command("check", "--message-format", form, "--", name)
        assert done.status == 1
        assert "\x1b" not in done.err
    assert run_command("compile", "ok.cdl", "-o", f"./{name}.zarr").status == 0
    assert Path(f"./{name}.zarr").is_dir()


def test_a_library_sees_a_path_and_no_url(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert run_command("compile", "ok.cdl", "--kind", "nc4", "-o", "file://t.nc").status == 0
    assert Path("t.nc").is_file()
    Path("http:").mkdir()
    assert run_command("compile", "ok.cdl", "--kind", "nc4", "-o", "./http://t.nc").status == 0
    assert Path("http:", "t.nc").is_file()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o555)
    for suffix in ("cdl", "nc", "zarr"):
        done = run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / "locked" / f"t.{suffix}"))
        assert (done.status, "Permission denied" in done.err) == (3, True)


@pytest.mark.parametrize(
    "spec",
    ["x=", "=1", "x=0", "x=-2", "x=1.5", "x=1e3", "", ",", "x", "/v=", "//", "x=٣", "x=1_0", "x=" + "9" * 5000],
)
def test_chunks_that_are_none(spec: str) -> None:
    assert run_command("compile", "-", f"--chunks={spec}", stdin=GOOD).status == 2


@pytest.mark.parametrize(
    "spec", ["", "zlib:", "zlib:10", "zlib:-1", "zlib:9" + "9" * 5000, "+", "none+zlib", "/v=", "=zlib", "z\0"]
)
def test_codecs_that_are_none(spec: str) -> None:
    done = run_command("compile", "-", f"--codec={spec}", stdin=GOOD)
    assert done.status in (1, 2)
    assert "internal-error" not in done.err


def test_huge_numbers_make_no_huge_chunks() -> None:
    assert run_command("compile", "-", "--chunks", f"x={10**30}", stdin=GOOD).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_sudden_end_leaves_no_target(how: signal.Signals, folder: Path) -> None:
    """What asks a process to end leaves nothing; a kill at most what is unfinished, which no run minds."""
    many = 'netcdf t {\ndimensions: x = 3000 ;\nvariables:\n char v(x, x) ;\ndata: v = "a" ;\n}\n'
    (folder / "big.cdl").write_text(many)
    # Plain Zarr has no fill value for chars: all 90,000 chunks are written.
    call = [
        sys.executable,
        "-m",
        "nczarr",
        "compile",
        "big.cdl",
        "-o",
        "t.zarr",
        "--to",
        "zarr2",
        "--chunks",
        "/v=10,10",
    ]
    running = subprocess.Popen(call, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, preexec_fn=hear_interrupts)
    deadline = time.monotonic() + 30
    while not list(folder.glob("t.zarr.partial-*/v")) and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    running.send_signal(how)
    _, errors = running.communicate()
    assert b"Traceback" not in errors
    left = {path.name.partition(".partial-")[0] for path in folder.iterdir()} - {"ok.cdl", "bad.cdl", "big.cdl"}
    if how is not signal.SIGKILL:
        assert running.returncode == 130
        assert not left
    else:
        assert left - {".t.zarr.nczarr-lock"} == {"t.zarr"}  # the lock itself ends with its process
        assert not (folder / "t.zarr").exists()
    assert run_command("compile", str(folder / "ok.cdl"), "-o", str(folder / "t.zarr")).status == 0
    assert (folder / "t.zarr" / ".zgroup").exists()


def test_long_standard_input_lies_in_a_file_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is made small; what is read, and what is left behind, is the same."""
    schema = tmp_path / "s.cdl"
    schema.write_text("netcdf s {\ndimensions:\n  x = 3000 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2 ;\n}\n")
    assert main(["compile", str(schema), "-o", str(tmp_path / "s.nc"), "--kind", "nc3"]) == 0
    monkeypatch.setattr("nczarr.cli.options.IN_MEMORY", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    for target in ("t.zarr", "t.json"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper((tmp_path / "s.nc").open("rb")))
        status = main(["convert", "-", str(tmp_path / target), "-q"])
        assert status == (0 if target == "t.zarr" else 1), "nothing can refer to what is there only for a while"
    assert main(["diff", str(tmp_path / "s.nc"), str(tmp_path / "t.zarr")]) == 0
    assert not list((tmp_path / "spool").iterdir())
