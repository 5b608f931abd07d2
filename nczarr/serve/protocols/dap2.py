"""DAP2 of OPeNDAP: documents and values of one dataset, by the suffix of the URL.

    .dds  .das  .ver    declarations, attributes, versions
    .dods               declarations and values in XDR
    .ascii  .asc        values as text
    .html  .info        the form of the dataset, which is also at the URL without suffix

Refusals are the protocol's error documents, so that its clients show the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nczarr import __version__
from nczarr.formats.opendap.dap2 import write as dap2
from nczarr.serve.answers import BYTES, TEXT, HttpAnswer
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError
from nczarr.serve.limits import Limits
from nczarr.serve.spool import Disk
from nczarr.serve.value_streams import begun, bounded, check_size, memory_for, steady, whole

DAP2 = "dap2"
"""First segment of URLs."""

DOCUMENTS = ("dds", "das", "ver")
VALUES = {"dods": "dods", "ascii": "ascii", "asc": "ascii"}
PAGES = ("html", "info")

DIGITS = 6
"""Approximate characters of text per byte of a number."""

_HEADERS = (("XDODS-Server", f"nczarr/{__version__}"), ("XDAP", "2.0"))


class Dap2Values(NamedTuple):
    """Requested values."""

    nodes: tuple[dap2.Node, ...]
    """Requested nodes."""
    suffix: str
    """`dods` or `ascii`."""
    size: int
    """Approximate bytes of the answer."""
    need: int
    """Approximate memory in bytes."""


def split_suffix(name: str) -> tuple[str, str]:
    """Return a last segment without its suffix, and the suffix without its dot. Raises RefusedRequestError."""
    stem, dot, suffix = name.rpartition(".")
    if not dot or not stem or suffix not in (*DOCUMENTS, *VALUES, *PAGES):
        suffixes = ", ".join(f".{suffix}" for suffix in (*DOCUMENTS, *VALUES, *PAGES))
        raise RefusedRequestError(404, f"an URL ends in one of {suffixes}")
    return stem, suffix


def has_suffix(name: str) -> bool:
    """Return whether a last segment ends in a suffix of the protocol."""
    stem, _, suffix = name.rpartition(".")
    return bool(stem) and suffix in (*DOCUMENTS, *VALUES, *PAGES)


def document(opened: CachedDataset, suffix: str, expression: str) -> HttpAnswer:
    """Return a document other than values. Raises RefusedRequestError."""
    mapped = view(opened)
    match suffix:
        case "dds":
            text = dap2.dds(mapped, _selected(mapped, expression))
        case "das":
            text = dap2.das(mapped)
        case _:
            text = f"Core version: DAP/2.0\nServer version: nczarr/{__version__}\n"
    description = () if suffix == "ver" else (("Content-Description", f"dods_{suffix}"),)
    return HttpAnswer(text.encode("utf-8", "replace"), TEXT, headers=(*_HEADERS, *description))


def view(opened: CachedDataset) -> dap2.Mapping:
    """Return a dataset in DAP2; cached."""
    with opened.lock:
        mapped: dap2.Mapping | None = opened.views.get(DAP2)
        if mapped is None:
            mapped = opened.views[DAP2] = dap2.mapping(opened.checked, opened.place.segments[-1])
        return mapped


def _selected(mapped: dap2.Mapping, expression: str) -> tuple[dap2.Node, ...]:
    try:
        return dap2.select(mapped, expression)
    except dap2.ConstraintError as error:
        raise RefusedRequestError(400, str(error)) from None


def values_of(opened: CachedDataset, suffix: str, expression: str, limits: Limits) -> Dap2Values:
    """Return the values that a request wants. Raises RefusedRequestError."""
    nodes = _selected(view(opened), expression)
    kind = VALUES[suffix]
    size = dap2.size_of(nodes) * (DIGITS if kind == "ascii" else 1)
    check_size(size, limits)
    variables = {leaf.fqn for node in nodes for leaf, _ in dap2.leaves(node)}
    return Dap2Values(nodes, kind, size, memory_for(opened.checked, variables, size))


def data(opened: CachedDataset, values: Dap2Values, limits: Limits, disk: Disk) -> HttpAnswer:
    """Return the answer with values. Raises RefusedRequestError, CompileError, OSError."""
    mapped = view(opened)
    as_text = values.suffix == "ascii"
    response = dap2.ascii_response(mapped, values.nodes) if as_text else dap2.response(mapped, values.nodes)
    pieces = steady(bounded(_refusing(response), limits), opened)
    fixed = all(leaf.type != "string" for node in values.nodes for leaf, _ in dap2.leaves(node))
    body = begun(pieces) if fixed else whole(pieces, disk)
    headers = (*_HEADERS, ("Content-Description", "dods_ascii" if as_text else "dods_data"))
    return HttpAnswer(body, TEXT if as_text else BYTES, headers=headers, need=values.need, size=values.size)


def _refusing(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises RefusedRequestError for values that the protocol lacks."""
    try:
        yield from pieces
    except (dap2.InexactError, dap2.UnprintableError) as error:
        raise RefusedRequestError(400, str(error)) from None


def refusal(error: RefusedRequestError) -> HttpAnswer:
    """Return the error document of a refusal."""
    headers = (*_HEADERS, ("Content-Description", "dods_error"), *error.headers)
    return HttpAnswer(
        dap2.error_document(error.status, error.text).encode("utf-8", "replace"), TEXT, error.status, headers
    )
