"""Standard streams that are closed, full, or whose reader went away: none of them is a crash.

Invariant: descriptors 0 to 2 are never those of a file that a command opens, or what a library writes to
standard error would stand in the middle of a target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO


def complete() -> None:
    """Put something in the place of standard streams that are closed.

    Standard error goes nowhere. The others refuse what they are asked for, so that who needs them is told.
    """
    modes = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
    for number, mode in enumerate(modes):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free: this one
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def give_up(stream: TextIO) -> None:
    """Let what is left in a stream's buffer, and all that comes after it, go nowhere."""
    with suppress(OSError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def flush_product() -> str | None:
    """Bring standard output to its reader. Why that failed, None if it did not. Raises BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        return f"standard output: {error.strerror or error}"
    return None


def write_product(pieces: Iterable[bytes]) -> None:
    """Write a product on standard output, piece by piece. Raises OSError, which names the stream."""
    for piece in pieces:
        try:
            sys.stdout.buffer.write(piece)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, "<stdout>") from error


def misuse(command: str, message: str) -> int:
    """Say what is wrong with a command line. Returns the exit status of wrong usage."""
    with suppress(OSError):
        sys.stderr.write(f"nczarr {command}: {message}\n")
    return 2
