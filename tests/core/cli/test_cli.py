"""The command line: statuses, streams, options, crashes, and that a failing command leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nczarr import registry
from tests.conftest import ROOT, run_command
from tests.support.signals import hear_interrupts

GOOD = b"netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2 ;\n}\n"
BAD = b"netcdf t {\nvariables:\n  int v(x) ;\n}\n"
WARNS = b"netcdf t {\ndimensions:\n  x = 0 ;\n}\n"


def test_statuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command("compile", "-", "-o", "t.zarr", stdin=GOOD).status == 0
    assert run_command("compile", "-", "-o", "t.zarr", stdin=GOOD).status == 2
    assert run_command("compile", "-", "-o", "t.zarr", "--overwrite", stdin=GOOD).status == 0
    assert run_command("compile", "-", "-o", "u.zarr", stdin=BAD).status == 1
    assert run_command("compile", "-", "-o", "u.docx", stdin=GOOD).status == 2
    assert run_command("compile", "-", "-o", "no/such/folder/u.zarr", stdin=GOOD).status == 3
    assert run_command("compile", "-", "-o", "no/such/folder/u.cdl", stdin=GOOD).status == 3
    assert run_command("check", "missing.cdl").status == 3
    assert run_command("check", ".").status in (1, 3)
    assert run_command("check", "-", "--kind", "nc9", stdin=GOOD).status == 2
    assert run_command("compile", "-", "--chunks", "x=0", stdin=GOOD).status == 2
    assert run_command("nonsense").status == 2
    lost = run_command("compile", "-", "-o", "memory://t.zarr", stdin=GOOD)  # the memory of a process that ends
    assert (lost.status, "memory ends with the command" in lost.err) == (2, True)
    assert run_command().status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.zarr"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("convert a b --aggregation expnd", "did you mean `expand`?"),
        ("convert a b --force", "did you mean `--overwrite`?"),
        ("convert a b -j 4", "did you mean `--workers`?"),
        ("convert a b --format zarr3", "did you mean `--to` or `--from`?"),
        ("info a --chunks x=1", "`--chunks` is an option of `convert`, `compile`, `rechunk`"),
        ("compile - -o t --to zarr", "did you mean `zarr2` or `zarr3`"),
        ("compile - -o t --to ZARR3", "did you mean `zarr3`?"),
        ("compile - -o t --to netcdf-4", "did you mean `netcdf4`?"),
        ("compile - -o t --to kerchunk", "did you mean `reference`?"),
    ],
)
def test_what_was_meant(line: str, meant: str) -> None:
    ran = run_command(*line.split(), stdin=GOOD)
    assert (ran.status, meant in ran.err) == (2, True), ran.err


def test_help_and_version() -> None:
    from nczarr import __version__

    assert run_command("--version").text == f"nczarr {__version__}\n"
    assert "commands:" in run_command("--help").text
    for command in ("compile", "dump", "check", "explain", "formats"):
        done = run_command(command, "--help")
        assert (done.status, done.err) == (0, "")
        assert f"nczarr {command}" in done.text


def test_product_and_diagnostics_go_their_own_ways() -> None:
    done = run_command("compile", "-", "--to", "cdl", stdin=WARNS)
    assert done.text.startswith("netcdf t {")
    assert "warning[zero-dimension]" in done.err
    assert run_command("compile", "-", "--to", "cdl", "-q", stdin=WARNS).err == ""


def test_strict_makes_warnings_errors() -> None:
    assert run_command("check", "-", stdin=WARNS).status == 0
    done = run_command("check", "-", "--strict", stdin=WARNS)
    assert done.status == 1
    assert "error[zero-dimension]" in done.err


def test_json_messages() -> None:
    done = run_command("check", "-", "--message-format", "json", stdin=BAD)
    (line,) = done.err.splitlines()
    found = json.loads(line)
    assert (found["code"], found["file"], found["line"], found["column"]) == ("undefined-dimension", "<stdin>", 3, 9)


def test_several_sources_have_the_worst_status(tmp_path: Path) -> None:
    (tmp_path / "good.cdl").write_bytes(GOOD)
    (tmp_path / "bad.cdl").write_bytes(BAD)
    good, bad, missing = (str(tmp_path / name) for name in ("good.cdl", "bad.cdl", "missing.cdl"))
    assert run_command("check", good, good).status == 0
    assert run_command("check", bad, good).status == 1
    assert run_command("check", missing, bad).status == 3


@pytest.mark.parametrize("spelling", ["nc3", "classic", "1", "5", "cdf5", "netCDF-4 classic model", "64-bit offset"])
def test_kinds_as_ncgen_spells_them(spelling: str) -> None:
    done = run_command("check", "-", "-k", spelling, stdin=b"netcdf t {\nvariables:\n  string s ;\n}\n")
    assert "error[format-conflict]" in done.err


def test_without_a_target_the_keys_are_shown() -> None:
    done = run_command("compile", "-", stdin=GOOD)
    heads = [line for line in done.text.splitlines() if line.startswith("== ")]
    assert heads == sorted(heads)
    assert "== v/0 (8 bytes)" in heads
    assert any(head.startswith("== .zgroup") for head in heads)


@pytest.mark.parametrize("form", ["netcdf3", "netcdf4"])
@pytest.mark.parametrize("command", [("info", "-"), ("dump", "-"), ("digest", "-"), ("diff", "-", "t.cdl")])
def test_binary_formats_come_by_a_pipe(
    form: str, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.cdl").write_bytes(GOOD)
    assert run_command("compile", "t.cdl", "-o", "t.nc", "--to", form).status == 0
    done = run_command(*command, stdin=Path("t.nc").read_bytes())
    assert (done.status, done.err) == (0, "")


def test_options_stand_between_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.cdl").write_bytes(GOOD)
    assert run_command("convert", "t.cdl", "--to", "netcdf3", "a.nc").status == 0
    assert run_command("diff", "a.nc", "--var", "v", "t.cdl").status == 0
    assert run_command("digest", "a.nc", "--var", "v", "t.cdl", "-q").text.count("\n") == 2
    assert "unrecognized arguments: b.nc" in run_command("dump", "a.nc", "-h", "b.nc").err


@pytest.mark.parametrize("form", ["cdl", "notation", "ast", "keys", "tree"])
def test_dump(form: str) -> None:
    done = run_command("dump", "-", "--as", form, stdin=GOOD)
    assert (done.status, done.err) == (0, "")
    assert len(done.text) > 30


def test_dump_flags() -> None:
    assert "data:" not in run_command("dump", "-", "-h", stdin=GOOD).text
    assert run_command("dump", "-", "-n", "other", stdin=GOOD).text.startswith("netcdf other {")
    assert "v = 1, 2" in run_command("dump", "-", "-v", "v", stdin=GOOD).text
    part = run_command("dump", "-", "--dim", "x=1:1", "--var", "v", stdin=GOOD)
    assert ("v = 2 ;" in part.text, "x = 1 ;" in part.text) == (True, True)
    assert "did you mean `v`?" in run_command("dump", "-", "--var", "V", stdin=GOOD).err


def test_dump_after() -> None:
    done = run_command("compile", "-", "--dump-after", "resolve", stdin=GOOD)
    assert "Variable v type=int" in done.text
    assert "no pass `nothing`" in run_command("compile", "-", "--dump-after", "nothing", stdin=GOOD).err


def test_explain() -> None:
    assert "What to do" in run_command("explain", "undefined-dimension").text
    done = run_command("explain", "undefined-dimention")
    assert done.status == 2
    assert "did you mean `undefined-dimension`?" in done.err
    assert "undefined-dimension" in run_command("explain").text


def test_formats() -> None:
    done, names = run_command("formats"), [form.name for form in registry.formats()]
    assert [line.split()[0] for line in done.text.splitlines()] == ["format", *names]
    assert run_command("formats", "--as", "markdown").text.startswith("| format |")


def test_a_crash_is_a_diagnostic_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.semantics import PASSES

    def crash(*_: object) -> None:
        raise RuntimeError("a fault\nof ours")

    assert PASSES
    monkeypatch.setattr(sys.modules["nczarr.semantics.resolve"], "tables_of", crash)
    target = tmp_path / "t.zarr"
    done = run_command("compile", "-", "-o", str(target), stdin=GOOD)
    assert done.status == 1
    assert "error[internal-error]: `semantics.resolve` failed: RuntimeError: a fault of ours" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in run_command("check", "-", "--verbose", stdin=GOOD).err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("when", ["write", "rename"])
def test_a_full_disk_leaves_nothing(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nczarr.formats.cdl.write.backend.pieces" if when == "write" else "os.replace", full)
    done = run_command("compile", "-", "-o", str(tmp_path / "t.cdl"), stdin=GOOD)
    assert done.status == 3
    assert "No space left on device" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_reader_that_goes_away_has_not_got_all(tmp_path: Path) -> None:
    many = (
        b"netcdf t {\ndimensions:\n  x = 200000 ;\nvariables:\n  int v(x) ;\ndata:\n  v = "
        + b"1, " * 199_999
        + b"1 ;\n}\n"
    )
    (tmp_path / "t.cdl").write_bytes(many)
    command = f'"{sys.executable}" -m nczarr dump "{tmp_path}/t.cdl" | head -1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("netcdf t {\n141\n", "")


@pytest.mark.slow
def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while standard input is awaited: status 130, and no traceback."""
    target = tmp_path / "t.zarr"
    call = [sys.executable, "-m", "nczarr", "compile", "-", "-o", str(target)]
    running = subprocess.Popen(
        call, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts
    )
    deadline = time.monotonic() + 30
    while b"pipe_read" not in _waiting(running.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    os.kill(running.pid, signal.SIGINT)
    _, errors = running.communicate()
    assert running.returncode == 130
    assert b"Traceback" not in errors
    assert not target.exists()


def _waiting(pid: int) -> bytes:
    """What the kernel says a process waits for; where it does not say, an empty text and the test waits a second."""
    try:
        return Path(f"/proc/{pid}/wchan").read_bytes()
    except OSError:
        return b"pipe_read"


def test_the_status_stands_when_nobody_reads_the_errors(tmp_path: Path) -> None:
    source = tmp_path / "bad.cdl"
    source.write_text("netcdf t { int ; }")
    ends = os.pipe()
    os.close(ends[0])
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "nczarr", "check", str(source)], stderr=ends[1], check=False, cwd=ROOT
        )
    finally:
        os.close(ends[1])
    assert ran.returncode == 1


def test_a_slash_behind_a_target_changes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "ok.cdl"
    source.write_text("netcdf t { :a = 1 ; }")
    assert run_command("compile", str(source), "-o", f"{tmp_path}/ok.zarr/").status == 0
    assert sorted(os.listdir(tmp_path)) == ["ok.cdl", "ok.zarr"]
    assert run_command("compile", str(source), "-o", f"{tmp_path}/ok.zarr/").status == 2


def test_a_loss_that_is_none_is_wrong_usage() -> None:
    done = run_command("compile", "-", "--to", "zarr2", "--allow-loss", "lost-typ", stdin=GOOD)
    assert done.status == 2
    assert "did you mean `lost-type`?" in done.err
    assert run_command("compile", "-", "--to", "zarr2", "--allow-loss", "lost-annotations", stdin=GOOD).status == 2
    assert "known losses: all, " in run_command("compile", "-", "--allow-loss", "0", stdin=GOOD).err
    assert run_command("compile", "-", "--to", "zarr2", "--allow-loss", "all", stdin=GOOD).status == 0


def test_dump_of_what_is_not_there() -> None:
    for flags in (["-v", "w"], ["-v", "v,w"], ["-g", "h"]):
        done = run_command("dump", "-", *flags, stdin=GOOD)
        assert (done.status, done.text) == (1, "")
        assert "error[unmatched-name]" in done.err
    assert "did you mean `temp`?" in run_command("dump", "-", "-v", "tmp", stdin=GOOD.replace(b" v", b" temp")).err
    for flags in (["-v", "v"], ["-v", "/v"], ["-g", "/"]):
        assert "v = 1, 2" in run_command("dump", "-", *flags, stdin=GOOD).text


def test_too_little_memory_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise MemoryError("Unable to allocate 7 PiB")

    monkeypatch.setattr("nczarr.pipeline.phases.read", fail)
    ran = run_command("dump", "-", stdin=b"netcdf t { }")
    assert ran.status == 3
    assert "out-of-memory" in ran.err
    assert "7 PiB" in ran.err
    assert "fault of nczarr" not in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the work of threads")
def test_no_thread_of_a_library_keeps_a_processor_busy() -> None:
    """Every command that loads NumPy used to spend a tenth of a second in threads of OpenBLAS, which nothing calls."""
    script = """
import os, time
from nczarr import __main__ as program
def main():
    import numpy
    time.sleep(0.3)
    others = [each for each in os.listdir("/proc/self/task") if each != str(os.getpid())]
    stats = (open(f"/proc/self/task/{each}/stat").read().rpartition(")")[2].split() for each in others)
    print(sum(int(words[11]) + int(words[12]) for words in stats) / os.sysconf("SC_CLK_TCK"))
    return 0
program.main = main
program.process()
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS")}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert float(ran.stdout) <= 0.02
