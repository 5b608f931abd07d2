"""The parts of a run on a cluster that need no cluster; tests/peers/test_dask.py has one."""

from __future__ import annotations

import pickle
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.execution.counts import Counts
from nczarr.ast import Dataset, Storage, Variable
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source, Span
from nczarr.link.run import perform
from nczarr.link.target import is_divisible
from nczarr.link.tasks import TaskSize, WrittenPart, arrays, tasks
from nczarr.options import Options
from nczarr.plan.planner import plan_target
from nczarr.plugins.dask import cluster, worker
from nczarr.registry import find_format
from nczarr.stores.memory import MemoryStore
from tests.support.making import checked


def array_of(side: int, **options: Any) -> WrittenPart:
    variable = Variable(name="v", type="int", dimensions=(side, side), storage=Storage(chunks=(4, 4)))
    data = checked(Dataset(name="", variables=(variable,)), {"/v": np.arange(side * side).reshape(side, side)})
    form = find_format("nczarr3")
    assert form is not None
    planned = plan_target(data, form, Options.of(**options), Report())
    assert planned is not None
    (array,) = arrays(planned)
    return array


@pytest.mark.parametrize("options", [{}, {"shards": {"/v": (8, 16)}}])
def test_tasks_and_arrays_travel(options: dict[str, Any]) -> None:
    """Each task is done by itself, out of order, from what a pickle holds."""
    array, whole, parts = array_of(16, **options), MemoryStore(), MemoryStore()
    measure = TaskSize(keys=3, size=1 << 20, memory=1 << 20, workers=1)
    for store, order in ((whole, 1), (parts, -1)):
        for task in list(tasks(0, array, store, measure, Counts()))[::order]:
            sent, described = pickle.loads(pickle.dumps((task, array)))
            counts = pickle.loads(pickle.dumps(perform(described, sent, store, 1 << 20)))
            assert counts.total.chunks > 0
    assert whole.content == parts.content
    assert len(whole.content) == (2 if options else 16)


def test_an_array_with_many_values_stays() -> None:
    small, large = array_of(16), array_of(2048)
    assert cluster.pack(small, "small") is not None
    assert cluster.pack(large, "large") is None


def test_parcels_do_not_show_what_is_in_them() -> None:
    parcel = worker.Parcel(pickle.dumps("hunter22"), "target s3://b/k")
    assert repr([parcel, worker.unpack(parcel)]) == "[<target s3://b/k>, <target s3://b/k>]"


def test_findings_travel() -> None:
    place = Label(Span(Source("t.zarr", b"", key="v/0"), 0, 0), key="v/0")
    error = CompileError([Diagnostic("unreadable-chunk", Severity.ERROR, "cut short", place)])
    again = pickle.loads(pickle.dumps(worker.Outcome(failure=error))).failure
    assert str(again) == str(error)
    assert again.diagnostics[0].primary.span.source.name == "t.zarr"
    gone = pickle.loads(pickle.dumps(OSError(None, "has changed", "/a/b")))
    assert (gone.errno, gone.strerror, gone.filename) == (None, "has changed", "/a/b")


def test_tasks_of_a_process_share_its_memory() -> None:
    process, now, most = worker._Process(), [0], [0]

    def work(need: int) -> None:
        with process.at_work("run", need, 100):
            now[0] += need
            most[0] = max(most[0], now[0])
            time.sleep(0.005)
            now[0] -= need

    threads = [threading.Thread(target=work, args=(need,)) for need in (40, 60, 30, 500, 70, 20, 90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 500  # alone
    assert not process.is_busy("run")


def test_nothing_is_begun_for_a_run_that_has_ended() -> None:
    process = worker._Process()
    told: list[bool] = []

    def wait() -> None:
        with process.at_work("run", 100, 100) as goes_on:
            told.append(goes_on)

    with process.at_work("other", 100, 100):
        thread = threading.Thread(target=wait)
        thread.start()
        process.end("run")
        thread.join()
    assert told == [False]


def test_a_task_that_kills_every_worker_says_so() -> None:
    distributed = pytest.importorskip("distributed")

    def result(timeout: float) -> None:
        raise distributed.KilledWorker("task", SimpleNamespace(address="tcp://w:1"), 3)

    with pytest.raises(
        cluster.ClusterLostError, match=r"4 workers in succession died during the same task.* tcp://w:1"
    ):
        cluster.outcome_of(SimpleNamespace(status="error", result=result))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "form", "address", "code"),
    [
        ("t.nc", "netcdf4", "tcp://127.0.0.1:8786", "indivisible-run"),
        ("t.ZIP", "nczarr", "tcp://127.0.0.1:8786", "indivisible-run"),
        ("t.zarr", "nczarr", "127.0.0.1", "bad-url"),
        ("t.zarr", "nczarr", "tcp://user@host:8786", "bad-url"),
        ("t.zarr", "nczarr", "tcp://127.0.0.1:8786", None),
        ("s3://b/t.zarr", "zarr3", "scheduler:8786", None),
    ],
)
def test_what_a_cluster_can_do(path: str, form: str, address: str, code: str | None) -> None:
    pytest.importorskip("distributed")
    row, report = find_format(form), Report()
    assert row is not None
    assert is_divisible(path, row, address, report) is (code is None)
    assert [each.code for each in report.list_sorted()] == ([code] if code else [])


def test_without_distributed_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plugins.dask.cluster.find_spec", lambda name: None)
    row, report = find_format("nczarr"), Report()
    assert row is not None
    assert not is_divisible("t.zarr", row, "tcp://127.0.0.1:8786", report)
    assert [each.code for each in report.list_sorted()] == ["missing-library"]


def test_without_an_executor_the_option_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.link.executor.find_place", lambda kind, name: None)
    row, report = find_format("zarr2"), Report()
    assert row is not None
    assert not is_divisible("t.zarr", row, "tcp://127.0.0.1:8786", report)
    assert [(each.code, each.message) for each in report.list_sorted()] == [
        ("missing-library", "`--dask` needs an executor, and no plugin adds it")
    ]
