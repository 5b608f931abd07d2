"""Plan of a store whose chunks stay where they are, with the layouts, codecs and keys that they have."""

from __future__ import annotations

from nczarr.arrays.sources.source import ArraySource, Layout, is_number, itemsize
from nczarr.arrays.values.elements import convert_to_stored
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan.keys import check_keys, name_axes, place_nodes
from nczarr.plan.layout import lay
from nczarr.plan.losses import losses, report_losses
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.registry import Format
from nczarr.semantics.checked import Checked


def plan_in_place(checked: Checked, source: Format, form: Format, options: Options, report: Report) -> StorePlan | None:
    """Return the plan of a store of the format `source` with the chunks that it has; None after an error.

    Expects arrays with a key for each chunk; variables without arrays are new. No value is read. Attributes of plain
    formats stay as their JSON is, without a loss. Reports losses, unsafe-name,
    reserved-name.
    """
    arrays, before = form.capabilities.arrays, report.errors
    assert arrays is not None
    places = place_nodes(checked) if arrays.portable_names else {}
    check_keys(checked, form.capabilities, places, report)
    plain = not (source.capabilities.typed_attributes or form.capabilities.typed_attributes)
    lost = () if plain else tuple(losses(checked, form))
    report_losses(lost, form, options.run, report)
    if report.errors > before:
        return None
    axes, _ = name_axes(checked, plain=not form.capabilities.names)
    targets = {
        path: {
            part: PartTarget(_keep_layout(source, fill_needed=arrays.fill_needed), b"", nil=source.nil)
            for part, source in checked.parts[path].items()
        }
        if path in checked.parts
        else lay(path, variable, checked, arrays, options, variable.storage)[0]
        for path, variable in checked.variables.items()
    }
    parts = {path: checked.parts.get(path, {}) for path in checked.variables}
    storage = {path: variable.storage for path, variable in checked.variables.items()}
    return StorePlan(checked, form, options, lost, storage, targets, parts, axes, places)


def _keep_layout(source: ArraySource, *, fill_needed: bool) -> Layout:
    """Return the layout of an array with its stored elements; without an undefined fill value, if it needs none."""
    layout, dtype = source.layout, source.element
    if isinstance(dtype, str) and dtype[1] in "iu" and itemsize(dtype) == 1:  # the extension states their byte order
        dtype = f"|{dtype[1:]}"
    if source.undefined and not fill_needed:
        return layout._replace(dtype=dtype, fill=None)
    fill = layout.fill
    if fill is not None and is_number(dtype):
        fill = convert_to_stored(fill, dtype)
    return layout._replace(dtype=dtype, fill=fill)
