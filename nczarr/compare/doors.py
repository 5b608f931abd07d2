"""`nczarr.diff`: what two datasets differ in, for callers in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr.compare.difference import Difference
from nczarr.compare.elements import Tolerance
from nczarr.diagnostics import CompileError, Report
from nczarr.options import Subset

if TYPE_CHECKING:
    from nczarr.handle import DatasetHandle
    from nczarr.passes.checked import Checked


def diff(
    first: str | os.PathLike[str] | DatasetHandle,
    second: str | os.PathLike[str] | DatasetHandle,
    *,
    data: bool = True,
    storage: bool = False,
    tolerance: float | str | None = None,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    storage_options: Mapping[str, Any] | None = None,
) -> list[Difference]:
    """What two datasets differ in: paths, URLs or open datasets, of any formats. The empty list: nothing.

    Values are equal bit by bit, and every NaN to every other; with a `tolerance`, numbers up to that distance
    (`"rel:1e-6"`: that part of the greater one). `storage` compares chunks, codecs, order of definition and kind of
    file too; `variables` and `groups` are all that is compared, if there are any. `storage_options` are for URLs.

    Raises OSError if one is out of reach, CompileError if one is in error, ValueError for a tolerance that is none.
    """
    from nczarr.compare.diff import chosen, differences

    limit = None if tolerance is None else Tolerance.parse(str(tolerance))
    report = Report()
    both = _checked(first, storage_options), _checked(second, storage_options)
    sides = chosen(*both, Subset(tuple(variables), tuple(groups)), report)
    if sides is None:
        raise CompileError(report.sorted())
    return list(differences(*sides, data=data, storage=storage, tolerance=limit))


def _checked(given: str | os.PathLike[str] | DatasetHandle, storage_options: Mapping[str, Any] | None) -> Checked:
    from nczarr.handle import DatasetHandle, open_dataset

    if isinstance(given, DatasetHandle):
        return given.checked
    return open_dataset(given, storage_options=storage_options).checked
