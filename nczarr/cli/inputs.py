"""Sources as the command line names them: a path, or `-` for standard input."""

from __future__ import annotations

import sys

from nczarr.source import Source

STDIN = "<stdin>"


def open_input(path: str) -> Source:
    """The source at a path, or standard input read to its end. Raises OSError if it cannot be read."""
    if path == "-":
        try:
            return Source(STDIN, sys.stdin.buffer.read())
        except OSError as error:
            raise OSError(error.errno, error.strerror, STDIN) from error
    from nczarr.stores.single import open_source

    return open_source(path)
