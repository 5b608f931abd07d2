"""Repository files: workflows call tasks of the Makefile, and versions stand in one place."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib

import pytest

from nczarr import __version__
from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_tasks_of_the_makefile(path: object) -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lines = re.findall(r"^ *- run: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)  # type: ignore[attr-defined]
    assert lines
    for line in lines:
        program, *words = line.split()
        assert program == "make"
        assert {word for word in words if "=" not in word} <= tasks


def test_every_version_of_python_in_the_classifiers_is_tested() -> None:
    listed = {word.rpartition(" ")[2] for word in project()["classifiers"]}  # type: ignore[attr-defined]
    stated = {word for word in listed if re.fullmatch(r"3\.[0-9]+", word)}
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert matrix is not None
    assert stated == set(re.findall(r"[0-9.]+", matrix[1]))
    assert min(stated, key=lambda word: int(word[2:])) == str(project()["requires-python"]).removeprefix(">=")


def test_the_version_stands_in_one_place() -> None:
    assert "version" in project()["dynamic"]  # type: ignore[operator]
    assert "version:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace("cff-version:", "")
    assert f"## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("tag", "status"), [(f"v{__version__}", None), ("v0.0.0", 2), ("", 2)])
def test_release_check_compares_tag_version_and_changelog(tag: str, status: int | None) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(rf"^## \[{re.escape(__version__)}\] - [0-9-]{{10}}$", changelog, re.MULTILINE)
    wanted = (0 if dated else 2) if status is None else status
    done = subprocess.run(["make", "release-check", f"TAG={tag}"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == wanted


def test_the_changelog_has_the_wanted_sections() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads
    for head in heads:
        assert re.fullmatch(r"\[[0-9]+\.[0-9]+\.[0-9]+\] - (unreleased|[0-9]{4}-[0-9]{2}-[0-9]{2})", head)
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {
        *("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    }


@pytest.mark.parametrize("home", ["", "https://host.example/owner/nczarr/blob/v1.0.0/"])
def test_links_of_the_long_description_work_outside_the_repository(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, str] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: given.update(options))
    monkeypatch.setenv("NCZARR_LINKS", home)
    runpy.run_path(str(ROOT / "setup.py"))
    links = re.findall(r"\]\(([^)]+)\)", given["long_description"])
    assert all(link.startswith("https://") for link in links)
    assert bool(home) == (f"{home}CONTRIBUTING.md" in links)
    assert "CONTRIBUTING.md" in given["long_description"]


def test_the_extra_all_has_every_extra_of_users() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (all_of_them,) = extras["all"]
    assert all_of_them.startswith("nczarr[")
    assert set(all_of_them[len("nczarr[") : -1].split(",")) == set(extras) - {"all", "dev", "docs", "peers"}
