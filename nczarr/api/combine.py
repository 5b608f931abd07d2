"""`nczarr.refs.combine`: many datasets as one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from nczarr.options import FOLLOWING, WRITING, Following, Writing

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
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
        The options of `nczarr.convert`.

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
    from nczarr import pipeline
    from nczarr.api.convert import convert
    from nczarr.api.handle import DatasetHandle, handle_of, report_losses
    from nczarr.check.checked import Checked
    from nczarr.combine import Recoding, Wanted
    from nczarr.combine import combine as combined
    from nczarr.combine.sources import home_of, opened
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.endpoints import targets
    from nczarr.options import Options, Subset
    from nczarr.registry import REFERENCE
    from nczarr.secrets import StorageOptions
    from nczarr.stores.spool import passing

    report = Report()
    given = [source if isinstance(source, DatasetHandle) else os.fspath(source) for source in sources]
    reading = Options(survey=True, storage=StorageOptions(storage_options), following=following)

    def read(source: str | DatasetHandle, own: Report) -> Checked | None:
        if not isinstance(source, DatasetHandle):
            return pipeline.read_path(source, own, reading)
        report_losses(source, own, reading)
        return None if own.errors else source.checked

    named = [(_name(source, number), partial(read, source)) for number, source in enumerate(given, 1)]

    form = None if target is None else targets.target_format(os.fspath(target), format, report)
    if report.errors:
        raise CompileError(report.sorted())
    words = (along,) if isinstance(along, str) else tuple(along)
    subset = Subset(tuple(variables), tuple(groups))
    embed = writing.embed if form is not None and form.name == REFERENCE else None
    recoding = Recoding(units) if units is not None or decode_times else None
    wanted = Wanted(words, new_dim, embed, recoding, options.get("grid") == "rectilinear")

    def made() -> DatasetHandle:
        return handle_of(combined(opened(named, subset, report), wanted, report), report)

    if target is None:
        return made()
    paths = [source for source in given if isinstance(source, str)]
    if paths and writing.home is None:
        writing = writing._replace(home=home_of(paths))
    with passing():
        handle = made()
        done = convert(handle, target, format, writing=writing, storage_options=storage_options, **options)
    return done._replace(diagnostics=(*handle.diagnostics, *done.diagnostics))


def _name(source: str | DatasetHandle, number: int) -> str:
    """Return the name of a source in messages."""
    return source if isinstance(source, str) else source.dataset.name or f"dataset {number}"
