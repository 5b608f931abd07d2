"""Sources as the command line names them: a path, or `-` for standard input."""

from __future__ import annotations

import sys

from nczarr.source import Source
from nczarr.stores.base import Store

STDIN = "<stdin>"


def open_input(path: str) -> Source | Store:
    """The file or store at a path, or standard input read to its end. Raises OSError if it cannot be read."""
    if path == "-":
        try:
            return Source(STDIN, sys.stdin.buffer.read())
        except OSError as error:
            raise OSError(error.errno, error.strerror, STDIN) from error
    from nczarr.stores.opening import open_path

    return open_path(path)
