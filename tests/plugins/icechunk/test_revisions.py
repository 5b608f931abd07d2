"""`nczarr revisions`: branches, tags and commits, beside what icechunk itself says of the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command

icechunk = pytest.importorskip("icechunk")

TEXT = "netcdf n { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, %s ; }"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with two commits on the branch `main`."""
    path = tmp_path / "repo"
    for number in (2, 3):
        nczarr.write(nczarr.from_cdl(TEXT % number), f"icechunk:{path}", overwrite=True, message=f"value {number}")
    return path


def opened(path: Path) -> Any:
    return icechunk.Repository.open(icechunk.local_filesystem_storage(str(path)))


def test_a_list(repo: Path) -> None:
    ran = run_command("revisions", str(repo))
    main = opened(repo).lookup_branch("main")
    lines = ran.out.decode().splitlines()
    assert lines[0].split() == ["branch", "main", main]
    commits = list(opened(repo).ancestry(branch="main"))
    assert [line.split()[0] for line in lines[2:]] == [commit.id for commit in commits]
    assert [line.split("Z  ")[1] for line in lines[2:4]] == ["value 3", "value 2"]
    record = json.loads(run_command("revisions", str(repo), "--message-format", "json").err.splitlines()[-1])
    assert (record["branches"], record["tags"]) == ({"main": main}, {})


def test_branches_and_tags_are_made_moved_and_deleted(repo: Path) -> None:
    first, last = list(opened(repo).ancestry(branch="main"))[1::-1]
    assert run_command("revisions", f"icechunk:{repo}#snapshot={first.id}", "--tag", "v1").status == 0
    assert opened(repo).lookup_tag("v1") == first.id
    assert run_command("revisions", f"icechunk:{repo}#tag=v1", "--branch", "fix").status == 0
    assert nczarr.open(f"icechunk:{repo}#branch=fix")["v"][:].tolist() == [1, 2]
    assert run_command("revisions", str(repo), "--reset", "fix", "--dry-run").status == 0
    assert opened(repo).lookup_branch("fix") == first.id
    moved = run_command("revisions", str(repo), "--reset", "fix")
    assert opened(repo).lookup_branch("fix") == last.id
    assert f"it was at {first.id}" in moved.err
    assert run_command("revisions", str(repo), "--delete-branch", "fix").status == 0
    assert set(opened(repo).list_branches()) == {"main"}


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--tag", "v1"), 2, "target-exists"),
        (("--branch", "main"), 2, "target-exists"),
        (("--reset", "mian"), 2, "did you mean `main`?"),
        (("--delete-tag", "v2"), 2, "no tag `v2`"),
        (("--branch", "a", "--tag", "b"), 2, "one by one"),
        (("--expire", "yesterday"), 2, "takes a time"),
    ],
)
def test_what_is_refused(repo: Path, words: tuple[str, ...], status: int, code: str) -> None:
    run_command("revisions", str(repo), "--tag", "v1")
    before = opened(repo).list_branches(), opened(repo).list_tags()
    ran = run_command("revisions", str(repo), *words)
    assert (ran.status, code in ran.err) == (status, True), ran.err
    assert (opened(repo).list_branches(), opened(repo).list_tags()) == before


def test_a_tag_is_for_ever(repo: Path) -> None:
    for words in (("--tag", "v1"), ("--delete-tag", "v1")):
        assert run_command("revisions", str(repo), *words).status == 0
    ran = run_command("revisions", str(repo), "--tag", "v1")
    assert "error[target-exists]" in ran.err
    assert "had a tag `v1`" in ran.err
    assert (
        "`main` of a repository cannot be deleted" in run_command("revisions", str(repo), "--delete-branch", "main").err
    )


def test_old_commits_are_removed(repo: Path) -> None:
    snapshots = len(list((repo / "snapshots").iterdir()))
    assert run_command("revisions", str(repo), "--expire", "2000-01-01").status == 0
    assert len(list(opened(repo).ancestry(branch="main"))) == 3
    assert run_command("revisions", str(repo), "--expire", "2999-01-01").status == 0
    assert len(list(opened(repo).ancestry(branch="main"))) < 3
    assert len(list((repo / "snapshots").iterdir())) < snapshots
    assert nczarr.open(str(repo))["v"][:].tolist() == [1, 3]


def test_no_repository(tmp_path: Path) -> None:
    assert run_command("revisions", str(tmp_path / "none")).status == 3
    (tmp_path / "empty").mkdir()
    assert "not an icechunk repository" in run_command("revisions", str(tmp_path / "empty")).err
