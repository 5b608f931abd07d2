"""Execution of a plan on a dask cluster (`--dask`): the client sends a bounded number of tasks at a time.

Workers reach source files and folders by absolute paths, and remote stores by
their descriptions; small in-memory values travel with a task. Small arrays and
large in-memory values are processed by the client. The scheduler repeats the
tasks of lost workers; this is safe because a key always gets the same bytes.
"""

from __future__ import annotations

import io
import pickle
import pkgutil
import re
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from secrets import token_hex
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from nczarr import __version__
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.regions import Selection
from nczarr.arrays.sources.source import Deferred
from nczarr.arrays.sources.windows import FETCHED
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.link.executor import ExecutorKind
from nczarr.link.run import is_small, link
from nczarr.link.tasks import MOST, Task, TaskSize, WrittenPart, is_far, tasks
from nczarr.options import RunOptions
from nczarr.plugins.dask import worker
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECTING = 10.0
"""Timeout for the scheduler to answer, in seconds."""

PATIENCE = 60.0
"""Maximum time without any worker, in seconds."""

LOOK = 1.0
"""Polling interval while no task ends, in seconds."""

AHEAD = 3
"""Pending tasks per thread of the cluster."""

SHIPPED = 8 << 20
"""Maximum bytes of an array description; larger ones contain values and stay at the client."""

BATCH = 8 << 20
"""Decoded bytes that are worth a task on the cluster."""

FAR_BATCH = 8 * FETCHED
"""`BATCH` for a distant source or target, where a worker has many requests under way."""


_ADDRESS = r"(?a:(?:[a-z]+://)?[^\s/@?#]+:[0-9]+/?|inproc://[^\s@?#]+)"
"""Address of a scheduler: `tcp://host:port`, `tls://host:port`, `host:port`, or dask's name of one in this process."""


class Cluster:
    """Connection to a cluster for one run. Raises OSError without scheduler or suitable workers."""

    def __init__(self, url: str) -> None:
        from distributed import Client

        self.url = url
        self._run = token_hex(8)
        with ExitStack() as opened:
            opened.enter_context(_silence())
            active = _active(url)
            try:
                self._client = active or Client(url, timeout=CONNECTING, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:  # no protocol of dask's, no certificates
                self._fail(f"no dask scheduler answers at this address: {error}")
            if active is None:
                opened.callback(self._client.close)
            self._wait_for_workers()
            self._compare_versions()
            self._opened = opened.pop_all()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._opened.close()

    def _wait_for_workers(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self._client.nthreads():
            if time.monotonic() > end:
                self._fail(f"the cluster has no worker and got none within {PATIENCE:.0f} s")
            time.sleep(min(LOOK, PATIENCE))

    def _compare_versions(self) -> None:
        """Raise OSError unless every process of the cluster has this version of nczarr."""
        asked = (pkgutil.resolve_name, "nczarr:__version__")
        answers = dict(self._client.run(*asked, on_error="return"))
        try:
            answers["the scheduler"] = self._client.run_on_scheduler(*asked)
        except ImportError as error:
            answers["the scheduler"] = error
        for place, answer in sorted(answers.items()):
            who = place if place == "the scheduler" else f"worker {place}"
            if isinstance(answer, ImportError):
                self._fail(f"{who} cannot import nczarr: {answer}")
            if isinstance(answer, BaseException):
                raise answer
            if answer != __version__:
                self._fail(f"{who} has nczarr {answer}, but this process has {__version__}")

    def _fail(self, text: str) -> NoReturn:
        raise OSError(None, text, self.url)

    def link(self, numbered: Iterator[tuple[int, WrittenPart]], store: Store, run: RunOptions, counts: Counts) -> None:
        """Write all data keys of some arrays. No worker is active after it ends, even after a failure.

        Raises OSError if store or cluster fail, CompileError for unreadable
        chunks.
        """
        sending = _Sending(self._client, self._run, store, run.memory, counts)
        try:
            for number, array in numbered:
                sending.send(number, array)
            link(sending.own, store, run, counts)
            sending.drain()
        except ClusterLostError as error:
            self._fail(str(error))
        finally:
            sending.settle()

    def results(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """Yield the results of calls in order; workers run some ahead.

        Functions and arguments are pickled on the way, and never shown. Raises the
        failures of calls, OSError for a lost cluster.
        """
        pending: deque[Future] = deque()
        workers = _Workers(self._client)
        try:
            for number, call in enumerate(arguments):
                parcel = worker.Parcel((function, call), "sources")
                key = f"nczarr-called-{self._run}-{number}"
                pending.append(self._client.submit(worker.call, parcel, key=key, pure=False))
                if len(pending) >= AHEAD * max(1, workers.threads):
                    yield workers.outcome(pending[0])
                    pending.popleft()
            while pending:
                yield workers.outcome(pending[0])
                pending.popleft()
        except ClusterLostError as error:
            self._fail(str(error))
        finally:
            with suppress(OSError):  # a cluster out of reach: its workers end without their scheduler
                self._client.cancel(list(pending), force=True)


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress the logs of dask's client in the block; their causes are raised."""
    import logging

    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "comm", "core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _active(url: str) -> Client | None:
    """Return the program's own client of a scheduler, on which its lazy arrays depend; None without one."""
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return client if client.scheduler is not None and client.scheduler.address == url else None


class ClusterLostError(Exception):
    """Failure of the cluster, with its reason as text."""


class _Workers:
    """Workers of a cluster, looked at from time to time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._counts: dict[str, int] = {}
        self._looked = 0.0
        self._alive = time.monotonic()
        self.look()

    @property
    def threads(self) -> int:
        """Threads of all workers."""
        return sum(self._counts.values())

    @property
    def most(self) -> int:
        """Threads of the worker with most of them, at least 1."""
        return max(1, *self._counts.values(), 1)

    def has_answered(self) -> None:
        """Note that a task has ended."""
        self._alive = time.monotonic()

    def look_again(self) -> None:
        """Update the workers if that is due."""
        if time.monotonic() - self._looked > LOOK:
            self.look()

    def look(self) -> None:
        """Update the workers. Raises ClusterLostError without scheduler, or after `PATIENCE` without workers."""
        self._looked = time.monotonic()
        try:
            self._counts = self._client.nthreads()
        except OSError as error:
            raise ClusterLostError(f"the scheduler cannot be reached: {error}") from None
        if self._counts:
            self._alive = self._looked
        elif self._looked - self._alive > PATIENCE:
            raise ClusterLostError(f"the cluster lost all its workers and got none within {PATIENCE:.0f} s")

    def outcome(self, future: Future) -> Any:
        """Wait for the result of a task. Raises its failure, ClusterLostError."""
        while True:
            self.look_again()
            outcome = outcome_of(future)
            if outcome is not None:
                self.has_answered()
                return outcome


def outcome_of(future: Future) -> Any:
    """Return the result of a task; None if it is not available yet. Raises its failure, ClusterLostError."""
    from distributed import KilledWorker

    try:
        return future.result(timeout=LOOK)
    except CancelledError:
        text = "the connection to the scheduler was lost, or the run was cancelled"
        raise ClusterLostError(text) from None
    except TimeoutError:  # the worker that had it was lost: it is done again
        return None
    except KilledWorker as error:
        text = f"{error.allowed_failures + 1} workers in succession died during the same task"
        raise ClusterLostError(f"{text}, the last of them {error.last_worker.address}") from None
    except ImportError as error:  # a worker that joined later
        raise ClusterLostError(f"a worker lacks a package or file of this run: {error}") from None


class _Sending:
    """Tasks of one run on a cluster."""

    def __init__(self, client: Client, run: str, store: Store, memory: int, counts: Counts) -> None:
        self.own: list[tuple[int, WrittenPart]] = []
        """Arrays that are to be done here."""
        self._client = client
        self._run = run
        self._store = store
        self._memory = memory
        self._counts = counts
        self._number = 0
        self._pending: dict[str, Future] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._target: Future | None = None
        self._workers = _Workers(client)

    def send(self, number: int, array: WrittenPart) -> None:
        """Send the tasks of an array as pending tasks end; add an unsuitable array to `own`."""
        deferred = None if array.source is None else array.source.deferred
        shown = array if deferred is None else _without_values(array)
        parcel = None if is_small(array) else pack(shown, f"variable {array.path}")
        if parcel is None:
            self.own.append((number, array))
            return
        if self._target is None:
            content = pickle.dumps(self._store)
            self._target = self._submit(worker.unpack, worker.Parcel(content, f"target {self._store.path}"))
        described = self._submit(worker.unpack, parcel)
        for task in tasks(number, array, self._store, self._measure(array), self._counts):
            if deferred is None:
                self._do(described, task)
                continue
            for part, region in worker.list_boxes(array, task):  # the cluster computes the values of each region first
                self._do(described, part, region, deferred)

    def _do(self, described: Future, task: Task, region: Selection = (), values: Deferred | None = None) -> None:
        """Send one task when there is room. `values`: tasks that compute the values of the region."""
        while len(self._pending) >= AHEAD * max(1, self._workers.threads):
            self._take()
        region_values = () if values is None else (region, values.region(region, self._client))
        arguments = self._run, described, self._target, task, self._memory, *region_values
        future = self._submit(worker.do_task, *arguments)
        self._pending[future.key] = future
        future.add_done_callback(self._ended.put)

    def _measure(self, array: WrittenPart) -> TaskSize:
        """Return the task size: worth a transfer, with blocks within a thread's share of a worker's memory."""
        share = self._memory // self._workers.most
        return TaskSize(MOST, FAR_BATCH if is_far(array, self._store) else BATCH, share, 1)

    def _submit(self, function: Any, *arguments: Any) -> Future:
        self._number += 1
        key = f"nczarr-{function.__name__}-{self._run}-{self._number}"
        return self._client.submit(function, *arguments, key=key, pure=False)

    def drain(self) -> None:
        """Wait for all tasks."""
        while self._pending:
            self._take()

    def _take(self) -> None:
        """Wait for a task and count its result, or raise its failure."""
        outcome: worker.Outcome | None = None
        while outcome is None:
            self._workers.look_again()
            try:
                future = self._ended.get(timeout=LOOK)
            except Empty:
                continue
            outcome = outcome_of(future)
            if outcome is None:
                self._ended.put(future)
        del self._pending[future.key]
        if outcome.failure is not None:
            raise outcome.failure
        self._workers.has_answered()
        if outcome.counts is not None:
            self._counts.update(outcome.counts)

    def settle(self) -> None:
        """Cancel pending tasks, and wait until no worker is active for the run."""
        with suppress(OSError):  # a cluster out of reach: its workers end without their scheduler
            self._client.cancel(list(self._pending.values()), force=True)
            self._pending.clear()
            self._client.run(worker.settle, self._run, on_error="ignore")


def _without_values(array: WrittenPart) -> WrittenPart:
    """Return the description of an array whose values arrive with the tasks."""
    assert array.source is not None
    return array._replace(source=worker.values_of(array.source.layout, (), None))


def pack(array: WrittenPart, name: str) -> worker.Parcel | None:
    """Return the pickled description of an array; None if it is too large."""
    file = _Limited()
    try:
        pickle.Pickler(file, protocol=5).dump(array)
    except _TooLargeError:
        return None
    return worker.Parcel(file.getvalue(), name)


class _TooLargeError(Exception):
    pass


class _Limited(io.BytesIO):
    """In-memory file of at most `SHIPPED` bytes."""

    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > SHIPPED:
            raise _TooLargeError
        return super().write(data)


def is_scheduler(address: str, report: Report) -> bool:
    """Return whether a scheduler may be at this address. Reports bad-url, missing-library."""
    if re.fullmatch(_ADDRESS, address) is None:
        report.error("bad-url", f"`{show(address)}` is not the address of a scheduler; write tcp://HOST:PORT")
        return False
    if find_spec("distributed") is None:
        helps = ["run `pip install 'nczarr[dask]'`"]
        report.error("missing-library", "`--dask` needs `distributed`, which is not installed", helps=helps)
        return False
    return True


KIND = ExecutorKind(Cluster, is_scheduler)
