"""`nczarr3`: plan → metadata of an NCZarr store on Zarr v3."""

from collections.abc import Iterator
from types import MappingProxyType

from nczarr.arrays.values.parts import as_integers
from nczarr.ast import Attribute
from nczarr.ast.plain_json import CARRIED, JsonConstant
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.writer import Entry, encode
from nczarr.formats.zarr.extension.documents import HiddenAttributes
from nczarr.formats.zarr.extension.model import HIDDEN_PARTS
from nczarr.formats.zarr.v3.backend import Zarr3Writer
from nczarr.plan.plans import StorePlan


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield the same on Zarr v3."""
    return NCZarr3Writer(plan).entries()


class NCZarr3Writer(HiddenAttributes, Zarr3Writer):
    """NCZarr on Zarr v3, with the hidden attributes of each node as one text (`extension/model.py`).

    Unlike in v2, a char has its own type, a scalar has shape `[]`, every array
    has a fill value, and all arrays are listed. `_FillValue` has xarray's
    encoding, with its type among the hidden attributes.
    """

    superblock = MappingProxyType({"version": "3.0.0", "format": 3})

    def attribute_form(self, attribute: Attribute) -> JsonConstant:
        if attribute.name != "_FillValue":
            return super().attribute_form(attribute)
        integers = as_integers(attribute.value, self.plan.checked.types)
        fill = self.fill_form(integers)
        if integers is not attribute.value:  # the extension has the type
            return JsonConstant(fill.value, False)
        has_json = attribute.json is not None and not isinstance(fill.value, str)
        return super().attribute_form(attribute) if has_json else fill

    def finish(self, path: str, shown: Json, hidden: Json) -> Json:
        ordered = {what: hidden[what] for what in HIDDEN_PARTS if what in hidden}
        return {**shown, CARRIED: encode(ordered).decode("utf-8", "surrogateescape")}
