"""`--dask`: a cluster of separate processes makes the same bytes as the threads of this one, whatever befalls it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plan.plans import Conversion
from nczarr.semantics.checked import Checked
from tests.conftest import ROOT, run_command
from tests.support.peers.cluster import Cluster
from tests.support.series import content
from tests.support.signals import hear_interrupts

Peer = Callable[[str], ModuleType]

CASES: dict[str, dict[str, Any]] = {
    "copy": {},
    "transcode": {"codecs": "zlib:3"},
    "rechunk": {"chunks": {"/v": (32, 16, 16)}, "memory": 1 << 21},
    "part": {"sections": ["v(3:30:2, :, 5:60)"], "codecs": "zlib:3"},
    "shards": {"format": "nczarr3", "shards": {"/v": (8, 64, 64)}},
    "rechunked shards": {"format": "nczarr3", "shards": {"/v": (8, 32, 32)}, "chunks": {"/v": (4, 16, 16)}},
}


@pytest.fixture(scope="module")
def cluster(peer: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    peer("distributed")
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def own_cluster(peer: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    peer("distributed")
    with Cluster(tmp_path_factory.mktemp("own")) as started:
        yield started


def dataset() -> nczarr.DatasetHandle:
    """Three variables: one in many chunks, one whose values stay small, one of texts."""
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension(name, size) for name, size in (("t", 32), ("y", 64), ("x", 64))]
    v = builder.variable("v", "float", axes, fill_value=-1.0, chunks=(2, 32, 32), codecs=[("deflate", 1)])
    v.attribute("units", "K")
    builder.variable("w", "short", axes[:1])
    builder.variable("s", "string", axes[:1])
    values = np.round(np.random.default_rng(5).normal(size=(32, 64, 64)), 1).astype("f4")
    texts = np.array([f"text {number}".encode() for number in range(32)], object)
    return builder.finish(data={"/v": values, "/w": np.arange(32), "/s": texts})


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sources")
    found = {name: folder / name for name in ("a.nc", "b.zarr", "c.zip")}
    for path in found.values():
        nczarr.write(dataset(), path)
    return found


def checked_at(path: Path) -> Checked:
    found = phases.read_path(str(path), Report(), Options())
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.parametrize("case", CASES)
def test_a_cluster_makes_the_same_bytes(case: str, cluster: Cluster, sources: dict[str, Path], tmp_path: Path) -> None:
    for name in sources if case == "transcode" else ("a.nc",):
        local, distant = tmp_path / f"{name}.l.zarr", tmp_path / f"{name}.d.zarr"
        done = nczarr.convert(sources[name], local, **CASES[case])
        again = nczarr.convert(sources[name], distant, dask=cluster.url, **CASES[case])
        assert content(distant) == content(local)
        assert again._replace(target="") == done._replace(target="")


@pytest.mark.slow
@pytest.mark.peer
def test_values_in_memory_travel_or_stay(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.dask import cluster as client

    nczarr.convert(dataset(), tmp_path / "l.zarr")
    nczarr.convert(dataset(), tmp_path / "d.zarr", dask=cluster.url)
    assert content(tmp_path / "d.zarr") == content(tmp_path / "l.zarr")
    monkeypatch.setattr(client, "SHIPPED", 1000)
    nczarr.convert(dataset(), tmp_path / "e.zarr", dask=cluster.url)
    assert content(tmp_path / "e.zarr") == content(tmp_path / "l.zarr")


@pytest.mark.slow
@pytest.mark.peer
def test_a_source_is_named_from_where_the_client_is(
    cluster: Cluster, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources["a.nc"].parent)
    for name in sources:
        nczarr.convert(name, tmp_path / f"{name}.zarr", codecs="zlib:2", dask=cluster.url)


@pytest.fixture
def damaged(sources: dict[str, Path], tmp_path: Path) -> Path:
    """A store one chunk of which cannot be decoded."""
    path = tmp_path / "damaged.zarr"
    nczarr.convert(sources["b.zarr"], path)
    (path / "v" / "3.0.1").write_bytes(b"no zlib")
    return path


@pytest.mark.long
@pytest.mark.peer
def test_an_unreadable_chunk_is_the_same_diagnostic(cluster: Cluster, damaged: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    arguments = ("convert", str(damaged), str(out / "t.zarr"), "--codec", "zlib:4")
    local = run_command(*arguments)
    distant = run_command(*arguments, "--dask", cluster.url)
    assert (distant.status, distant.err) == (local.status, local.err)
    assert local.status == 1
    assert "unreadable-chunk" in local.err
    assert not list(out.iterdir())


@pytest.mark.long
@pytest.mark.peer
def test_a_file_out_of_reach_is_the_same_error(cluster: Cluster, sources: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.nc"
    copy.write_bytes(sources["a.nc"].read_bytes())
    checked = checked_at(copy)
    os.utime(copy, (1, 1))
    (tmp_path / "out").mkdir()
    failures = []
    for address in (None, cluster.url):
        with pytest.raises(OSError, match="has changed since it was opened") as failed:
            write(checked, tmp_path / "out" / "t.zarr", dask=address)
        failures.append((failed.value.errno, failed.value.strerror, failed.value.filename))
    assert failures[0] == failures[1]
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.slow
@pytest.mark.peer
def test_no_log_has_a_storage_option(cluster: Cluster, damaged: Path, sources: dict[str, Path], tmp_path: Path) -> None:
    """Neither where a task fails with a diagnostic, nor where it crashes and dask logs what it was called with."""
    from distributed import Client

    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.plugins.dask import worker
    from nczarr.plugins.remote.remote_store import RemoteStore

    options = {"secret_key": "hunter22"}
    target = f"local://{tmp_path}/t.zarr"
    nczarr.convert(sources["b.zarr"], target, codecs="zlib:2", dask=cluster.url, storage_options=options)
    with pytest.raises(CompileError, match="unreadable-chunk"):
        nczarr.convert(
            damaged, target.replace("t.zarr", "u.zarr"), codecs="zlib:2", dask=cluster.url, storage_options=options
        )
    store = RemoteStore(target, StorageOptions(options))
    with Client(cluster.url, set_as_default=False) as client:
        values = [worker.Parcel(store, "store"), worker.Parcel(pickle.dumps(store), "parcel")]
        crash = client.submit(worker.do_task, "run", *values, ("not", "a", "task"), 1 << 20, pure=False)
        with pytest.raises(AttributeError):
            crash.result(timeout=30)
    assert "Compute Failed" in cluster.logs
    assert "hunter22" not in cluster.logs


def write(checked: Checked, target: Path, watch: Callable[[int], None] | None = None, **options: Any) -> Conversion:
    form = nczarr.registry.find_format("nczarr")
    assert form is not None
    report = Report()
    done = phases.write(checked, str(target), form, report, Options.of(codecs={"": "zlib:9"}, **options), watch)
    assert done is not None, report.list_sorted()
    return done


@pytest.mark.peer
@pytest.mark.slow
def test_a_lost_worker_changes_nothing(
    own_cluster: Cluster, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nczarr.plugins.dask.cluster.BATCH", 1 << 14)
    checked, seen = checked_at(sources["a.nc"]), []

    def watch(size: int) -> None:
        if not seen:
            own_cluster.kill("worker1")
        seen.append(size)

    write(checked, tmp_path / "l.zarr")
    write(checked, tmp_path / "d.zarr", watch, dask=own_cluster.url)
    assert len(seen) > 10
    assert content(tmp_path / "d.zarr") == content(tmp_path / "l.zarr")


@pytest.mark.peer
@pytest.mark.slow
def test_workers_killed_at_random_change_nothing(
    own_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty workers die at random moments of four runs, each replaced by a new one."""
    monkeypatch.setattr("nczarr.plugins.dask.cluster.BATCH", 1 << 14)
    values = np.round(np.random.default_rng(7).normal(size=(128, 64, 64)), 1).astype("f4")
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension(name, size) for name, size in zip("tyx", values.shape, strict=True)]
    builder.variable("v", "float", axes, chunks=(1, 32, 32), codecs=[("deflate", 1)])
    nczarr.write(builder.finish(data={"/v": values}), tmp_path / "a.nc")
    checked = checked_at(tmp_path / "a.nc")
    write(checked, tmp_path / "l.zarr")
    wanted = content(tmp_path / "l.zarr")
    alive, killed, drawn = ["worker0", "worker1"], 0, np.random.default_rng()
    moments: list[int] = []
    """Numbers of ended keys of all runs after which a worker is killed."""
    seen = 0

    def watch(size: int) -> None:
        nonlocal seen, killed
        seen += 1
        if moments and seen >= moments[0]:
            del moments[0]
            own_cluster.kill(alive.pop(int(drawn.integers(len(alive)))))
            killed += 1
            alive.append(f"worker{killed + 1}")
            own_cluster.add(alive[-1])

    for run in range(4):
        moments += sorted((seen + drawn.choice(np.arange(5, 120), 5, replace=False)).tolist())
        write(checked, tmp_path / f"d{run}.zarr", watch, dask=own_cluster.url)
        assert content(tmp_path / f"d{run}.zarr") == wanted
    assert killed == 20


@pytest.mark.peer
@pytest.mark.slow
def test_without_any_worker_a_run_ends(
    own_cluster: Cluster, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nczarr.plugins.dask import cluster as client

    monkeypatch.setattr(client, "PATIENCE", 2.0)
    killed: list[int] = []

    def watch(size: int) -> None:
        if not killed:
            own_cluster.kill("worker0")
            own_cluster.kill("worker1")
            killed.append(size)

    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="lost all its workers") as failed:
        write(checked_at(sources["a.nc"]), tmp_path / "out" / "t.zarr", watch, dask=own_cluster.url)
    assert failed.value.filename == own_cluster.url
    ran = run_command("convert", str(sources["a.nc"]), str(tmp_path / "out" / "t.zarr"), "--dask", own_cluster.url)
    assert ran.status == 3
    assert "the cluster has no worker" in ran.err
    own_cluster.kill("scheduler")
    monkeypatch.setattr(client, "CONNECTING", 1.0)
    ran = run_command("convert", str(sources["a.nc"]), str(tmp_path / "out" / "t.zarr"), "--dask", own_cluster.url)
    assert ran.status == 3
    assert "no dask scheduler answers at this address" in ran.err
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.peer
@pytest.mark.slow
def test_a_run_that_lost_its_workers_is_gone_on_with(
    own_cluster: Cluster, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nczarr.plugins.dask.cluster.BATCH", 1 << 14)
    monkeypatch.setattr("nczarr.plugins.dask.cluster.PATIENCE", 2.0)
    killed: list[int] = []

    def watch(size: int) -> None:
        if not killed:
            own_cluster.kill("worker0")
            own_cluster.kill("worker1")
        killed.append(size)

    out = tmp_path / "out"
    out.mkdir()
    checked, options = checked_at(sources["a.nc"]), {"resume": True, "source": str(sources["a.nc"])}
    with pytest.raises(OSError, match="lost all its workers") as failed:
        write(checked, out / "t.zarr", watch, dask=own_cluster.url, **options)
    assert "--resume" in failed.value.__notes__[0]
    assert [path.name.partition(".partial-")[0] for path in out.iterdir()] == ["t.zarr"]
    own_cluster.add("worker2")
    done = write(checked, out / "t.zarr", dask=own_cluster.url, **options)
    assert 0 < done.skipped_keys < 128
    write(checked, tmp_path / "l.zarr")
    assert [path.name for path in out.iterdir()] == ["t.zarr"]
    assert content(out / "t.zarr") == content(tmp_path / "l.zarr")


@pytest.mark.peer
@pytest.mark.slow
def test_without_its_scheduler_a_run_ends(own_cluster: Cluster, sources: dict[str, Path], tmp_path: Path) -> None:
    seen: list[int] = []

    def watch(size: int) -> None:
        if not seen:
            own_cluster.kill("scheduler")
        seen.append(size)

    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="scheduler") as failed:
        write(checked_at(sources["a.nc"]), tmp_path / "out" / "t.zarr", watch, dask=own_cluster.url)
    assert failed.value.filename == own_cluster.url
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raise ModuleNotFoundError('No module named nczarr', name='nczarr')", "cannot import nczarr"),
        ('__version__ = "0.0"', "has nczarr 0.0, but this process has"),
    ],
)
def test_a_worker_without_this_nczarr_is_refused(
    module: str, said: str, peer: Peer, sources: dict[str, Path], tmp_path: Path
) -> None:
    peer("distributed")
    (tmp_path / "front" / "nczarr").mkdir(parents=True)
    (tmp_path / "front" / "nczarr" / "__init__.py").write_text(module)
    (tmp_path / "logs").mkdir()
    with Cluster(tmp_path / "logs", 1, front=tmp_path / "front") as other:
        ran = run_command("convert", str(sources["a.nc"]), str(tmp_path / "t.zarr"), "--dask", other.url)
    assert ran.status == 3
    assert said in ran.err
    assert not (tmp_path / "t.zarr").exists()


@pytest.mark.peer
@pytest.mark.slow
def test_a_full_disk_is_the_same_error(peer: Peer, sources: dict[str, Path], tmp_path: Path) -> None:
    peer("distributed")
    (tmp_path / "logs").mkdir()
    (tmp_path / "out").mkdir()
    command = ["convert", str(sources["a.nc"]), str(tmp_path / "out" / "t.zarr"), "--codec", "none"]
    local = subprocess.run(
        [sys.executable, "-c", LIMITED, *command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    with Cluster(tmp_path / "logs", largest=1 << 12) as small:
        distant = run_command(*command, "--dask", small.url)
    assert (distant.status, distant.err) == (local.returncode, local.stderr)
    assert local.returncode == 3
    assert "File too large" in local.stderr
    assert not list((tmp_path / "out").iterdir())


LIMITED = """
import resource, signal, sys
sys.dont_write_bytecode = True  # Python does not notice that it writes half a file
from nczarr.__main__ import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, 1 << 12))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.peer
@pytest.mark.slow
def test_an_interrupt_leaves_nothing(own_cluster: Cluster, tmp_path: Path) -> None:
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension(name, 256) for name in "tyx"]
    builder.variable("v", "float", axes, chunks=(4, 32, 32))
    values = np.random.default_rng(5).normal(size=(256, 256, 256)).astype("f4")
    nczarr.write(builder.finish(data={"/v": values}), tmp_path / "a.nc")
    (tmp_path / "out").mkdir()
    command = ["convert", str(tmp_path / "a.nc"), str(tmp_path / "out" / "t.zarr"), "--codec", "zlib:9"]
    for sign in (signal.SIGINT, signal.SIGINT):
        process = subprocess.Popen(
            [sys.executable, "-m", "nczarr", *command, "--dask", own_cluster.url], cwd=ROOT, preexec_fn=hear_interrupts
        )
        end = time.monotonic() + 60
        while not list((tmp_path / "out").rglob("[0-9]*")):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(sign)
        assert process.wait(60) == 130
        assert not list((tmp_path / "out").iterdir())
        time.sleep(1)
        assert not list((tmp_path / "out").iterdir())
