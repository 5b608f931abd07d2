"""`nczarr.pyramid`: write a dataset with overviews."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from nczarr.api.inputs import finish, input_of
from nczarr.api.options import ConvertOptions, options_from, subset_from, takes
from nczarr.diagnostics.report import Report
from nczarr.names import list_texts
from nczarr.plan.plans import Conversion

if TYPE_CHECKING:
    from nczarr.api.inputs import Dataset
    from nczarr.plugins.pyramid.reduce import Method
    from nczarr.plugins.pyramid.spec import Boundary, Convention


@takes(ConvertOptions)
def pyramid(
    source: Dataset,
    target: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    *,
    levels: int | None = None,
    factor: int = 2,
    along: str | Iterable[str] = (),
    method: Method | Mapping[str, Method] | None = None,
    boundary: Boundary = "pad",
    convention: Convention | Iterable[Convention] = "geo",
    update: bool = False,
    **options: Unpack[ConvertOptions],
) -> Conversion:
    """Write a dataset with overviews: level 0 as the group `0`, each further level as a group of its own.

    docs/how-to/pyramid.md describes the methods, the coordinates and the metadata.

    Parameters
    ----------
    source : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
        Path, URL or open dataset.
    target : str or os.PathLike, optional
        Path or URL of the new target. None, or that of the source: the levels are added to
        the store, beside its arrays, which stay as they are.
    format : str, optional
        Format of the target; by default that of its suffix.
    levels : int, optional
        Number of levels above level 0. None: until the last one has at most 256 cells along
        each reduced dimension.
    factor : int
        Cells along each reduced dimension that become one in the next level.
    along : str or Iterable of str
        Reduced dimensions. None: those of maps, which coordinates or usual names tell.
    method : str or Mapping of str to str, optional
        `"mean"`, `"nearest"`, `"mode"`, `"min"` or `"max"`; by name of a variable, or for all
        variables of numbers. None: mean; mode for classes; nearest for other than numbers.
    boundary : str
        Cells at the end that are fewer than `factor`: `"pad"` makes one cell of those that
        there are, `"trim"` leaves them out.
    convention : str or Iterable of str
        Metadata: `"geo"` for the conventions of GeoZarr, `"ome"` for OME-Zarr 0.5.
    update : bool
        Bring the levels of the target up to date, after the source or the target has grown.
    **options
        The options of `nczarr.api.options.ConvertOptions`. Here `unpack` writes means of packed
        numbers and of integers as double, and leaves level 0 as it is.

    Returns
    -------
    Conversion
        What was written: chunks by route, bytes, and warnings.

    Raises
    ------
    FileExistsError
        If the target exists and `overwrite` is false.
    CompileError
        If the source has errors or no dimensions to reduce, or if the target cannot hold it.
    OSError
        If the source or the target is unreachable.
    TypeError, ValueError
        If an option does not exist, or has an invalid value.

    Examples
    --------
    >>> import nczarr
    >>> text = "netcdf d { dimensions: y = 2 ; x = 4 ; variables: float t(y, x) ; data: t = 1, 2, 3, 4, 5, 6, 7, 8 ; }"
    >>> done = nczarr.pyramid(nczarr.from_cdl(text), "map.zarr", levels=1)
    >>> nczarr.open("map.zarr")["/1/t"][:].tolist()
    [[3.5, 5.5]]
    """
    from nczarr.pipeline.phases import Input
    from nczarr.plugins.pyramid.spec import PyramidRequest, PyramidSpec
    from nczarr.plugins.pyramid.write import write_pyramid
    from nczarr.stores.spool import remove_fetched_files

    if target is None and not isinstance(source, str | os.PathLike):
        raise TypeError("name the target: levels are added to stores at a path or URL alone")
    methods = {} if method is None else {"": method} if isinstance(method, str) else dict(method)
    words = list_texts(convention)
    spec = PyramidSpec(levels, factor, list_texts(along), methods, boundary, options.get("unpack", False), words)  # type: ignore[arg-type]
    if spec.problem() is not None:
        raise ValueError(spec.problem())
    report, path = Report(), os.fspath(source if target is None else target)  # type: ignore[arg-type]
    subset, settings = subset_from(report, **options), options_from(**options).change(unpack=False)
    with remove_fetched_files():
        result = None
        if not report.errors:
            read: Input = input_of(source, settings, options.get("from_format"))
            request = PyramidRequest(read, path, spec, format, subset, settings, update)
            result = write_pyramid(request, report)
    return finish(None if result is None else result.conversion, path, report)
