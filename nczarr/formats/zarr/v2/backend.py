"""`zarr2`: plan → metadata of a Zarr v2 store: `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`.

Source: the Zarr v2 specification; members in netCDF-C's order. `_FillValue` is
the array's fill value, and an attribute too unless NaN or infinite, which plain
JSON cannot hold.

Records are lists of [name, dtype]. Array and record fields are valid Zarr v2,
but make zarr-python reject the whole group. They are written as raw bytes,
`|Vn`; the extension stores their type.
"""

import base64
import math
from collections.abc import Iterator, Sequence
from typing import Any

from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast import Constant
from nczarr.ast.plain_json import JsonConstant, is_finite, plain
from nczarr.diagnostics.report import Report
from nczarr.formats.common import consolidated
from nczarr.formats.zarr.core.fill_values import Json, json_of
from nczarr.formats.zarr.core.writer import Entry, Writer, encode
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.stores.base import is_metadata

GROUP = b'{"zarr_format": 2}'
"""Content of every `.zgroup`."""


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return Zarr2Writer(plan).entries()


class Zarr2Writer(Writer):
    """Documents of Zarr v2, with dimension names as xarray reads them."""

    scalar_shape: tuple[int, ...] = ()  # as zarr-python and xarray write scalars
    """Shape written for a scalar variable."""

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        yield f"{prefix}.zattrs", encode(attributes)
        yield f"{prefix}.zgroup", GROUP

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """Yield `.zarray` and `.zattrs`; the axes are in the attributes."""
        yield f"{prefix}.zarray", self._array_document(target, self.scalar_shape)
        yield f"{prefix}.zattrs", encode(attributes)

    def part(self, prefix: str, target: PartTarget, axes: Sequence[str]) -> Iterator[Entry]:
        yield f"{prefix}.zarray", self._array_document(target)
        yield f"{prefix}.zattrs", encode({"_ARRAY_DIMENSIONS": axes})

    def _array_document(self, target: PartTarget, scalar_shape: tuple[int, ...] = ()) -> bytes:
        """Return `.zarray` of an array. A scalar gets `scalar_shape`, for readers that drop `[]`.

        ::

            {"zarr_format": 2, "shape": [4, 3], "dtype": "<f4", "chunks": [4, 3], "fill_value": "NaN", "order": "C",
             "compressor": {"id": "zlib", "level": 5}, "filters": [{"id": "shuffle", "elementsize": 4}]}

        The last codec is the compressor, the others are filters; in references all
        are filters, as in kerchunk's. `filters` is null
        if empty: netCDF-C crashes on an empty list. Texts with invalid UTF-8 use
        `vlen-bytes`, encoded like `vlen-utf8`, so that zarr-python can read the
        bytes.
        """
        layout, arrays = target.layout, self.plan.form.capabilities.arrays
        by_reference = arrays is not None and arrays.by_reference
        configs = to_configs(layout.codecs, itemsize(layout.dtype))
        last = configs.pop() if configs and not by_reference else None
        if layout.dtype == "|O":
            configs.insert(0, {"id": "vlen-utf8" if target.utf8 else "vlen-bytes"})
        return encode(
            {
                "zarr_format": 2,
                "shape": layout.shape or scalar_shape,
                "dtype": _name_dtype(layout.dtype),
                "chunks": layout.chunks or scalar_shape,
                "fill_value": _show_fill(layout.dtype, layout.fill),
                "order": layout.order,  # netCDF-C does not honour `F`, and crashes without the member
                "compressor": last,
                "filters": configs or None,
                **({} if target.separator in (None, ".") else {"dimension_separator": target.separator}),
            }
        )

    def consolidate(self, documents: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the documents, and `.zmetadata` before those of the root.

        It has the documents of groups and arrays alone: zarr-python opens no store
        with others in it.
        """
        entries: list[Entry] = []
        for key, document in documents:
            if key == ".zattrs":  # the root is next and last: all others are known
                every = sorted([*entries, (".zattrs", document), (".zgroup", GROUP)])
                yield ".zmetadata", consolidated.consolidate(every)
            if is_metadata(key):
                entries.append((key, document))
            yield key, document

    def axes_attributes(self, path: str) -> Json:
        return {"_ARRAY_DIMENSIONS": self.plan.axes[path]}

    def fill_form(self, constant: Constant) -> JsonConstant:
        return plain(constant) if is_finite(constant) else JsonConstant(None, False)


def _name_dtype(descr: Descr) -> str | list[list[str]]:
    if isinstance(descr, str):
        return descr
    return [[name, _field(field, shape)] for name, field, shape in descr]


def _field(descr: Descr, shape: tuple[int, ...]) -> str:
    return descr if isinstance(descr, str) and not shape else f"|V{itemsize(descr) * math.prod(shape)}"


def _show_fill(descr: Descr, fill: bytes | None) -> Any:
    """Return the `fill_value` member: number, `NaN` or the like, text, else base64; null for none."""
    if fill is None:
        return None
    if not isinstance(descr, str) or descr[1] == "V":
        return base64.b64encode(fill).decode()  # the specification: base64 of the bytes
    if descr == "|O" or descr[1] == "U":
        return fill.decode("utf-8")
    if descr[1] == "S":
        if descr[0] == ">":  # netCDF's char, for the netCDF library alone, which does not decode base64
            return fill.rstrip(b"\0").decode("ascii")
        return base64.b64encode(fill).decode() if fill.strip(b"\0") else ""
    return json_of(descr, fill)
