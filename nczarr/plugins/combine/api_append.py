"""`nczarr.append`: extend an existing target."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from nczarr.api.hints import add_hints
from nczarr.names import list_texts
from nczarr.options import DEFAULT_MEMORY, FOLLOWING, Following

if TYPE_CHECKING:
    from nczarr.api.inputs import Dataset
    from nczarr.plan.plans import Conversion
    from nczarr.plugins.combine.join.agreement import Join


@add_hints
def append(
    sources: Dataset | Iterable[Dataset],
    target: str | os.PathLike[str],
    *,
    along: str | Iterable[str] = (),
    region: Literal["auto"] | None = None,
    units: str | None = None,
    join: Join = "exact",
    repack: bool = False,
    unpack: bool = False,
    narrow: bool = False,
    variables: Iterable[str] = (),
    exclude: Iterable[str] = (),
    groups: Iterable[str] = (),
    coordinates: bool = True,
    allow_loss: Iterable[str] = (),
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    discard: bool = False,
    verify: bool = False,
    message: str | None = None,
    author: str | None = None,
    virtual: bool = False,
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
        Path or URL of a Zarr store, a netCDF file, an icechunk repository or a document
        of references.
    along : str or Iterable of str
        Dimensions to extend, simple names or paths. By default the one whose length differs
        from that of the first source, or the only unlimited one.
    region : "auto", optional
        Replace the records whose coordinates the target has already. None: they are
        an error.
    units : str, optional
        Convert values of the sources to the units of the target: `"majority"`, or these units.
        None: other units are an error.
    join : str
        Treatment of variables and coordinates that differ from those of the target: `"exact"`,
        an error; `"outer"`, fill values where a source lacks a variable or a part; `"override"`,
        the coordinates of the target. Files also get new variables and coordinates.
    repack : bool
        Give sources with another type, packing or fill value those of the target.
    unpack : bool
        Give packed variables of the sources the numbers that they stand for, as in the target.
    narrow : bool
        Give the sources of a classic file its types: integers and strings, if that is exact.
    variables, exclude, groups : Iterable of str
        Restrict the sources to these, or leave them out.
    coordinates : bool
        Add the coordinates of `variables`, and other variables that they name.
    allow_loss : Iterable of str
        Codes of value losses that are accepted; `all` accepts every one.
    memory : int
        Bytes of decoded chunks in flight.
    workers : int, optional
        Number of threads; by default one for each processor.
    discard : bool
        Discard what an interrupted run of another command, which is not active, has written.
    verify : bool
        Read the new records again, and publish them only if they are those of the sources.
    message, author : str, optional
        Message and author of a commit in a repository.
    virtual : bool
        In a repository, refer to chunks in the files of the sources.
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
    from nczarr.api.inputs import finish, inputs_of
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import Report
    from nczarr.pipeline.select.selection import Subset
    from nczarr.plugins.combine.append import AppendRequest
    from nczarr.plugins.combine.append import append as run
    from nczarr.plugins.combine.join.agreement import check_choices
    from nczarr.stores.spool import remove_fetched_files

    check_choices(join)
    if region not in (None, "auto"):
        raise ValueError(f"{region!r} is not a region; use 'auto' or None")
    report, path = Report(), os.fspath(target)
    options = options_from(storage_options=storage_options, following=following, allow_loss=allow_loss, memory=memory)
    options = options.change(workers=workers, message=message, author=author, virtual=virtual)
    options = options.change(verify=verify, unpack=unpack, narrow=narrow)
    subset = Subset(list_texts(variables), list_texts(groups), related=coordinates, excluded=list_texts(exclude))
    inputs, is_path = inputs_of(sources, options), isinstance(sources, str | os.PathLike)
    request = AppendRequest(inputs, path, list_texts(along), subset, options, region == "auto", unnamed=is_path)
    request = request._replace(join=join, repack=repack, units=units, discard=discard)
    with remove_fetched_files():
        result = run(request, report)
    return finish(None if result is None else result.conversion, path, report)
