"""Executors of plugins, such as clusters, which run the tasks of a plan in place of threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from nczarr.arrays.execution.counts import Counts
from nczarr.diagnostics.report import Report
from nczarr.link.tasks import WrittenPart
from nczarr.names.plugin_index import find_place, load_part
from nczarr.options import RunOptions
from nczarr.stores.base import Store

NAME = "dask"
"""Executor of the option of that name."""


class Executor(Protocol):
    """Connection to what runs tasks, for one run."""

    def __enter__(self) -> Executor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def link(self, numbered: Iterator[tuple[int, WrittenPart]], store: Store, run: RunOptions, counts: Counts) -> None:
        """Write all data keys of some arrays; nothing is active after it ends. Raises OSError, CompileError."""

    def results(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """Yield the results of calls in order. Raises the failures of calls, OSError."""


class ExecutorKind(NamedTuple):
    """Kind of executors that a plugin adds."""

    connect: Callable[[str], Executor]
    """Returns the executor at an address. Raises OSError."""
    accepts: Callable[[str, Report], bool]
    """Returns whether an executor may be at an address. Reports bad-url, missing-library."""


def accepts_address(address: str, report: Report) -> bool:
    """Return whether an executor may be at an address. Reports bad-url, missing-library."""
    place = find_place("executor", NAME)
    if place is None:
        report.error("missing-library", f"`--{NAME}` needs an executor, and no plugin adds it")
        return False
    kind: ExecutorKind = load_part(place)
    return kind.accepts(address, report)


def connect(address: str) -> Executor:
    """Return the executor at an accepted address. Raises OSError."""
    kind: ExecutorKind = load_part(find_place("executor", NAME) or "")
    return kind.connect(address)
