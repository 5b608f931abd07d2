"""Choice of diagnostics: options, comments, settings of a project."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.pipeline.code_filter import CheckSettings, check_code, find_settings
from tests.conftest import ROOT, run_command

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
        check_code("nothing")


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
        ('cf = "1.99"', "'1.99' is not a version of CF; known versions: 1.6,"),
        ('cf = ""', "'' is not a version of CF"),
        ("cf = [true]", "`cf` is neither true nor a version"),
        ('select = "cf"', "`select` is not a list of codes"),
        ("select = [1]", "`select` is not a list of codes"),
        ('select = [""]', "`` is not a code"),
    ],
)
def test_bad_settings(schema: Path, tmp_path: Path, text: str, message: str) -> None:
    """Each is told with the line of the file, whatever file it is."""
    (tmp_path / "nczarr.toml").write_text(f"# settings\n{text}")
    ran = run_command("check", str(schema))
    assert (ran.status, "nczarr.toml:2: " in ran.err, message in ran.err) == (2, True, True)
    (tmp_path / "nczarr.toml").unlink()
    other = f'[project]\nname = "nczarr"\n[tool.other]\ncf = true\nselect = []\nignore = []\n[tool.nczarr]\n{text}\n'
    (tmp_path / "pyproject.toml").write_text(other)
    ran = run_command("check", str(schema))
    assert (ran.status, "pyproject.toml:8: " in ran.err, message in ran.err) == (2, True, True)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[tool]\nnczarr = 1", "2: `tool.nczarr` is not a table"),
        ("[[tool.nczarr]]\ncf = true", "1: `tool.nczarr` is not a table"),
        ('[tool]\nnczarr.cf = "7"', "2: '7' is not a version"),
        ('x = 1\n[tool]\nnczarr = {select = [], cf = "7"}', "3: '7' is not a version"),
        ("tool = 1", ""),
        ("[[tool]]", ""),
        ("x = ", ""),
    ],
)
def test_other_forms_of_a_project_file(schema: Path, tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    ran = run_command("check", str(schema))
    assert (ran.status, f"pyproject.toml:{place}" in ran.err) == ((2, True) if place else (0, False))


def test_versions_in_python(schema: Path) -> None:
    (found, *_) = nczarr.check(schema, cf="1.8", select=["cf"])
    assert found.notes[0].startswith("requirement of CF 1.8")
    assert nczarr.check(schema, cf=False, select=["cf"]) == []
    for wrong in ("1.99", ""):
        with pytest.raises(ValueError, match=f"^'{wrong}' is not a version of CF; known versions"):
            nczarr.check(schema, cf=wrong)


def test_a_file_that_is_no_toml_is_refused(schema: Path, tmp_path: Path) -> None:
    for content in (b"cf = ", b"\xff"):
        (tmp_path / "nczarr.toml").write_bytes(content)
        ran = run_command("check", str(schema))
        assert (ran.status, "nczarr.toml: " in ran.err) == (2, True)


def test_files_of_the_documentation_are_settings(tmp_path: Path) -> None:
    """Each block of the page is a whole file."""
    page = (ROOT / "docs" / "how-to" / "check-cf.md").read_text("utf-8")
    found = {}
    for number, (name, text) in enumerate(re.findall(r"`(\w+\.toml)`[^`]*```toml\n(.*?)```", page, re.DOTALL)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / name).write_text(text)
        found[name] = find_settings(tmp_path / str(number))
    assert page.count("```toml") == len(found) == 2
    assert set(found) == {"nczarr.toml", "pyproject.toml"}
    assert found["nczarr.toml"] == found["pyproject.toml"] == CheckSettings((), ("cf-long-name",), {"cf": ""})


def test_a_version_or_the_first_source_follows_the_option(schema: Path) -> None:
    assert "CF 1.8" in run_command("check", "--cf", str(schema)).err
    assert "CF 1.13" in run_command("check", "--cf", "1.13", str(schema)).err
    assert "CF 1.11" in run_command("check", str(schema), "--cf=1.11").err
    assert run_command("check", "--cf").status == 2
    bad = run_command("check", "--cf", "1.99", str(schema))
    assert bad.status == 2
    assert "known versions: 1.6" in bad.err
