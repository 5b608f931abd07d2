"""The icechunk library: its import, its errors as ours, and its coroutines from threads.

Invariant: what icechunk raises leaves as OSError with the displayable place,
without secrets, without its own trace and without advice on its API.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.plugins.common.secret_texts import scrub
from nczarr.stores.url import MissingProtocolError

T = TypeVar("T")

_FRAME = re.compile(r"^(?:[|×x]\s+|[|`]->\s*|[╰├]─▶\s*)")
"""Marks of a report's lines in icechunk 1."""

_PERMISSION = re.compile(r"permission denied|access denied|accessdenied|forbidden|\b403\b", re.IGNORECASE)
_ABSENT = re.compile(r"no such bucket|nosuchbucket|not found: no such file|repository doesn't exist", re.IGNORECASE)
_CONFLICT = re.compile(r"branch update conflict|failed to commit|conflict", re.IGNORECASE)


def load_library() -> Any:
    """Return the module `icechunk`. Raises MissingProtocolError."""
    is_first = "icechunk" not in sys.modules
    try:
        import icechunk
    except ImportError:
        text, remedy = "repositories need `icechunk`, which is not installed", "run `pip install 'nczarr[icechunk]'`"
        raise MissingProtocolError(text, remedy) from None
    if is_first:  # its warnings are about its own settings; a program that imported it decides itself
        icechunk.set_logs_filter("error")
    return icechunk


class _ThisProcess:
    """State of icechunk in the present process: its threads are not in a forked one, whose calls wait for them."""

    uses = False
    is_lost = False
    """True if it was forked from one that had used icechunk."""


def _forget_threads() -> None:
    _ThisProcess.is_lost = _ThisProcess.is_lost or _ThisProcess.uses


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def failing(place: str, options: StorageOptions) -> Iterator[None]:
    """Turn exceptions of icechunk in the block into OSError. Other exceptions pass.

    Raises OSError in a process that was forked from one that had used icechunk.
    """
    if _ThisProcess.is_lost:
        text = "this process was forked from one that had used icechunk, which would wait for ever: start it by `spawn`"
        raise OSError(errno.EDEADLK, text, show(place))
    _ThisProcess.uses = True
    try:
        yield
    except BaseException as error:  # PyO3's PanicException is no Exception
        if not is_foreign(error):
            raise
        raise failure(error, place, options) from None


def is_foreign(error: BaseException) -> bool:
    """Return whether icechunk raised an exception. Its panics are no `Exception`."""
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & {"IcechunkError", "ConflictError", "PanicException"})


def failure(error: BaseException, place: str, options: StorageOptions) -> OSError:
    """Return an exception of icechunk as OSError with its reason and the displayable place."""
    text = scrub(explain(error), place, options)
    number = errno.EIO
    if _PERMISSION.search(text):
        number = errno.EACCES
    elif _ABSENT.search(text):
        number = errno.ENOENT
    return OSError(number, text, show(place))


def explain(error: BaseException) -> str:
    """Return the message of an exception, and the last cause that it names, in one line.

    Icechunk 1 draws a report with a frame, icechunk 2 appends the context to
    the message.
    """
    # colours of a terminal
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(getattr(error, "message", None) or error))
    if type(error).__name__ == "PanicException":
        return "icechunk failed: " + " ".join(text.split())[:200]
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line != "|"]
    ends = [number for number, line in enumerate(lines) if line.lstrip("| ").startswith("context:")]
    head = [_FRAME.sub("", line) for line in lines[: ends[0] if ends else len(lines)]]
    message = " ".join(" ".join(head).split())
    causes = [line.lstrip("| ") for line in lines[ends[0] :]] if ends else []
    causes = [_FRAME.sub("", line) for line in causes if re.match(r"[|`]?->|[╰├]─▶", line)]
    last = " ".join(causes[-1].split()) if causes else ""
    return message if not last or last in message or message.startswith(last[:40]) else f"{message}: {last}"


def is_conflict(error: BaseException) -> bool:
    """Return whether a branch has another commit than the session expected."""
    return is_foreign(error) and _CONFLICT.search(explain(error)) is not None


def result(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, which the event loop of zarr-python runs in a thread of its own."""
    from zarr.core.sync import sync

    outcome: T = sync(coroutine)
    return outcome


def list_yielded(store: Any, call: str, folder: str) -> list[str]:
    """Return what a listing of icechunk's store yields. Raises what icechunk raises."""

    async def collected() -> list[str]:
        return [entry async for entry in getattr(store, call)(folder)]

    return result(collected())
