"""Standard streams that are closed, full or abandoned; none of them causes a crash.

Invariant: descriptors 0 to 2 never belong to files that a command opens.
Otherwise messages of a library could end up in a target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO


def replace_closed_streams() -> None:
    """Replace closed standard streams.

    Standard error is discarded; the others raise when they are used.
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
    """Discard the buffer and all further output of a stream."""
    with suppress(OSError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def flush_product() -> str | None:
    """Flush standard output; return the reason of a failure, else None. Raises BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        return f"standard output: {error.strerror or error}"
    return None


def write_product(pieces: Iterable[bytes]) -> None:
    """Write a product to standard output in pieces. Raises OSError that names the stream."""
    for piece in pieces:
        try:
            sys.stdout.buffer.write(piece)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, "<stdout>") from error


def misuse(command: str, message: str) -> int:
    """Print an error of the command line and return the status of wrong usage."""
    with suppress(OSError):
        sys.stderr.write(f"nczarr {command}: {message}\n")
    return 2
