"""`nczarr.refs.combine` and `append`: many datasets as one, in steps too."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from nczarr.options import FOLLOWING, WRITING, Following, Writing
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.check.checked import Checked
    from nczarr.diagnostics.report import Report
    from nczarr.operations.combine import Combined
    from nczarr.operations.combine.sources import Input
    from nczarr.options import Options
    from nczarr.plan.plans import Conversion

    Dataset = str | os.PathLike[str] | DatasetHandle


@overload
def combine(
    sources: Iterable[Dataset],
    target: None = None,
    *,
    along: str | Iterable[str] = ...,
    new_dim: str | None = ...,
    variables: Iterable[str] = ...,
    groups: Iterable[str] = ...,
    decode_times: bool = ...,
    units: str | None = ...,
    following: Following = ...,
    storage_options: Mapping[str, Any] | None = ...,
) -> DatasetHandle: ...


@overload
def combine(
    sources: Iterable[Dataset],
    target: str | os.PathLike[str],
    format: str | None = ...,
    *,
    along: str | Iterable[str] = ...,
    new_dim: str | None = ...,
    variables: Iterable[str] = ...,
    groups: Iterable[str] = ...,
    decode_times: bool = ...,
    units: str | None = ...,
    writing: Writing = ...,
    following: Following = ...,
    storage_options: Mapping[str, Any] | None = ...,
    **options: Any,
) -> Conversion: ...


def combine(
    sources: Iterable[Dataset],
    target: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    *,
    along: str | Iterable[str] = (),
    new_dim: str | None = None,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    decode_times: bool = False,
    units: str | None = None,
    writing: Writing = WRITING,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
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
        Existing dimensions to join along; with `new_dim`, the variables to stack.
    new_dim : str, optional
        Name of a new dimension to stack along.
    variables, groups : Iterable of str
        Restrict the result to these.
    decode_times : bool
        Count the times of all sources in the `units` of the first.
    units : str, optional
        Count the times of all sources in these units, such as `"hours since
        1970-01-01"`. Times that are no exact numbers of them are an error.
    writing : nczarr.refs.Writing
        Options for writing references.
    following : nczarr.refs.Following
        Options for following references in sources.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.
    **options
        The options of `nczarr.convert`; `dims`, `sel` and `nearest` cut the result. For
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
    FileExistsError
        If the target exists and `overwrite` is false.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf day { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"
    >>> days = [nczarr.from_cdl(text % values) for values in ("1, 2", "3")]
    >>> nczarr.refs.combine(days, along="t")["v"][:].tolist()
    [1, 2, 3]
    """
    from nczarr.api.convert import convert
    from nczarr.api.handle import DatasetHandle, handle_of
    from nczarr.api.options import subset_from
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.operations import pipeline, targets
    from nczarr.operations.combine import CombineSpec, Recoding, combined, journal_of
    from nczarr.operations.combine.sources import for_reading, home_of
    from nczarr.options import Options
    from nczarr.registry import REFERENCE
    from nczarr.stores.spool import passing

    report = Report()
    origins = [source if isinstance(source, DatasetHandle) else os.fspath(source) for source in sources]
    reading = for_reading(Options(storage=StorageOptions(storage_options), following=following))
    form = None if target is None else targets.target_format(os.fspath(target), format, report)
    if report.errors:
        raise CompileError(report.sorted())
    subset = subset_from(report, variables=variables, groups=groups, **_cuts(options))
    words = (along,) if isinstance(along, str) else tuple(along)
    recoding = Recoding(units) if units is not None or decode_times else None
    spec = CombineSpec(words, new_dim, recoding=recoding, rectilinear=options.get("grid") == "rectilinear")
    if form is not None and form.name == REFERENCE:
        spec = spec._replace(addressable=writing.embed, inline=writing.inline)
    dask, resume = options.get("dask"), False
    if spec.addressable is not None:  # one process writes a document
        dask, resume = options.pop("dask", None), options.pop("resume", False)
    if dask is not None and not _is_divisible(origins, dask, report):
        raise CompileError(report.sorted())
    inputs = [_input(source, number, reading, absolute=dask is not None) for number, source in enumerate(origins, 1)]
    place = None if target is None else os.fspath(target)
    taken = spec.addressable is not None and place is not None and not is_remote(place) and os.path.lexists(place)
    if taken and not options.get("overwrite"):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place)

    def read() -> Combined:
        dataset = combined(
            inputs,
            subset.choice,
            spec,
            report,
            storage=reading.storage.of("source"),
            workers=options.get("workers"),
            dask=dask,
            journal=journal_of(place, spec, len(inputs), resume=resume),
            asked=repr(following),
        )
        checked = dataset and pipeline.select(dataset.checked, subset.cuts, report)
        if dataset is None or checked is None:
            raise CompileError(report.sorted())
        return dataset._replace(checked=checked)

    if target is None:
        return handle_of(read().checked, report)
    paths = [source for source in origins if isinstance(source, str)]
    if paths and writing.home is None:
        writing = writing._replace(home=home_of(paths))
    with passing():
        dataset = read()
        handle = handle_of(dataset.checked, report)
        done = convert(handle, target, format, writing=writing, storage_options=storage_options, **options)
        dataset.forget()
    return done._replace(diagnostics=(*handle.diagnostics, *done.diagnostics))


def _cuts(options: dict[str, Any]) -> Any:
    """Remove and return the options that cut the result, which a conversion of the result must not do again."""
    return {name: options.pop(name) for name in ("dims", "sel", "nearest", "coordinates") if name in options}


def append(
    document: str | os.PathLike[str],
    sources: Iterable[Dataset],
    *,
    along: str | Iterable[str] = (),
    decode_times: bool = False,
    units: str | None = None,
    variables: Iterable[str] = (),
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
    variables, groups : Iterable of str
        Restrict the sources to these.
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
    from nczarr.api.handle import DatasetHandle
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.operations.combine import Recoding
    from nczarr.operations.combine.append import DocumentExtension, locked, write
    from nczarr.operations.combine.sources import for_reading
    from nczarr.options import Options, Subset
    from nczarr.stores.spool import passing

    report = Report()
    origins = [source if isinstance(source, DatasetHandle) else os.fspath(source) for source in sources]
    options = Options(
        storage=StorageOptions(storage_options),
        following=following,
        writing=writing,
        workers=workers,
        dask=dask,
        verify=verify,
    )
    if dask is not None and not _is_divisible(origins, dask, report):
        raise CompileError(report.sorted())
    reading = for_reading(options)
    inputs = [_input(source, number, reading, absolute=dask is not None) for number, source in enumerate(origins, 1)]
    words = (along,) if isinstance(along, str) else tuple(along)
    recoding = Recoding(units) if units is not None or decode_times else None
    subset = Subset(tuple(variables), tuple(groups), related=coordinates)
    path, done = os.fspath(document), None
    with passing(), locked(path, report, options) as lock:
        extension = (
            None if lock is None else DocumentExtension.of(path, inputs, words, recoding, subset, options, report)
        )
        if lock is not None and extension is not None and not report.errors:
            done = write(extension, lock, report)
    if done is None or report.errors:
        raise CompileError(report.sorted())
    return done._replace(diagnostics=tuple(report.sorted()))


def _is_divisible(sources: Iterable[str | DatasetHandle], dask: str, report: Report) -> bool:
    """Return whether a cluster can read all sources. Reports indivisible-run, bad-url, missing-library."""
    from nczarr.link.cluster_limits import indivisible, is_scheduler

    if not all(isinstance(source, str) for source in sources):
        indivisible("an open dataset belongs to one process", report)
        return False
    return is_scheduler(dask, report)


def _input(source: str | DatasetHandle, number: int, reading: Options, *, absolute: bool) -> Input:
    """Return a source; an open dataset belongs to this process. `absolute`: it is read from another folder."""
    from nczarr.operations import pipeline
    from nczarr.operations.combine.sources import Input

    if isinstance(source, str):
        plain = absolute and not is_remote(source) and os.path.lexists(source)
        path = os.path.abspath(source) if plain else source
        return Input(source, partial(pipeline.read_path, path, options=reading), portable=True)
    return Input(source.dataset.name or f"dataset {number}", partial(_checked, source, reading))


def _checked(source: DatasetHandle, reading: Options, report: Report) -> Checked | None:
    """Return the content of an open dataset; None if reading it lost values."""
    from nczarr.api.handle import report_losses

    report_losses(source, report, reading)
    return None if report.errors else source.checked
