"""Revisions of repositories as datasets, on the command line and in Python."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.plugins.icechunk.location import MAGIC
from nczarr.stores.open import find_repository
from tests.conftest import run_command
from tests.support.repositories import FIRST, SECOND, TELLS_PLACES, icechunk, make_repository


def test_every_revision(tmp_path: Path) -> None:
    path, (first, _) = make_repository(tmp_path)
    for text, wanted in (
        (f"icechunk:{path}", SECOND),
        (f"icechunk:{path}/#branch=main", SECOND),
        (f"icechunk:file://{path}#tag=v1", FIRST),
        (f"ICECHUNK:{path}#snapshot={first}", FIRST),
    ):
        with nczarr.open(text) as dataset:
            assert dataset["a"][:].tolist() == wanted
            assert dataset.dataset.name == "repo"


@pytest.mark.long
def test_commands(tmp_path: Path) -> None:
    path, _ = make_repository(tmp_path)
    now, before = f"icechunk:{path}", f"icechunk:{path}#tag=v1"
    assert "a = 8, 8, 8, 8, 8, 1, 2, 3, 4, 5 ;" in run_command("dump", now).out.decode()
    assert run_command("check", now).status == 0
    assert run_command("check", "--for", "zarr-python", now).status == 0
    assert run_command("diff", now, now).status == 0
    assert run_command("diff", now, before).status == 1
    assert run_command("digest", before).out != run_command("digest", now).out
    for name in ("a.nc", "a.zarr", "a.cdl"):
        ran = run_command("convert", now, str(tmp_path / name), "--verify")
        assert ran.status == 0, ran.err
        assert nczarr.diff(now, tmp_path / name) == []


@pytest.mark.long
def test_a_local_folder_needs_no_prefix(tmp_path: Path) -> None:
    import xarray

    path, _ = make_repository(tmp_path)
    assert nczarr.diff(str(path), f"icechunk:{path}") == []
    assert pickle.loads(pickle.dumps(nczarr.open(path)))["a"][:].tolist() == SECOND
    assert "a = 8, 8, 8, 8, 8, 1, 2, 3, 4, 5 ;" in run_command("dump", str(path)).out.decode()
    assert run_command("check", str(path)).status == 0
    with xarray.open_dataset(path) as guessed, xarray.open_dataset(path, engine="nczarr") as dataset:
        assert guessed["a"].values.tolist() == dataset["a"].values.tolist() == SECOND


def test_append_needs_no_prefix(tmp_path: Path) -> None:
    text = "netcdf d {{ dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = {} ; }}"
    target = tmp_path / "repo"
    nczarr.write(nczarr.from_cdl(text.format("1, 2")), f"icechunk:{target}")
    nczarr.write(nczarr.from_cdl(text.format("3")), tmp_path / "more.nc")
    nczarr.append(tmp_path / "more.nc", target, along="t")
    assert nczarr.open(f"icechunk:{target}")["v"][:].tolist() == [1, 2, 3]
    ice = icechunk()
    opened = ice.Repository.open(ice.local_filesystem_storage(str(target)))
    newest = next(iter(opened.ancestry(branch="main")))
    assert newest.message == f"Append `{tmp_path / 'more.nc'}`"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"repo": MAGIC + b"ic", "snapshots/A": b""}, True),
        ({"refs/branch.main/ref.json": b"{}", "snapshots/A": b""}, True),
        ({"refs/branch.main/ref.json": b"{}"}, False),
        ({"repo": b"another document", "snapshots/A": b""}, False),
        ({"refs/branch.main/ref.json": b"{}", "snapshots/A": b"", "zarr.json": b"{}"}, False),
        ({"snapshots/A": b""}, False),
    ],
)
def test_a_repository_is_recognized_by_its_layout(keys: dict[str, bytes], expected: bool, tmp_path: Path) -> None:
    for key, data in keys.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(data)
    assert (find_repository(str(tmp_path)) is not None) is expected


def test_virtual_chunks_in_a_reference_document(tmp_path: Path) -> None:
    """They keep their places, unless icechunk 1 hides them."""
    path, _ = make_repository(tmp_path)
    ran = run_command("convert", f"icechunk:{path}", str(tmp_path / "a.json"), "--inline", "0", "--metadata", "zarr3")
    assert ran.status == 0, ran.err
    assert nczarr.diff(f"icechunk:{path}", tmp_path / "a.json") == []
    found = json.loads((tmp_path / "a.json").read_text())["refs"]
    assert isinstance(found["a/c/0"], str)
    if TELLS_PLACES:
        assert found["a/c/1"] == [f"file://{tmp_path}/data.bin", 4, 20]
    else:
        assert isinstance(found["a/c/1"], str)


def test_names_of_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = make_repository(tmp_path, "one.repo")
    monkeypatch.chdir(tmp_path)
    os.makedirs("out")
    ran = run_command("convert", f"icechunk:{one}", f"icechunk:{one}#tag=v1", "out", "--to", "cdl")
    assert ran.status == 2
    assert "clashing-targets" in ran.err
    make_repository(tmp_path, "two")
    assert run_command("convert", f"icechunk:{one}", "icechunk:two#tag=v1", "out").status == 0
    assert sorted(os.listdir("out")) == ["one.repo.nc", "two.nc"]


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("icechunk:PATH#branch=mian", "bad-url", 2),
        ("icechunk:PATH#tag=v2", "bad-url", 2),
        ("icechunk:PATH#snapshot=zzz", "bad-url", 2),
        ("icechunk:PATH#main", "bad-url", 2),
        ("icechunk:", "bad-url", 2),
        ("icechunk:s3:///r", "bad-url", 2),
        ("icechunk:ftp://h/r", "bad-url", 2),
        ("icechunk:icechunk:PATH", "bad-url", 2),
        ("icechunk:FOLDER/missing", "unreachable-file", 3),
        ("icechunk:FOLDER", "unreachable-file", 3),
        ("icechunk:FOLDER/data.bin", "unreachable-file", 3),
        ("icechunk:memory://nothing", "unreachable-file", 3),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, text: str, code: str, status: int) -> None:
    path, _ = make_repository(tmp_path)
    ran = run_command("dump", text.replace("PATH", str(path)).replace("FOLDER", str(tmp_path)))
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.startswith(f"error[{code}]")
    assert ran.err.count("error[") == 1
    assert "Traceback" not in ran.err


def test_a_refused_chunk_is_a_diagnostic(tmp_path: Path) -> None:
    path, _ = make_repository(tmp_path)
    ran = run_command("dump", f"icechunk:{path}", "--source-root", str(path))
    assert (ran.status, ran.out) == (1, b"")
    assert "error[forbidden-target]" in ran.err
    assert run_command("dump", f"icechunk:{path}", "--source-root", str(tmp_path)).status == 0


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icechunk", None)
    ran = run_command("dump", "icechunk:repo")
    assert ran.status == 3
    assert "error[missing-library]" in ran.err
    assert "pip install 'nczarr[icechunk]'" in ran.err


def test_an_empty_repository(tmp_path: Path) -> None:
    ice = pytest.importorskip("icechunk")
    ice.Repository.create(ice.local_filesystem_storage(str(tmp_path / "r")))
    ran = run_command("dump", f"icechunk:{tmp_path}/r")
    assert ran.status == 1
    assert "error[unknown-format]" in ran.err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_process_that_was_forked_after_use_says_so(tmp_path: Path) -> None:
    """Icechunk's threads are not in it: a call would wait for ever."""
    made = nczarr.from_cdl("netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    nczarr.write(made, f"icechunk:{tmp_path}/repo")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            nczarr.open(tmp_path / "repo")
            os.write(writing, b"opened")
        except OSError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "forked from one that had used icechunk" in said
    assert "`spawn`" in said


def test_the_store_of_a_session(tmp_path: Path) -> None:
    zarr, library = pytest.importorskip("zarr"), icechunk()
    repository = library.Repository.create(library.in_memory_storage())
    session = repository.writable_session("main")
    zarr.open_group(session.store, mode="w").create_array("v", data=np.array([1, 2]), dimension_names=["x"])
    session.commit("first")
    store = repository.readonly_session("main").store
    assert nczarr.open(store)["v"][...].tolist() == [1, 2]
    nczarr.convert(store, tmp_path / "v.nc")
    assert nczarr.open(tmp_path / "v.nc")["v"][...].tolist() == [1, 2]
