"""`nczarr3`: plan → metadata of an NCZarr store on Zarr v3."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from nczarr.ast import Attribute
from nczarr.ast.plain import Plain, plain
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.writer import Entry
from nczarr.formats.zarr.nczarr.backend import HiddenAttributes
from nczarr.formats.zarr.v3.backend import Zarr3Writer
from nczarr.plan.plans import StorePlan


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield the same on Zarr v3."""
    return NCZarr3Writer(plan).entries()


class NCZarr3Writer(HiddenAttributes, Zarr3Writer):
    """NCZarr on Zarr v3, with the hidden attributes in `attributes` of each node.

    Unlike in v2, a char has its own type, a scalar has shape `[]`, every array
    has a fill value, and all arrays are listed. `_FillValue` has xarray's
    encoding, with its type in `_nczarr_attr`.
    """

    superblock = MappingProxyType({"version": "3.0.0", "format": 3})

    def attribute_form(self, attribute: Attribute) -> Plain:
        """Return an attribute in plain JSON."""
        return self.fill_form(attribute.value) if attribute.name == "_FillValue" else plain(attribute.value)
