"""A dask cluster does the tasks of a plan (`--dask`): the client here sends them, a bounded number at a time.

What a task needs is in reach of every worker, or travels with it: source files and folders by their absolute paths,
remote stores by their descriptions, values in the memory of this process where they are small. Arrays that are not
worth the way, and values in memory that are large, are done here. The scheduler does tasks of lost workers again, which
changes nothing: a key that is put twice gets the same bytes.
"""

from __future__ import annotations

import io
import pickle
import pkgutil
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from secrets import token_hex
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from nczarr import __version__
from nczarr.arrays.counts import Counts
from nczarr.link import worker
from nczarr.link.run import is_small, link
from nczarr.link.schedule import FETCHED, MOST, Measure, is_far, tasks
from nczarr.link.tasks import Array
from nczarr.options import Options
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECTING = 10.0
"""Seconds in which a scheduler has to answer."""

PATIENCE = 60.0
"""Seconds that a cluster may be without any worker."""

LOOK = 1.0
"""Seconds between two looks at the cluster while nothing ends."""

AHEAD = 3
"""Tasks under way for each thread of the cluster."""

SHIPPED = 8 << 20
"""Bytes that the description of an array may have; one with more holds values, and is done here."""

BATCH = 8 << 20
"""Bytes of decoded chunks that are worth a task of the cluster."""

FAR_BATCH = 8 * FETCHED
"""The same where source or target is distant, and a worker has many requests under way."""


class Cluster:
    """The workers of a cluster, as long as a run needs them.

    Raises OSError where the scheduler is out of reach, or there are no workers that could do the work.
    """

    def __init__(self, url: str) -> None:
        from distributed import Client

        self.url = url
        self._run = token_hex(8)
        with ExitStack() as opened:
            opened.enter_context(_silence())
            try:
                self._client = Client(url, timeout=CONNECTING, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:  # no protocol of dask's, no certificates
                self._fail(f"no scheduler of dask answers there: {error}")
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
        while not self._threads():
            if time.monotonic() > end:
                self._fail(f"the cluster has no worker, and got none within {PATIENCE:.0f} s")
            time.sleep(min(LOOK, PATIENCE))

    def _threads(self) -> dict[str, int]:
        """The threads of each worker. Raises OSError if the scheduler is out of reach."""
        found: dict[str, int] = self._client.nthreads()
        return found

    def _compare_versions(self) -> None:
        """Raise OSError unless every process of the cluster has the nczarr that this one has."""
        asked = (pkgutil.resolve_name, "nczarr:__version__")
        answers = dict(self._client.run(*asked, on_error="return"))
        try:
            answers["the scheduler"] = self._client.run_on_scheduler(*asked)
        except ImportError as error:
            answers["the scheduler"] = error
        for place, answer in sorted(answers.items()):
            who = place if place == "the scheduler" else f"worker {place}"
            if isinstance(answer, ImportError):
                self._fail(f"{who} has no nczarr: {answer}")
            if isinstance(answer, BaseException):
                raise answer
            if answer != __version__:
                self._fail(f"{who} has nczarr {answer}, and this is {__version__}")

    def _fail(self, text: str) -> NoReturn:
        raise OSError(None, text, self.url)

    def link(self, found: Iterator[tuple[int, Array]], store: Store, options: Options, counts: Counts) -> None:
        """Write all keys of data of some arrays. When it ends, however it does, nobody is at work any more.

        Raises OSError where store or cluster fail, CompileError for unreadable chunks.
        """
        sending = _Sending(self._client, self._run, store, options, counts)
        try:
            for number, array in found:
                sending.send(number, array)
            link(sending.own, store, options, counts)
            sending.drain()
        except ClusterLostError as error:
            self._fail(str(error))
        finally:
            sending.settle()


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing of what dask's client logs is said in the block: what it means is raised."""
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


class ClusterLostError(Exception):
    """The cluster does not do what it was asked to; the text says why."""


class _Sending:
    """The tasks of one run, on their way through a cluster."""

    def __init__(self, client: Client, run: str, store: Store, options: Options, counts: Counts) -> None:
        self.own: list[tuple[int, Array]] = []
        """Arrays that are to be done here."""
        self._client = client
        self._run = run
        self._store = store
        self._options = options
        self._counts = counts
        self._number = 0
        self._pending: dict[str, Future] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._target: Future | None = None
        self._threads: dict[str, int] = {}
        self._looked = 0.0
        self._alive = time.monotonic()
        self._look()

    def send(self, number: int, array: Array) -> None:
        """Send the tasks of an array, as fast as tasks end; keep the array where it is not worth the way."""
        parcel = None if is_small(array) else packed(array, f"variable {array.path}")
        if parcel is None:
            self.own.append((number, array))
            return
        if self._target is None:
            content = pickle.dumps(self._store)
            self._target = self._submit(worker.unpacked, worker.Parcel(content, f"target {self._store.path}"))
        described = self._submit(worker.unpacked, parcel)
        for task in tasks(number, array, self._store, self._measure(array), self._counts):
            while len(self._pending) >= AHEAD * max(1, sum(self._threads.values())):
                self._take()
            future = self._submit(worker.do, self._run, described, self._target, task, self._options.memory)
            self._pending[future.key] = future
            future.add_done_callback(self._ended.put)

    def _measure(self, array: Array) -> Measure:
        """How large tasks are: as large as is worth the way, blocks within a thread's share of a worker's memory."""
        share = self._options.memory // max(1, *self._threads.values(), 1)
        return Measure(MOST, FAR_BATCH if is_far(array, self._store) else BATCH, share, 1)

    def _submit(self, function: Any, *arguments: Any) -> Future:
        self._number += 1
        key = f"nczarr-{function.__name__}-{self._run}-{self._number}"
        return self._client.submit(function, *arguments, key=key, pure=False)

    def drain(self) -> None:
        """Wait until all tasks have ended."""
        while self._pending:
            self._take()

    def _take(self) -> None:
        """Wait until a task has ended, and count what it did. Raises what it failed with."""
        outcome = None
        while outcome is None:
            if time.monotonic() - self._looked > LOOK:
                self._look()
            try:
                future = self._ended.get(timeout=LOOK)
            except Empty:
                continue
            outcome = self._outcome(future)
            if outcome is None:
                self._ended.put(future)
        del self._pending[future.key]
        if outcome.failure is not None:
            raise outcome.failure
        self._alive = time.monotonic()
        if outcome.counts is not None:
            self._counts.update(outcome.counts)

    def _outcome(self, future: Future) -> worker.Outcome | None:
        """What became of a task; None if that cannot be had yet."""
        from distributed import KilledWorker

        try:
            outcome: worker.Outcome = future.result(timeout=LOOK)
        except CancelledError:
            text = "the connection to the scheduler was lost, or somebody cancelled the run"
            raise ClusterLostError(text) from None
        except TimeoutError:  # the worker that had it was lost: it is done again
            return None
        except KilledWorker as error:
            text = f"{error.allowed_failures + 1} workers died one after the other while they did the same task"
            raise ClusterLostError(f"{text}, the last of them {error.last_worker.address}") from None
        except ImportError as error:  # a worker that joined later
            raise ClusterLostError(f"a worker has not what this run needs: {error}") from None
        return outcome

    def _look(self) -> None:
        """See which workers there are. Raises ClusterLostError if there was none for a long time, or no scheduler."""
        self._looked = time.monotonic()
        try:
            self._threads = self._client.nthreads()
        except OSError as error:
            raise ClusterLostError(f"the scheduler is out of reach: {error}") from None
        if self._threads:
            self._alive = self._looked
        elif self._looked - self._alive > PATIENCE:
            raise ClusterLostError(f"the cluster lost all its workers, and got none within {PATIENCE:.0f} s")

    def settle(self) -> None:
        """Give up what has not been done, and wait until no worker is at work for the run."""
        with suppress(OSError):  # a cluster out of reach: its workers end without their scheduler
            self._client.cancel(list(self._pending.values()), force=True)
            self._pending.clear()
            self._client.run(worker.settle, self._run, on_error="ignore")


def packed(array: Array, name: str) -> worker.Parcel | None:
    """The description of an array; None if it is large, because it holds values."""
    file = _Limited()
    try:
        pickle.Pickler(file, protocol=5).dump(array)
    except _TooLargeError:
        return None
    return worker.Parcel(file.getvalue(), name)


class _TooLargeError(Exception):
    pass


class _Limited(io.BytesIO):
    """A file in memory that takes `SHIPPED` bytes."""

    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > SHIPPED:
            raise _TooLargeError
        return super().write(data)
