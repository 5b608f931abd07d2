"""Helper process of a server: runs functions on files that may hang or crash a library.

Requests and answers are length-prefixed pickles on standard input and output.
Only the server writes to standard input.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from typing import IO, Any

LENGTH = 8
"""Bytes of the length prefix."""

LOOK = 1.0
"""Seconds between checks that the server is alive."""


def send(out: IO[bytes], message: Any) -> None:
    """Write one message. Raises OSError, and what pickle raises before anything is written."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    out.write(len(data).to_bytes(LENGTH, "little"))
    out.write(data)
    out.flush()


def receive(source: IO[bytes]) -> Any:
    """Read one message. Raises EOFError if the other side has ended."""
    head = source.read(LENGTH)
    data = source.read(int.from_bytes(head, "little")) if len(head) == LENGTH else b""
    if not data or len(data) != int.from_bytes(head, "little"):
        raise EOFError
    return pickle.loads(data)


def answer(function: Any, arguments: Any) -> tuple[bool, Any]:
    """Return whether a call succeeded, and what it returned or raised."""
    try:
        return True, function(*arguments)
    except Exception as error:  # whatever it is, the server raises it
        return False, error


def main() -> None:
    """Answer requests until the server closes standard input."""
    import _thread

    memory = int(sys.argv[1])
    if hasattr(os, "getppid"):
        _thread.start_new_thread(_end_with, (os.getppid(),))
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # a library that loops may also take memory
    source, out = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    _warm()
    send(out, (True, None))
    while True:
        try:
            function, arguments = receive(source)
        except EOFError:
            return
        done, found = answer(function, arguments)
        try:
            send(out, (done, found))
        except Exception as error:  # of pickle: what is sent is not written then
            send(out, (False, RuntimeError(f"{type(error).__name__}: {error}")))


def _warm() -> None:
    """Load the libraries that every request needs."""
    from nczarr.registry import ROWS, having, load

    for name in having("isolates"):
        form = load(ROWS[name])
        assert load(form.read) is not None
        answer(load(form.warms), ())  # a library that is missing is reported where a file is read


def _end_with(server: int) -> None:
    """End this process after the server: a library that hangs never reads standard input."""
    while os.getppid() == server:
        time.sleep(LOOK)
    os._exit(1)


if __name__ == "__main__":
    main()
