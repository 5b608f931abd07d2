"""Parts of DODS responses and DDS texts that files and servers share."""

from __future__ import annotations

import os
import re
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Buffer, Source, Span
from nczarr.formats.opendap.common.columns import BrokenValuesError
from nczarr.formats.opendap.common.declarations import DmrScope, FaultError
from nczarr.formats.opendap.dap2.read.attributes import DasAttributes
from nczarr.formats.opendap.dap2.read.parse import Dds, parse_das, parse_dds
from nczarr.formats.opendap.dap2.read.renaming import restore_names
from nczarr.formats.opendap.dap2.read.tokens import TextFaultError
from nczarr.formats.opendap.dap2.read.tree import TEXT_LENGTH, DataSlot, Tree, slots_of

_DATA = re.compile(rb"\n[ \t]*Data:[ \t]*\r?\n")
_ERROR = re.compile(rb"\s*error\s*\{", re.IGNORECASE)
_MESSAGE = re.compile(rb'message\s*=\s*("(?:\\.|[^"\\])*"|[^;]*)', re.IGNORECASE)


def values_at(data: Buffer) -> tuple[int, int] | None:
    """Return the end of the DDS of a response, and the start of its values; None without values."""
    match = _DATA.search(data)
    return None if match is None else (match.start() + 1, match.end())


def declarations(text: Source, start: int, stop: int) -> tuple[Dds, DmrScope, list[DataSlot]]:
    """Return a DDS, its types, and its variables in the order of their values. Raises TextFaultError."""
    schema, scope = parse_dds(text, start, stop), DmrScope("_", "/")
    try:
        return schema, scope, slots_of(schema, scope)
    except FaultError as fault:
        raise TextFaultError(str(fault), start, start) from None


def same_values(one: NDArray[Any], other: NDArray[Any], type_name: str) -> bool:
    """Return whether two arrays of one shape and dtype are equal bit by bit."""
    return bool((one == other).all()) if type_name == "string" else one.tobytes() == other.tobytes()


def chars_of(texts: NDArray[Any], length: int) -> NDArray[Any]:
    """Return texts as chars with NULs behind: one more dimension of this length, none for 0.

    Raises BrokenValuesError.
    """
    items, size = texts.reshape(-1).tolist(), length or 1
    longest = max(map(len, items), default=0)
    if longest > size:
        raise BrokenValuesError(f"a text has {longest} bytes, but `{TEXT_LENGTH}` is {size}", 0)
    chars = np.array(items, f"S{size}").view("S1")
    return chars.reshape(*texts.shape, length) if length else chars.reshape(texts.shape)


def refuse_error(source: Source, report: Report) -> bool:
    """Report an error document of a server; return whether the source is one."""
    head = bytes(source.data[: 1 << 16])
    if _ERROR.match(head) is None:
        return False
    message = _MESSAGE.search(head)
    words = message[1].strip(b'" \r\n\t').decode("utf-8", "replace") if message else "no message"
    report.error("bad-dap2", f"the server reports an error: {' '.join(words.split())}", Span(source, 0, 0))
    return True


def dataset(tree: Tree, das: Source | None, report: Report) -> Dataset | None:
    """Return the dataset of a tree with the attributes of a DAS; None after an error.

    Reports `bad-dap2`; `foreign-member` for an invalid DAS.
    """
    attributes = DasAttributes(tree, report)
    if das is not None:
        if refuse_error(das, report):
            return None
        try:
            attributes.assign(parse_das(das))
        except TextFaultError as fault:  # the values and their declarations are those of other documents
            text = f"the attributes are invalid, and left out: {fault}"
            report.warning("foreign-member", text, Span(das, fault.start, fault.end))
    tree.restore_chars()
    unlimited = restore_names(tree, attributes.unlimited)
    dimensions, variables = tree.nodes(unlimited)
    return Dataset(
        name=_name(tree.schema),
        types=tuple(tree.types),
        dimensions=dimensions,
        variables=variables,
        attributes=tuple(attributes.attributes.values()),
    )


def _name(schema: Dds) -> str:
    """Return the name of a dataset without folders and the suffix of a netCDF or HDF file."""
    stem, suffix = os.path.splitext(schema.name.replace("%2f", "/").rpartition("/")[2])
    return stem if suffix.lower() in (".nc", ".nc4", ".cdf", ".hdf", ".h5", ".hdf5", ".dat") else stem + suffix
