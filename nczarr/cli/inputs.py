"""Sources of the command line: a path, a `file://` URL, or `-` for standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nczarr.diagnostics.source import Source

if TYPE_CHECKING:
    from nczarr.check.checked import Checked, Observer
    from nczarr.diagnostics.report import Report
    from nczarr.operations.inputs import Input
    from nczarr.options import Options

STDIN = "<stdin>"

IN_MEMORY = 64 << 20
"""Maximum bytes of standard input in memory; longer input goes to a temporary file."""


def read_input(
    path: str, report: Report, options: Options, name: str | None = None, observe: Observer | None = None
) -> Checked | None:
    """Return the checked dataset of a source, in the named or detected format; None after an error.

    Raises OSError if it cannot be read.
    """
    from nczarr.operations import pipeline, sources

    if path != "-":
        return pipeline.read_path(path, report, options, name, observe)
    source = standard_input()
    form = sources.source_format(source, name, report) if name else None
    return None if name and form is None else pipeline.read(source, report, options, form, observe)


def input_of(path: str, options: Options, form: str | None = None) -> Input:
    """Return a source of a run with these options; standard input belongs to this process."""
    from functools import partial

    from nczarr.operations.inputs import Input, for_reading, input_at

    if path != "-":
        return input_at(path, options, form)
    return Input(path, partial(read_input, path, options=for_reading(options), name=form))


def standard_input() -> Source:
    """Read standard input to its end, into a temporary file if it is long. Raises OSError."""
    try:
        data = sys.stdin.buffer.read(IN_MEMORY)
        if len(data) < IN_MEMORY:
            return Source(STDIN, data)
        from nczarr.stores.single import open_source
        from nczarr.stores.spool import kept

        return open_source(kept(data, sys.stdin.buffer), STDIN)
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDIN) from error
