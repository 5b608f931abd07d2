"""`-W CODE=LEVEL`, and comments `// nczarr: ignore[CODE]`, in every command that reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from tests.conftest import run_command

TEXT = "netcdf d {\n:a = 1e39f ;\n}\n"


def warnings_of(text: str) -> list[str]:
    report = Report()
    assert phases.read(Source("d.cdl", text.encode()), report, Options()) is not None
    return [each.code for each in report.list_sorted() if each.severity is Severity.WARNING]


def test_levels(tmp_path: Path) -> None:
    (code,) = warnings_of(TEXT)
    path = tmp_path / "d.cdl"
    path.write_text(TEXT)
    for command in (("check",), ("compile",), ("info",), ("dump",)):
        plain = run_command(*command, str(path))
        assert (plain.status, f"warning[{code}]" in plain.err) == (0, True), command
        ignored = run_command(*command, str(path), "-W", f"{code}=ignore")
        assert (ignored.status, code in ignored.err) == (0, False), command
        raised = run_command(*command, str(path), "-W", f"{code}=error")
        assert (raised.status, f"error[{code}]" in raised.err) == (1, True), command
        kept = run_command(*command, str(path), "--strict", "-W", f"{code}=warning")
        assert (kept.status, f"warning[{code}]" in kept.err) == (0, True), command


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("tiny-chunks", "has no level"),
        ("tiny-chunk=error", "did you mean `tiny-chunks`?"),
        ("undefined-dimension=ignore", "is an error"),
        ("lost-nil=ignore", "`--allow-loss lost-nil` accepts it"),
    ],
)
def test_bad_levels(argument: str, words: str) -> None:
    ran = run_command("check", "-W", argument, "x.cdl")
    assert (ran.status, words in ran.err) == (2, True), ran.err


def test_a_comment_hides_a_warning_everywhere(tmp_path: Path) -> None:
    (code,) = warnings_of(TEXT)
    quiet = TEXT.replace("1e39f ;", f"1e39f ; // nczarr: ignore[{code}]")
    assert warnings_of(quiet) == []
    assert nczarr.parse(quiet).attributes
    path = tmp_path / "d.cdl"
    path.write_text(quiet)
    ran = run_command("compile", str(path), "-o", str(tmp_path / "d.nc"), "--strict")
    assert (ran.status, ran.err) == (0, "")


def test_a_comment_hides_no_error(tmp_path: Path) -> None:
    path = tmp_path / "d.cdl"
    path.write_text("netcdf d {\nvariables:\n  int v(x) ; // nczarr: ignore[undefined-dimension]\n}\n")
    assert run_command("compile", str(path)).status == 1
