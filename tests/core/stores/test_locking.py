"""Messages of a run about killed runs, and about the files that they left beside the target."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.stores import finish as removal
from nczarr.stores.finish import lock_target
from nczarr.stores.lock import Holder, lock_name
from tests.conftest import run_command

PARTIAL, REPLACED, REMOVED = (f"t.zarr.{word}-01234567" for word in ("partial", "replaced", "removed"))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A target beside which runs have left folders."""
    for name in (PARTIAL, REPLACED, REMOVED):
        (tmp_path / name).mkdir()
        (tmp_path / name / "zarr.json").write_text("{}")
    return tmp_path / "t.zarr"


def abandon(target: Path) -> None:
    """Leave the lock of a run that was killed."""
    (target.parent / lock_name(target.name)).write_bytes(Holder.this().bytes())


def messages(target: Path, *, finish: bool = False) -> dict[str, tuple[str, ...]]:
    report = Report()
    with lock_target(str(target), report, NO_OPTIONS, replaces=True):
        if finish:
            (target.parent / PARTIAL).rename(target)
    assert {each.code for each in report.list_sorted()} <= {"abandoned-target"}
    return {each.message: each.helps for each in report.list_sorted()}


@pytest.mark.parametrize("resumable", [True, False])
def test_leftovers_of_a_killed_run_are_named(target: Path, resumable: bool) -> None:
    abandon(target)
    if resumable:
        (target.parent / PARTIAL / ".nczarr-journal").touch()
    partial, replaced = sorted(messages(target).items())
    assert partial[0] == f"a run that was killed has left an incomplete target in `{target.parent / PARTIAL}`"
    resume = ("continue it by the same command with `--resume`",) if resumable else ()
    assert partial[1] == (*resume, "remove it if it is not needed")
    assert replaced[0] == f"a run that was killed has left the target as it was before in `{target.parent / REPLACED}`"
    assert replaced[1] == ("remove it if it is not needed",)
    assert removal._removers[-1].wait(60) == 0
    assert sorted(path.name for path in target.parent.iterdir()) == [PARTIAL, REPLACED]


def test_leftovers_beside_the_target_of_a_link_are_named(target: Path) -> None:
    target.mkdir()
    link = target.parent / "links" / "link.zarr"
    link.parent.mkdir()
    link.symlink_to(target)
    (link.parent / "link.zarr.partial-01234567").mkdir()
    abandon(target)
    places = {text.rpartition("`")[0].rpartition("`")[2] for text in messages(link)}
    assert places == {f"{link}.partial-01234567", str(target.parent / PARTIAL), str(target.parent / REPLACED)}
    assert removal._removers[-1].wait(60) == 0


def test_they_are_named_once(target: Path) -> None:
    abandon(target)
    assert len(messages(target)) == 2
    assert messages(target) == {}


def test_one_that_the_run_completes_is_not_named(target: Path) -> None:
    abandon(target)
    assert [REPLACED in message for message in messages(target, finish=True)] == [True]


def test_without_a_killed_run_nothing_is_named(target: Path) -> None:
    assert messages(target) == {}
    assert (target.parent / REMOVED).is_dir()


def test_a_command_names_them(target: Path) -> None:
    abandon(target)
    source = target.parent / "s.nc"
    nczarr.write(nczarr.from_cdl("netcdf s { variables: int v ; data: v = 1 ; }"), source)
    ran = run_command("convert", str(source), str(target))
    assert ran.status == 0
    assert ran.err.count("abandoned-target") == 2
    assert run_command("convert", str(source), str(target), "--overwrite").err.count("abandoned-target") == 0
