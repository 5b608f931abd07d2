"""`nczarr.diff`, `nczarr.digest`, `nczarr.check`: differences of two datasets; a hash and the diagnostics of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from nczarr.api.hints import add_hints
from nczarr.diagnostics.report import UNREAD, CompileError, Diagnostic, Report
from nczarr.names import list_texts
from nczarr.options import DEFAULT_MEMORY, FOLLOWING, Following, Options, RunOptions
from nczarr.pipeline.compare.difference import Difference, Tolerance
from nczarr.pipeline.select.selection import Subset

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.api.inputs import Dataset
    from nczarr.semantics.checked import Checked


@add_hints
def check(
    source: Dataset | Sequence[Dataset],
    *,
    combine: bool = False,
    along: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    schema: Dataset | None = None,
    data: bool = False,
    kind: str | None = None,
    cf: bool | str = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    from_format: str | None = None,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Diagnostic]:
    """Return the diagnostics of a dataset: its errors and warnings, and those of the questions asked.

    Parameters
    ----------
    source : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset, object of xarray, or Sequence of them
        Path, URL or dataset in memory; several with `combine`.
    combine : bool
        Compare the sources with each other before they are joined: types, packing, fill
        values, filters, chunks, units, lengths, and order, overlap and gaps of the
        coordinate. Each fault is one diagnostic. Only `along`, `from_format`,
        `following` and `storage_options` go with it.
    along : str or Iterable of str
        With `combine`, dimensions along which the sources are joined; by default the
        unlimited ones, or those whose coordinates differ.
    readers : str or Iterable of str
        Other readers (`netcdf-c`, `zarr-python`, `xarray`, or a release such as
        `zarr-python@3.1`), whose faults are reported; conventions (`nz`), of which is
        reported what is missing; formats, whose losses are reported.
    schema : str, os.PathLike or DatasetHandle, optional
        Schema from which deviations are reported: CDL, notation or any dataset. Its comments
        `// nczarr: RULE` may allow some.
    data : bool
        Read and decode every chunk, and report damaged ones and values that attributes
        exclude. With `schema`, judge the values of variables by its rules instead.
    kind : str, optional
        Kind of netCDF file whose limits are checked, in any spelling of `ncgen -k`.
    cf : bool or str
        Check the rules of the CF conventions: of this version (`"1.6"` to `"1.13"`), or
        with True of the one that the dataset declares, else of the newest.
    select, ignore : Iterable of str
        Codes, or first words of codes such as `cf`, of the diagnostics that are returned,
        or that are not. Errors of a dataset that cannot be read are always returned.
    from_format : str, optional
        Format of the source; by default found by its content.
    following : nczarr.refs.Following
        Options for following references in the source.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    list of Diagnostic
        Errors, warnings and notes, ordered by place; empty if there is nothing to say.

    Raises
    ------
    OSError
        If the source is unreachable.
    ValueError
        If a reader, kind, code or version of CF does not exist, or a reader is asked about a dataset in memory.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.check("samples/01-station.cdl")
    []
    >>> [diagnostic.code for diagnostic in nczarr.check("samples/01-station.cdl", readers="zarr3")]
    ['lost-annotations']
    >>> text = "netcdf d { dimensions: t = 1 ; variables: int t(t) ; data: t = 0 ; }"
    >>> for day, name in ("0", "one.nc"), ("1", "two.nc"):
    ...     _ = nczarr.convert(nczarr.from_cdl(text.replace("t = 0", f"t = {day}")), name)
    >>> nczarr.check(["one.nc", "two.nc"], combine=True, along="t")
    []
    >>> nczarr.check("samples/01-station.cdl", cf=True, select=["cf"])[0].message
    '`/lat` has neither `long_name` nor `standard_name` (CF 3.2)'
    """
    from nczarr.api.handle import DatasetHandle, report_losses
    from nczarr.api.inputs import inputs_of, open_if_object
    from nczarr.api.options import options_from
    from nczarr.pipeline import check as operation
    from nczarr.pipeline.check_request import CheckRequest
    from nczarr.pipeline.code_filter import CodeFilter, check_code, find_version
    from nczarr.registry import Format, load_addition

    options = options_from(kind=kind, following=following, storage_options=storage_options).change(special=False)
    report, codes = Report(), CodeFilter(*(tuple(map(check_code, list_texts(words))) for words in (select, ignore)))
    if combine:
        if readers or schema is not None or kind is not None or cf:
            raise ValueError("combine compares sources with each other; check each of them in a call of its own")
        inputs = inputs_of(source, options, from_format)
        if not inputs:
            raise ValueError("no sources are given")
        report.hides = codes.hides
        load_addition("comparison", "combine").compare(inputs, {"along": list_texts(along)}, report, None)
        return report.list_sorted()
    if along or isinstance(source, list | tuple):
        raise ValueError("several sources, and along, go with combine=True")
    conventions = {} if cf is False else {"cf": find_version("cf", cf)}
    opened = open_if_object(cast("Dataset", source))
    path = opened._path if isinstance(opened, DatasetHandle) else os.fspath(opened)
    judges = tuple(map(operation.find_judge, list_texts(readers)))
    stored = [judge.name for judge in judges if not isinstance(judge, Format)]
    if stored and not path:
        raise ValueError(f"{stored[0]} reads what is stored: write the dataset, and check its path")
    request = CheckRequest(
        path,
        form=from_format,
        dataset=opened.checked if isinstance(opened, DatasetHandle) else None,
        judges=judges,
        schema=None if schema is None else _reader_of(schema, options),
        values=data,
        options=options,
        conventions=conventions,
        codes=codes,
    )
    if isinstance(opened, DatasetHandle):
        report.hides = codes.hides_warning
        report_losses(opened, report, options.run)
        for diagnostic in opened.diagnostics:
            if diagnostic not in opened.losses:
                report.add(diagnostic)
    operation.check(request, report)
    return report.list_sorted()


def _reader_of(schema: Dataset, options: Options) -> Callable[[Report], Checked | None]:
    """Return the reader of a schema: a path or URL, whose text may have rules, or a dataset in memory."""
    from nczarr.api.inputs import input_of
    from nczarr.registry import load_addition

    if isinstance(schema, str | os.PathLike):
        return lambda report: load_addition("schema_check", "schema").read(os.fspath(schema), report, options)
    return input_of(schema, options, values=False).read


@add_hints
def diff(
    first: Dataset,
    second: Dataset,
    *,
    data: bool = True,
    storage: bool = False,
    tolerance: float | str | None = None,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    storage_options: Mapping[str, Any] | None = None,
) -> list[Difference]:
    """Compare two datasets of any formats.

    Values are compared bit by bit, except that all NaNs are equal.

    Parameters
    ----------
    first, second : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
        Paths, URLs or open datasets.
    data : bool
        Compare values. False compares models only.
    storage : bool
        Also compare chunks, codecs, definition order and kind of file.
    tolerance : float or str, optional
        Accepted difference of two numbers. `"rel:1e-6"` is relative to the greater one.
    variables, groups : Iterable of str
        Restrict the comparison to these.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    list of Difference
        All differences; empty if the datasets are equal.

    Raises
    ------
    OSError
        If a dataset is unreachable.
    CompileError
        If a dataset has errors, or lacks a named variable or group.
    ValueError
        If the tolerance is invalid.

    Examples
    --------
    >>> import nczarr
    >>> one = nczarr.from_cdl("netcdf d { variables: int v ; data: v = 1 ; }")
    >>> other = nczarr.from_cdl("netcdf d { variables: int v ; data: v = 2 ; }")
    >>> nczarr.diff(one, one)
    []
    >>> [found] = nczarr.diff(one, other)
    >>> found.kind, found.path, found.message
    ('values', '/v', 'the value differs: 1 | 2')
    """
    from nczarr.pipeline.compare.diff import choose_parts, differences

    limit = None if tolerance is None else Tolerance.parse(str(tolerance))
    report = Report()
    one, other = (_open(dataset, storage_options).checked for dataset in (first, second))
    sides = choose_parts(one, other, Subset(list_texts(variables), list_texts(groups)), report)
    if sides is None:
        raise CompileError(report.list_sorted())
    return list(differences(*sides, data=data, storage=storage, tolerance=limit))


@add_hints
def digest(
    dataset: Dataset,
    *,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Return a hash of the model and the values of a dataset.

    Equal datasets have equal digests in every format. The digest does not depend on
    chunks, codecs, byte order or definition order. It changes with every name,
    type, attribute, dimension and bit of a value. docs/reference/digest.md defines it.

    Parameters
    ----------
    dataset : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
        Path, URL or open dataset.
    variables, groups : Iterable of str
        Restrict the digest to these.
    memory : int
        Maximum bytes of decoded values in flight.
    workers : int, optional
        Number of threads; by default one per processor.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    OSError
        If the dataset is unreachable.
    CompileError
        If the dataset has errors or unreadable content.

    Examples
    --------
    >>> import nczarr
    >>> dataset = nczarr.open("samples/01-station.cdl")
    >>> nczarr.digest(dataset)
    'e89835dfd9e44715dd52bbf081145f195d2d9b26fd4f9ab422e4b40549602856'
    """
    from nczarr.pipeline.compare.digest import choose_part
    from nczarr.pipeline.compare.digest import digest as digest_of

    report = Report()
    checked = choose_part(
        _complete(dataset, storage_options), Subset(list_texts(variables), list_texts(groups)), report
    )
    if checked is None:
        raise CompileError(report.list_sorted())
    return digest_of(checked, RunOptions(memory=memory, workers=workers)).whole


def _complete(dataset: Dataset, storage_options: Mapping[str, Any] | None) -> Checked:
    """Return a dataset without damage. Raises CompileError otherwise."""
    from nczarr.pipeline.omissions import DAMAGE, refuse

    handle = _open(dataset, storage_options)
    report = Report()
    refuse(handle.checked, RunOptions(), report, DAMAGE)
    missing = [*report.list_sorted(), *(each for each in handle.diagnostics if each.code in UNREAD)]
    if missing:
        raise CompileError(missing)
    return handle.checked


def _open(dataset: Dataset, storage_options: Mapping[str, Any] | None) -> DatasetHandle:
    from nczarr.api.handle import DatasetHandle, open_unchecked

    return dataset if isinstance(dataset, DatasetHandle) else open_unchecked(dataset, storage_options=storage_options)
