"""Sources as the command line names them: a path, a `file://` URL, or `-` for standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nczarr.source import Source

if TYPE_CHECKING:
    from nczarr.check.checked import Checked, Observer
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options

STDIN = "<stdin>"

IN_MEMORY = 64 << 20
"""Bytes of standard input from which on it lies in a file while it is read."""


def read_input(
    path: str, report: Report, options: Options, name: str | None = None, observe: Observer | None = None
) -> Checked | None:
    """The checked dataset behind a source, in the format of this name if one is given; None if an error was found.

    Raises OSError if it cannot be read.
    """
    from nczarr import pipeline
    from nczarr.endpoints import sources

    if path != "-":
        return pipeline.read_path(path, report, options, name, observe)
    source = standard_input()
    form = sources.source_format(source, name, report) if name else None
    return None if name and form is None else pipeline.read(source, report, options, form, observe)


def standard_input() -> Source:
    """Standard input, read to its end: what is long lies in a file for temporary ones. Raises OSError."""
    try:
        data = sys.stdin.buffer.read(IN_MEMORY)
        if len(data) < IN_MEMORY:
            return Source(STDIN, data)
        from nczarr.stores.single import open_source
        from nczarr.stores.spool import kept

        return open_source(kept(data, sys.stdin.buffer), STDIN)
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDIN) from error
