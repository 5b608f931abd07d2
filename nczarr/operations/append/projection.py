"""Sources as the format of the target would hold them.

A plain Zarr store has fewer types of attributes and variables than a netCDF
file, so a source is not compared as it is, but as it would be read back from a
store of that format.
"""

from __future__ import annotations

from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report, Severity
from nczarr.link.fill import emit
from nczarr.operations import pipeline
from nczarr.options import Options
from nczarr.registry import Format
from nczarr.stores.memory import MemoryStore


def projected(
    name: str, checked: Checked, form: Format, is_store: bool, report: Report, options: Options
) -> Checked | None:
    """Return a source in the model of a format; None after a reported loss of values.

    Values and their arrays stay those of the source.
    """
    if not is_store or form.capabilities.typed_attributes:
        return checked
    own_report = Report(strict=report.strict)
    plain = Options(allow_loss=options.allow_loss, memory=options.memory)
    planned = pipeline.plan_store(checked, form, own_report, plain)
    documents = None if planned is None else dict(emit(planned, own_report))
    for finding in own_report.sorted():
        if finding.severity is Severity.ERROR:
            report.add(finding._replace(notes=(*finding.notes, f"of `{name}`")))
    if planned is None or documents is None or own_report.errors:
        return None
    back = pipeline.read(MemoryStore(documents), Report(), plain, form)
    if back is None:
        return checked
    before = report.errors
    for path in checked.parts.keys() & back.variables.keys():
        if not _is_same(checked, back, path):
            types_of_both = (
                f"is {checked.variables[path].type} in `{name}`, which the target holds as {back.variables[path].type}"
            )
            report.error("unequal-sources", f"`{path}` {types_of_both}", helps=[f"convert it to {form.name} first"])
    if report.errors > before:
        return None
    parts = {path: checked.parts.get(path, own_parts) for path, own_parts in back.parts.items()}
    return back._replace(parts=parts)


def _is_same(one: Checked, other: Checked, path: str) -> bool:
    """Return whether a variable has the same elements in both."""
    first, second = one.variables[path].type, other.variables[path].type
    if "string" in (first, second):
        return first == second
    if not (is_fixed(first, one.types) and is_fixed(second, other.types)):
        return first == second
    return descr(first, one.types) == descr(second, other.types)
