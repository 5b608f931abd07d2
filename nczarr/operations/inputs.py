"""Inputs of operations: a name for messages, and the function that reads the dataset."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations import pipeline
from nczarr.options import Options
from nczarr.stores.url import is_remote

Reader = Callable[[Report], Checked | None]
"""Reader of a dataset; None after a reported error. Raises OSError. One for another process can be pickled."""


class Input(NamedTuple):
    """One source of an operation."""

    name: str
    """Path or URL, or a name for messages."""
    read: Reader
    """Its reader."""
    portable: bool = False
    """True if any process can read it."""
    whole: bool = False
    """True if nothing is selected from it."""


def for_reading(options: Options, *, values: bool = True) -> Options:
    """Return the options of a run for the readers of its sources, which can be pickled."""
    return options._replace(kind=None, survey=values, chunks={}, shards={}, codecs={})


def input_at(path: str, options: Options, form: str | None = None, *, values: bool = True) -> Input:
    """Return the source at a path or URL, in a named or detected format, for a run with these options.

    Workers of a cluster (`options.dask`) read local files by absolute paths.
    `values`: the run reads the values of all variables.
    """
    plain = options.dask is not None and not is_remote(path) and os.path.lexists(path)
    place = os.path.abspath(path) if plain else path
    reading = for_reading(options, values=values)
    return Input(path, partial(pipeline.read_path, place, options=reading, name=form), portable=True)
