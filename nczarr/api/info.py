"""`nczarr.info`: facts about a dataset."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nczarr.api.hints import add_hints

if TYPE_CHECKING:
    from nczarr.api.inputs import Dataset


@add_hints
def info(
    source: Dataset, *, from_format: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return facts about a dataset: sizes, coordinates, chunks, missing chunks, the cost of opening, warnings.

    Coordinates are read; of other values only the places of chunks.

    Parameters
    ----------
    source : str, os.PathLike, DatasetHandle, nczarr.ast.Dataset or object of xarray
        Path or URL, or a dataset in memory, whose `format` and `path` are empty or its name.
    from_format : str, optional
        Name of the format; by default found by the content.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    dict
        What `nczarr info --json` prints: `path`, `format`, `kind`, `title`, `groups`,
        `dimensions` (length and `unlimited` by path), `coordinates`, `variables` (sizes in
        bytes, lengths of chunks, codecs), `size` and `stored` (bytes), `opening` (requests
        and bytes by ranges) and `warnings`.

    Raises
    ------
    CompileError
        If the source has errors.
    OSError
        If the source is unreachable.

    Examples
    --------
    >>> import nczarr
    >>> facts = nczarr.info("samples/01-station.cdl")
    >>> facts["size"], facts["coordinates"][0]["values"]["last"]
    (102, '2020-01-01 12:00')
    """
    from nczarr.api.handle import DatasetHandle
    from nczarr.api.inputs import open_if_object
    from nczarr.api.options import options_from
    from nczarr.diagnostics.report import CompileError, Report
    from nczarr.pipeline.info import InfoRequest, collect_facts

    options, report, opened = options_from(storage_options=storage_options), Report(), open_if_object(source)
    if isinstance(opened, DatasetHandle):
        request = InfoRequest(opened.dataset.name, options=options, dataset=opened.checked)
    else:
        request = InfoRequest(os.fspath(opened), None, from_format, options)
    informed = collect_facts(request, report)
    if informed is None or report.errors:
        raise CompileError(report.list_sorted())
    return informed.facts.record()
