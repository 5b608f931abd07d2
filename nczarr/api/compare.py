"""`nczarr.diff` and `nczarr.digest`: differences of two datasets, and a hash of one."""

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
    """Return the differences of two datasets in any formats; an empty list if they are equal.

    Datasets are paths, URLs or open ones. Values are compared bit by bit,
    except that all NaNs are equal; with a `tolerance`, numbers may differ by
    that much (`"rel:1e-6"`: by that part of the greater one). `storage` also
    compares chunks, codecs, definition order and kind of file. `variables` and
    `groups` restrict the comparison. `storage_options` apply to URLs.

    Raises OSError if one is unreachable, CompileError if one has errors,
    ValueError for an invalid tolerance.
    """
    from nczarr.compare.diff import chosen, differences

    limit = None if tolerance is None else Tolerance.parse(str(tolerance))
    report = Report()
    one, other = (_opened(each, storage_options).checked for each in (first, second))
    sides = chosen(one, other, Subset(tuple(variables), tuple(groups)), report)
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
    """Return a hash of a dataset's model and values, 64 hexadecimal digits, as defined in docs/digest.md.

    It does not depend on format, chunks, codecs, byte order and definition
    order, and changes with every name, type, attribute, dimension and bit of a
    value.

    The dataset is a path, URL or open one. `variables` and `groups` restrict
    the hash; `memory`: bytes of values in flight; `workers`: threads;
    `storage_options` apply to URLs.

    Raises OSError if it is unreachable, CompileError if it has errors or
    unreadable content.
    """
    from nczarr.compare.digest import chosen
    from nczarr.compare.digest import digest as digest_of

    report = Report()
    checked = chosen(_complete(dataset, storage_options), Subset(tuple(variables), tuple(groups)), report)
    if checked is None:
        raise CompileError(report.sorted())
    return digest_of(checked, Options(memory=memory, workers=workers)).whole


def _complete(given: str | os.PathLike[str] | DatasetHandle, storage_options: Mapping[str, Any] | None) -> Checked:
    """Return a dataset without omissions. Raises CompileError otherwise."""
    handle = _opened(given, storage_options)
    missing = [each for each in handle.diagnostics if each.code in UNREAD]
    if missing:
        raise CompileError(missing)
    return handle.checked


def _opened(given: str | os.PathLike[str] | DatasetHandle, storage_options: Mapping[str, Any] | None) -> DatasetHandle:
    from nczarr.api.handle import DatasetHandle, open_dataset

    return given if isinstance(given, DatasetHandle) else open_dataset(given, storage_options=storage_options)
