"""`nczarr.refs.combine` and `append`: many datasets as one, in steps too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from errno import EEXIST
from typing import TYPE_CHECKING, Any, Unpack, overload

from nczarr.api.hints import add_hints
from nczarr.api.options import ConvertOptions, takes
from nczarr.names import list_texts
from nczarr.options import FOLLOWING, WRITING, Following, Writing

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.api.inputs import Dataset
    from nczarr.plan.plans import Conversion
    from nczarr.plugins.combine.join.agreement import Join
    from nczarr.plugins.combine.join.coordinate_order import Duplicates


@overload
def combine(
    sources: Iterable[Dataset],
    target: None = None,
    *,
    along: str | Iterable[str] = ...,
    new_dim: str | None = ...,
    decode_times: bool = ...,
    units: str | None = ...,
    join: Join = ...,
    sort: bool = ...,
    duplicates: Duplicates | None = ...,
    unsorted: bool = ...,
    repack: bool = ...,
    **options: Unpack[ConvertOptions],
) -> DatasetHandle: ...


@overload
def combine(
    sources: Iterable[Dataset],
    target: str | os.PathLike[str],
    format: str | None = ...,
    *,
    along: str | Iterable[str] = ...,
    new_dim: str | None = ...,
    decode_times: bool = ...,
    units: str | None = ...,
    join: Join = ...,
    sort: bool = ...,
    duplicates: Duplicates | None = ...,
    unsorted: bool = ...,
    repack: bool = ...,
    **options: Unpack[ConvertOptions],
) -> Conversion: ...


@takes(ConvertOptions)
def combine(
    sources: Iterable[Dataset],
    target: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    *,
    along: str | Iterable[str] = (),
    new_dim: str | None = None,
    decode_times: bool = False,
    units: str | None = None,
    join: Join = "exact",
    sort: bool = False,
    duplicates: Duplicates | None = None,
    unsorted: bool = False,
    repack: bool = False,
    **options: Unpack[ConvertOptions],
) -> Conversion | DatasetHandle:
    """Combine datasets into one, joined along existing dimensions or stacked along a new one.

    docs/how-to/references.md lists what must be equal in all sources.

    Parameters
    ----------
    sources : Iterable of str, os.PathLike or DatasetHandle
        Paths, URLs or open datasets, in the order of the result.
    target : str or os.PathLike, optional
        Path or URL of a new target.
    format : str, optional
        Format of the target; by default that of its suffix.
    along : str or Iterable of str
        Existing dimensions to join along (default: the unlimited ones); with `new_dim`, variables to stack.
    new_dim : str, optional
        Name of a new dimension to stack along.
    decode_times : bool
        Count the times of all sources in the `units` of the first.
    units : str, optional
        Count the times of all sources in these units, such as `"hours since
        1970-01-01"`. Times that are no exact numbers of them are an error. Other units, such as
        `"K"`, are those into which the values of variables are converted if sources have several;
        `"majority"` takes those of most sources, and the units of times from the first.
    join : str
        Treatment of variables and coordinates that differ: `"exact"`, an error; `"outer"`,
        all variables on the union of all coordinates, with fill values where no source has a
        cell; `"override"`, the coordinates of the first source.
    sort : bool
        Sort by the coordinate of the joined dimension, within sources too.
    duplicates : str, optional
        Rule for values of this coordinate that occur several times: `"error"`, `"first"` or
        `"last"`. The default is an error with `sort` or `join="outer"`.
    unsorted : bool
        Keep the cells in the order of the sources if this coordinate does not increase. Otherwise
        that is an error.
    repack : bool
        Give sources with another type, packing, fill value, filters or chunks those of most
        sources. Only their values are encoded again.
    **options
        The options of `nczarr.convert`: `variables` and `groups` restrict the sources;
        `dims`, `sel` and `nearest` cut the result. For
        a target of references, `workers` and `dask` are the processes or the cluster that read the
        sources, and `resume` does not read sources again that an earlier run has read.

    Returns
    -------
    DatasetHandle or Conversion
        Without a target the combined dataset, with warnings in `diagnostics`; with a
        target, what was written.

    Raises
    ------
    CompileError
        If the sources do not fit together, or the target cannot represent them.
    OSError
        If a source or the target is unreachable.
    ValueError
        If `join` or `duplicates` is another word.
    FileExistsError
        If the target exists and `overwrite` is false, or if `sources` is one path and the target
        looks like a second source.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf day { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"
    >>> days = [nczarr.from_cdl(text % values) for values in ("1, 2", "3")]
    >>> nczarr.refs.combine(days, along="t")["v"][:].tolist()
    [1, 2, 3]
    """
    from nczarr.api.handle import handle_of
    from nczarr.api.inputs import finish, inputs_of, raise_errors
    from nczarr.api.options import options_from, subset_from
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.plugins.combine.join import CombineRequest, CombineSpec, Recoding, prepare
    from nczarr.plugins.combine.join.agreement import check_choices
    from nczarr.plugins.combine.join.target import FORGOTTEN
    from nczarr.stores.spool import remove_fetched_files

    check_choices(join, duplicates)
    report = Report()
    subset = subset_from(report, **options)
    settings = options_from(**options)
    recoding = Recoding(units) if units is not None or decode_times else None
    spec = CombineSpec(list_texts(along), new_dim, recoding=recoding, join=join, sort=sort, duplicates=duplicates)
    spec = spec._replace(ordered=not unsorted, repack=repack)
    place, form = None if target is None else os.fspath(target), options.get("from_format")
    request = CombineRequest(inputs_of(sources, settings, form), spec, place, format, subset, settings, form)
    request = request._replace(unnamed=isinstance(sources, str | os.PathLike))
    if target is None:
        ready = prepare(request, report)
        raise_errors(report)
        return handle_of(None if ready is None else ready.combined.checked, report)
    with remove_fetched_files():
        ready = prepare(request, report)
        if any(FORGOTTEN in one.helps for one in report.list_sorted()):
            text = "the target exists, and may be one more source: sources are a list, as in combine([a, b], target)"
            raise FileExistsError(EEXIST, text, request.target)
        raise_errors(report, request.target)
        if ready is None:
            raise CompileError(report.list_sorted())
        return finish(ready.write(report), os.fspath(target), report)


@add_hints
def append(
    document: str | os.PathLike[str],
    sources: Iterable[Dataset],
    *,
    along: str | Iterable[str] = (),
    decode_times: bool = False,
    units: str | None = None,
    join: Join = "exact",
    sort: bool = False,
    duplicates: Duplicates | None = None,
    unsorted: bool = False,
    repack: bool = False,
    variables: Iterable[str] = (),
    exclude: Iterable[str] = (),
    groups: Iterable[str] = (),
    coordinates: bool = True,
    writing: Writing = WRITING,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    verify: bool = False,
) -> Conversion:
    """Extend a reference document, or a folder of Parquet references, along a dimension.

    The references that it has stay as they are, with the recorded properties of
    their targets. It is replaced at once: readers see the old one or the new one.

    Parameters
    ----------
    document : str or os.PathLike
        Path or URL of a document, or path of a folder of Parquet references.
    sources : Iterable of str, os.PathLike or DatasetHandle
        Paths, URLs or open datasets, in the order of the result.
    along : str or Iterable of str
        Dimensions to extend. By default the one whose length differs from that of
        the first source, or the only unlimited one.
    decode_times : bool
        Count the times of the sources in the `units` of the document.
    units : str, optional
        Count all times in these units.
    join : str
        As that of `combine`.
    sort : bool
        Sort all records by the coordinate of the dimension.
    duplicates : str, optional
        As that of `combine`.
    unsorted : bool
        As that of `combine`.
    repack : bool
        Give sources with another type, packing or fill value those of the document.
    variables, exclude, groups : Iterable of str
        Restrict the sources to these, or leave them out.
    coordinates : bool
        Add the coordinates of `variables`, and other variables that they name as
        related.
    writing : nczarr.refs.Writing
        Options for the new references; the format of the metadata is that of the
        document.
    following : nczarr.refs.Following
        Options for following references in the document and in sources.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.
    workers : int, optional
        Processes that read sources; by default one for each processor if there are
        many sources.
    dask : str, optional
        Address of the scheduler of a cluster that reads the sources instead.
    verify : bool
        Read the new document again, and publish it only if every value is there.

    Returns
    -------
    Conversion
        What was written.

    Raises
    ------
    CompileError
        If the document cannot be extended, or the sources do not fit it.
    OSError
        If the document, a source or a compared target is unreachable.
    ValueError
        If `join` or `duplicates` is another word.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf day { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"
    >>> for name, values in (("first.nc", "1, 2"), ("second.nc", "3")):
    ...     _ = nczarr.write(nczarr.from_cdl(text % values), name)
    >>> _ = nczarr.refs.combine(["first.nc"], "days.json", along="t")
    >>> _ = nczarr.refs.append("days.json", ["second.nc"])
    >>> nczarr.open("days.json")["v"][:].tolist()
    [1, 2, 3]
    """
    from nczarr.api.inputs import finish, inputs_of
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import Report
    from nczarr.pipeline.select.selection import Subset
    from nczarr.plugins.combine.append import AppendRequest
    from nczarr.plugins.combine.append import append as run
    from nczarr.plugins.combine.join import Recoding
    from nczarr.plugins.combine.join.agreement import check_choices
    from nczarr.stores.spool import remove_fetched_files

    check_choices(join, duplicates)
    report, path = Report(), os.fspath(document)
    options = options_from(
        storage_options=storage_options, following=following, writing=writing, workers=workers, dask=dask, verify=verify
    )
    subset = Subset(list_texts(variables), list_texts(groups), related=coordinates, excluded=list_texts(exclude))
    request = AppendRequest(inputs_of(sources, options), path, list_texts(along), subset, options, document=True)
    request = request._replace(recoding=Recoding(units) if units is not None or decode_times else None, join=join)
    request = request._replace(sort=sort, duplicates=duplicates, unsorted=unsorted, repack=repack)
    with remove_fetched_files():
        done = run(request, report)
    return finish(None if done is None else done.conversion, path, report)
