"""`nczarr.diff` and `nczarr.digest`: what two datasets differ in, and one hash of a dataset, for callers in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr.compare.difference import Difference
from nczarr.compare.elements import Tolerance
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import DEFAULT_MEMORY, UNREAD, Options, Subset

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.check.checked import Checked


LEFT_OUT = UNREAD
"""Codes of what an open dataset does not have of its file or store."""


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


def digest(
    dataset: str | os.PathLike[str] | DatasetHandle,
    *,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """One hash of a dataset's model and values, 64 hexadecimal digits, as docs/digest.md defines it.

    It is the same whatever the format, chunks, codecs, byte order and order of definition, and another after any change
    of a name, type, attribute, dimension or bit of a value.

    A path, URL or open dataset; `variables` and `groups` are all that counts, if there are any. `memory`: bytes that
    values under way may take; `workers`: threads. `storage_options` are for URLs.

    Raises OSError if it is out of reach, CompileError if it is in error, or something in it cannot be read.
    """
    from nczarr.compare.digest import chosen
    from nczarr.compare.digest import digest as digest_of

    report = Report()
    checked = chosen(_complete(dataset, storage_options), Subset(tuple(variables), tuple(groups)), report)
    if checked is None:
        raise CompileError(report.sorted())
    return digest_of(checked, Options(memory=memory, workers=workers)).whole


def _complete(given: str | os.PathLike[str] | DatasetHandle, storage_options: Mapping[str, Any] | None) -> Checked:
    """A dataset of which nothing was left out. Raises CompileError for any other."""
    from nczarr.api.handle import DatasetHandle, open_dataset

    handle = given if isinstance(given, DatasetHandle) else open_dataset(given, storage_options=storage_options)
    missing = [each for each in handle.diagnostics if each.code in LEFT_OUT]
    if missing:
        raise CompileError(missing)
    return handle.checked


def _checked(given: str | os.PathLike[str] | DatasetHandle, storage_options: Mapping[str, Any] | None) -> Checked:
    from nczarr.api.handle import DatasetHandle, open_dataset

    if isinstance(given, DatasetHandle):
        return given.checked
    return open_dataset(given, storage_options=storage_options).checked
