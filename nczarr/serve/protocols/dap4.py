"""DAP4 of OPeNDAP: documents and values of one dataset, by the suffix of the URL.

    .dmr  .dmr.xml      declarations and attributes
    .dap                declarations and values, in chunks

`dap4.ce` selects variables and slices. `dap4.checksum=true` adds checksums,
which libnetcdf does not expect by default. A response that fails after its
beginning ends with an error chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr import __version__
from nczarr.arrays.values.parts import is_fixed
from nczarr.diagnostics.report import CompileError
from nczarr.formats.opendap.dap4 import write as dap4
from nczarr.serve.answers import HttpAnswer
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError
from nczarr.serve.limits import Limits
from nczarr.serve.spool import Disk
from nczarr.serve.value_streams import FIRST, begun, bounded, check_size, memory_for, steady, whole

DAP4 = "dap4"
"""First segment of URLs."""

DMR, DATA, ERROR = (f"application/vnd.opendap.dap4.{kind}" for kind in ("dataset-metadata+xml", "data", "error+xml"))
_SUFFIXES = {".dmr.xml": "dmr", ".dmr": "dmr", ".dap": "dap"}
_HEADERS = (("XDODS-Server", f"nczarr/{__version__}"), ("XDAP", "4.0"))


class Dap4Values(NamedTuple):
    """Requested values."""

    projection: dap4.Projection
    """Requested variables."""
    checksums: bool
    """True if checksums follow the variables."""
    size: int
    """Approximate bytes of the answer."""
    need: int
    """Approximate memory in bytes."""


def split_suffix(name: str) -> tuple[str, str]:
    """Return a last segment without its suffix, and `dmr` or `dap`. Raises RefusedRequestError."""
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix), kind
    raise RefusedRequestError(404, f"an URL ends in one of {', '.join(_SUFFIXES)}")


def _selected(opened: CachedDataset, query: Mapping[str, str]) -> dap4.Projection:
    if query.get("dap4.function"):
        raise RefusedRequestError(400, "the server has no functions")
    try:
        return dap4.select(opened.checked, query.get("dap4.ce", ""))
    except dap4.ConstraintError as error:
        raise RefusedRequestError(400, str(error)) from None


def document(opened: CachedDataset, query: Mapping[str, str]) -> HttpAnswer:
    """Return the document of the requested variables. Raises RefusedRequestError."""
    text = dap4.dmr(opened.checked, _selected(opened, query), opened.place.segments[-1])
    return HttpAnswer(text.encode("utf-8", "replace"), DMR, headers=_HEADERS)


def values_of(opened: CachedDataset, query: Mapping[str, str], limits: Limits) -> Dap4Values:
    """Return the values that a request wants. Raises RefusedRequestError."""
    projection = _selected(opened, query)
    size = dap4.size_of(opened.checked, projection)
    check_size(size, limits)
    checksum = query.get("dap4.checksum", "false").lower()
    if checksum not in ("true", "false"):
        raise RefusedRequestError(400, "`dap4.checksum` is `true` or `false`")
    need = memory_for(opened.checked, (variable.fqn for variable in projection.variables), size)
    return Dap4Values(projection, checksum == "true", size, need)


def data(opened: CachedDataset, values: Dap4Values, limits: Limits, disk: Disk) -> HttpAnswer:
    """Return the answer with values. Raises RefusedRequestError, CompileError, OSError."""
    checked = opened.checked
    response = dap4.response(checked, values.projection, opened.place.segments[-1], checksums=values.checksums)
    pieces = steady(bounded(response, limits), opened)
    fixed = all(
        is_fixed(checked.variables[variable.fqn].type, checked.types) for variable in values.projection.variables
    )
    body = begun(_ended(pieces)) if fixed else whole(pieces, disk)
    return HttpAnswer(body, DATA, headers=_HEADERS, need=values.need, size=values.size)


def _ended(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, which are whole chunks; after the first ones, an error ends them with an error chunk."""
    count = 0
    try:
        for piece in pieces:
            yield piece
            count += len(piece)
    except (RefusedRequestError, CompileError, OSError) as error:
        if count <= FIRST:
            raise
        status = error.status if isinstance(error, RefusedRequestError) else 500
        yield dap4.error_chunk(
            status, error.text if isinstance(error, RefusedRequestError) else "the values cannot be read"
        )


def refusal(error: RefusedRequestError) -> HttpAnswer:
    """Return the error document of a refusal."""
    text = dap4.error_document(error.status, error.text)
    return HttpAnswer(text.encode("utf-8", "replace"), ERROR, error.status, (*_HEADERS, *error.headers))
