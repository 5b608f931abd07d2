"""`nczarr.append`: extend an existing target."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from nczarr.options import DEFAULT_MEMORY, FOLLOWING, Following

if TYPE_CHECKING:
    from nczarr.api.handle import DatasetHandle
    from nczarr.plan.plans import Conversion

    Dataset = str | os.PathLike[str] | DatasetHandle


def append(
    sources: Dataset | Iterable[Dataset],
    target: str | os.PathLike[str],
    *,
    along: str | Iterable[str],
    region: Literal["auto"] | None = None,
    variables: Iterable[str] = (),
    groups: Iterable[str] = (),
    coordinates: bool = True,
    allow_loss: Iterable[str] = (),
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    discard: bool = False,
    message: str | None = None,
    author: str | None = None,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
) -> Conversion:
    """Extend an existing target along a dimension. The target reads as before or as after, at any moment.

    docs/how-to/append.md describes what must agree, and what is written.

    Parameters
    ----------
    sources : str, os.PathLike, DatasetHandle, or Iterable of these
        Paths, URLs or open datasets, in the order of their records.
    target : str or os.PathLike
        Path or URL of a Zarr store, a netCDF file or an icechunk repository.
    along : str or Iterable of str
        Dimensions to extend, simple names or paths.
    region : "auto", optional
        Replace the records whose coordinates the target has already. None: they are
        an error.
    variables, groups : Iterable of str
        Restrict the sources to these.
    coordinates : bool
        Add the coordinates of `variables`, and other variables that they name as
        related.
    allow_loss : Iterable of str
        Codes of value losses that are accepted; `all` accepts every one.
    memory : int
        Bytes of decoded chunks in flight.
    workers : int, optional
        Number of threads; by default one for each processor.
    discard : bool
        Discard what an interrupted run of another command has written. That run must
        not be active any more.
    message, author : str, optional
        Message and author of a commit in a repository.
    following : nczarr.refs.Following
        Options for following references in sources.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    Conversion
        What was written: chunks by route, bytes, and warnings.

    Raises
    ------
    CompileError
        If a source does not continue the target, or if the target cannot be
        extended. Nothing is written then.
    OSError
        If a source or the target is unreachable.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf day { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"
    >>> _ = nczarr.write(nczarr.from_cdl(text % "1, 2"), "days.zarr")
    >>> done = nczarr.append(nczarr.from_cdl(text % "3"), "days.zarr", along="t")
    >>> nczarr.open("days.zarr")["v"][:].tolist()
    [1, 2, 3]
    """
    from nczarr.api.handle import DatasetHandle, report_losses
    from nczarr.check.checked import Checked
    from nczarr.diagnostics.report import CompileError, Report, Severity
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.diagnostics.value_losses import ALLOWED, not_allowed
    from nczarr.operations import append as extension
    from nczarr.operations import pipeline
    from nczarr.operations.combine.sources import Input, every_opened
    from nczarr.options import Options, Subset
    from nczarr.stores.spool import passing

    if region not in (None, "auto"):
        raise ValueError(f"{region!r} is not a region; use 'auto' or None")
    losses = frozenset([allow_loss] if isinstance(allow_loss, str) else allow_loss)
    for word in sorted(losses - ALLOWED):
        raise ValueError(not_allowed(word))
    report = Report()
    options = Options(
        storage=StorageOptions(storage_options),
        following=following,
        allow_loss=losses,
        memory=memory,
        workers=workers,
        message=message,
        author=author,
    )
    single = isinstance(sources, str | os.PathLike | DatasetHandle)
    every: Iterable[Any] = [sources] if single else sources  # type: ignore[assignment]
    inputs = [source if isinstance(source, DatasetHandle) else os.fspath(source) for source in every]

    def read(source: str | DatasetHandle, source_report: Report) -> Checked | None:
        if not isinstance(source, DatasetHandle):
            return pipeline.read_path(source, source_report, options._replace(survey=True))
        report_losses(source, source_report, options)
        return None if source_report.errors else source.checked

    named = [
        Input(source if isinstance(source, str) else source.dataset.name or f"dataset {number}", partial(read, source))
        for number, source in enumerate(inputs, 1)
    ]
    words = (along,) if isinstance(along, str) else tuple(along)
    path, subset = os.fspath(target), Subset(tuple(variables), tuple(groups), related=coordinates)
    with passing():
        command = extension.fingerprint(inputs, path, words, region, subset, options)
        order = extension.ExtendRequest(words, region == "auto", command, discard=discard)
        done = extension.append(every_opened(named, subset, report), path, order, report, options)
    diagnostics = report.sorted()
    if done is None or any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        raise CompileError(diagnostics)
    return done.conversion._replace(diagnostics=tuple(diagnostics))
