"""Helper process of a server: runs functions on files that may hang or crash a library.

`arrays/execution/processes.py` has the messages. Only the server writes to standard input.
"""

from __future__ import annotations

import os
import sys
import time

from nczarr.arrays.execution.processes import answer, answer_all, own_streams, send
from nczarr.stores.local_file import UNMAPPED

LOOK = 1.0
"""Seconds between checks that the server is alive."""


def main() -> None:
    """Answer requests until the server closes standard input."""
    import _thread

    memory = int(sys.argv[1])
    if hasattr(os, "getppid"):
        _thread.start_new_thread(_end_with, (os.getppid(),))
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # a library that loops may also take memory
    UNMAPPED.set()
    source, out = own_streams()
    _warm()
    send(out, (True, None))
    answer_all(source, out)


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
