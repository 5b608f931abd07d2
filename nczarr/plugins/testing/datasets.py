"""Comparison of datasets in tests."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle

MOST = 50
"""Maximum differences in a message."""


def assert_same_dataset(
    actual: str | os.PathLike[str] | DatasetHandle,
    expected: str | os.PathLike[str] | DatasetHandle,
    *,
    data: bool = True,
    storage: bool = False,
    tolerance: float | str | None = None,
    variables: Iterable[str] = (),
) -> None:
    """Raise AssertionError with the differences of two datasets of any formats, if they differ.

    Parameters
    ----------
    actual, expected : str, os.PathLike or DatasetHandle
        Paths, URLs or open datasets.
    data : bool
        Compare values. False compares models only.
    storage : bool
        Also compare chunks, codecs, definition order and kind of file.
    tolerance : float or str, optional
        Accepted difference of two numbers. `"rel:1e-6"` is relative to the greater one.
    variables : Iterable of str
        Restrict the comparison to these.

    Raises
    ------
    AssertionError
        If the datasets differ. The message has a line for each difference, at most 50.
    OSError
        If a dataset is unreachable.
    CompileError
        If a dataset has errors.

    Examples
    --------
    >>> import nczarr
    >>> from nczarr.testing import assert_same_dataset
    >>> one = nczarr.from_cdl("netcdf d { variables: int v ; data: v = 1 ; }")
    >>> nczarr.convert(one, "one.zarr", "zarr3").target
    'one.zarr'
    >>> assert_same_dataset("one.zarr", one)
    """
    __tracebackhide__ = True
    import nczarr
    from nczarr.pipeline.compare.difference import text_lines

    differences = nczarr.diff(actual, expected, data=data, storage=storage, tolerance=tolerance, variables=variables)
    if differences:
        count = len(differences)
        lines = list(text_lines(itertools.islice(differences, MOST)))
        lines += [f"and {count - MOST} more\n"] if count > MOST else []
        title = f"the datasets have {count} difference{'s' * (count != 1)} (actual, expected):\n"
        raise AssertionError(title + "".join(lines).rstrip("\n"))
