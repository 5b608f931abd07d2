"""Choice of diagnostics: options, comments, settings of a project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.pipeline.code_filter import CheckSettings, check_codes, find_settings
from tests.conftest import run_command

TEXT = """netcdf t {
variables:
  float v ;
    v:units = "metter" ;
    v:standard_name = "air_temprature" ;
  :Conventions = "CF-1.8" ;
}
"""


def codes(path: Path, *options: str) -> list[str]:
    ran = run_command("check", "--cf", *options, str(path))
    return [line.split("[")[1].split("]")[0] for line in ran.err.splitlines() if line[:6] in ("error[", "warnin")]


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]) -> Path:
    peer("cf_units")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.cdl"
    path.write_text(TEXT)
    return path


def test_select_and_ignore(schema: Path) -> None:
    every = codes(schema)
    assert set(every) == {"cf-units", "cf-standard-name"}
    assert codes(schema, "--select", "cf-units") == ["cf-units"]
    assert codes(schema, "--select", "cf", "--ignore", "cf-units") == ["cf-standard-name"]
    assert codes(schema, "--ignore", "cf") == []
    assert run_command("check", "--cf", "--ignore", "cf", str(schema)).status == 0
    assert [found.code for found in nczarr.check(schema, cf=True, ignore=["cf-units"])] == ["cf-standard-name"]


def test_unknown_codes_are_refused(schema: Path) -> None:
    ran = run_command("check", "--ignore", "cf-unit", str(schema))
    assert ran.status == 2
    assert "did you mean `cf-units`?" in ran.err
    with pytest.raises(ValueError, match="first word"):
        check_codes(["nothing"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"metter" ;', '"metter" ;  // nczarr: ignore[cf-units]'),
        ('"metter" ;', '"metter" ;  // as sent; nczarr: ignore[cf-name, cf-units]'),
        ('v:units = "metter"', '// nczarr: ignore[cf]\n    v:units = "metter"'),
    ],
)
def test_comments(schema: Path, old: str, new: str) -> None:
    schema.write_text(TEXT.replace(old, new))
    assert codes(schema) == ["cf-standard-name"]


def test_a_comment_behind_a_statement_concerns_its_line_alone(schema: Path) -> None:
    schema.write_text(TEXT.replace("float v ;", "float v ; // nczarr: ignore[cf-units]"))
    assert "cf-units" in codes(schema)


def test_errors_of_unreadable_sources_are_always_shown(schema: Path) -> None:
    schema.write_text("netcdf t { variables: float v(x) ; }")
    ran = run_command("check", "--ignore", "undefined", "--select", "cf", str(schema))
    assert ran.status == 1
    assert "undefined-dimension" in ran.err


def test_settings(schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.nczarr]\ncf = true\nignore = ["cf-units"]\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    ran = run_command("check", str(schema))
    assert ran.err.count("error[") == 1
    assert "cf-standard-name" in ran.err
    (tmp_path / "a" / "nczarr.toml").write_text('cf = "1.6"\nselect = ["cf-units"]\n')
    assert "CF 1.6" in run_command("check", str(schema)).err
    assert find_settings(inner) == CheckSettings(("cf-units",), (), {"cf": "1.6"})
    assert "CF 1.8" in run_command("check", "--cf", "1.8", str(schema)).err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('selct = ["cf"]', "unknown key `selct`; did you mean `select`?"),
        ("ignore = 1", "`ignore` is not a list of codes"),
        ('ignore = ["cf-unit"]', "did you mean `cf-units`?"),
        ("cf = 1", "`cf` is neither true nor a version"),
        ("cf = ", "nczarr.toml: Invalid value"),
    ],
)
def test_bad_settings(schema: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "nczarr.toml").write_text(text)
    ran = run_command("check", str(schema))
    assert ran.status == 2
    assert message in ran.err


def test_a_version_or_the_first_source_follows_the_option(schema: Path) -> None:
    assert "CF 1.8" in run_command("check", "--cf", str(schema)).err
    assert "CF 1.13" in run_command("check", "--cf", "1.13", str(schema)).err
    assert "CF 1.11" in run_command("check", str(schema), "--cf=1.11").err
    assert run_command("check", "--cf").status == 2
    bad = run_command("check", "--cf", "1.99", str(schema))
    assert bad.status == 2
    assert "known versions: 1.6" in bad.err
