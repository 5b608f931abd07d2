"""`plan`: from a checked dataset to the plan of one target.

Finds every loss before a byte is written. Value losses are errors unless
allowed; annotation losses make one warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Storage, Variable
from nczarr.ast.dataset import groups
from nczarr.ast.json_text import describe_json
from nczarr.ast.plain import is_finite
from nczarr.ast.types import EnumType
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report, Span
from nczarr.options import Options
from nczarr.plan.losses import losses, report_losses
from nczarr.plan.plans import Loss, Plan, StorePlan, StreamPlan
from nczarr.plan.requested_storage import storage_requests
from nczarr.registry import Format

_TITLE = "NZ-1.0"
_OWN_LIST = "zarr_conventions"
_TEXTS = ("conventions", "Conventions")


def check_declaration(form: Format, options: Options, report: Report) -> None:
    """Report undeclarable-convention for a target that declares nothing."""
    if options.declare is not None and options.declare not in form.declares:
        from nczarr import registry

        format_names = ", ".join(f"`{name}`" for name in registry.list_names_with("declares"))
        text = f"format `{form.name}` cannot declare {_TITLE if options.declare == 'nz' else 'conventions of Zarr v3'}"
        report.error("undeclarable-convention", text, helps=[f"write a format that can: {format_names}"])


def report_obstacles(planned: Plan, report: Report) -> None:
    """Report undeclarable-convention for each obstacle, and once fill values on which readers disagree."""
    if planned.options.declare != "nz" or not isinstance(planned, StorePlan):
        return
    for message, span in _obstacles(planned):
        report.error("undeclarable-convention", message, span)
    disputed = [
        (fqn, attribute.span)
        for fqn, variable in planned.checked.variables.items()
        for attribute in variable.attributes
        if attribute.name == "_FillValue"
        and attribute.value.type == variable.type
        and variable.type in ("float", "double")
    ]
    if disputed:
        more = f" and {len(disputed) - 1} more variables" if len(disputed) > 1 else ""
        text = f"`_FillValue` of `{disputed[0][0]}`{more} is in base64, as xarray reads it; {_TITLE} shows a number"
        report.warning("disputed-fill-value", text, disputed[0][1])


def _obstacles(planned: StorePlan) -> Iterator[tuple[str, Span]]:
    for path, group in groups(planned.checked.dataset):
        yield from _attributes(path, group.attributes)
        for attribute in group.attributes:
            if attribute.name in _TEXTS and (
                attribute.value.type not in ("char", "string") or attribute.value.count == 0
            ):
                yield f"attribute `{attribute.name}` of `{path}` is not a text, which {_TITLE} extends", attribute.span
            elif attribute.name in _TEXTS and attribute.value.type == "string" and attribute.value.count != 1:
                yield (
                    f"attribute `{attribute.name}` of `{path}` has {attribute.value.count} texts; {_TITLE} wants one",
                    attribute.span,
                )
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            yield from _attributes(fqn, variable.attributes)
            yield from _check_variable(planned, fqn, variable)


def _attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[tuple[str, Span]]:
    for attribute in attributes:
        if attribute.name == _OWN_LIST:
            yield f"`{path}` has an attribute `{_OWN_LIST}`, which {_TITLE} reserves", attribute.span
        what = describe_json(attribute)
        if what is not None:
            yield f"attribute `{attribute.name}` of `{path}` is {what} in JSON", attribute.span
        if attribute.value.count > 1 and not is_finite(attribute.value):
            text = f"attribute `{attribute.name}` of `{path}` has NaN or infinities"
            text += ", which are texts among the numbers in JSON"
            yield text, attribute.span


def _check_variable(planned: StorePlan, fqn: str, variable: Variable) -> Iterator[tuple[str, Span]]:
    whole = planned.targets[fqn].get("")
    if whole is None:
        yield f"variable `{fqn}` is a group of several arrays in Zarr; {_TITLE} wants one array", variable.span
    elif not isinstance(whole.layout.dtype, str) or whole.layout.dtype[1] not in "biufcO":
        name = variable.type if variable.type in ATOMIC else f"type `{variable.type}`"
        text = f"variable `{fqn}` of {name} has no data type with a name in Zarr v3; {_TITLE} wants one"
        yield text, variable.span


def plan(checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss] = ()) -> Plan | None:
    """Return the plan of a target, or None; report every loss, those of the format's rules (`more`) included."""
    check_declaration(form, options, report)
    before = report.errors
    planned: Plan | None
    if form.kinds:
        from nczarr.plan.file import plan_file

        planned = plan_file(checked, form, options, report)
    elif form.capabilities.arrays is not None:
        from nczarr.plan.store import plan_store

        planned = plan_store(checked, form, options, report, more)
    else:
        planned = _plan_stream(checked, form, options, report, more)
    if planned is None:
        return None
    report_losses(planned.losses, form, options, report)
    if report.errors > before:
        return None
    report_obstacles(planned, report)
    return planned


def _plan_stream(checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss]) -> StreamPlan:
    """Return the plan of a text or stream. Reports oversized-target, invalid requests.

    Formats accept requests of single codecs for numbers, where they have them.
    The source's storage requests nothing.
    """
    lost = [*losses(checked, form), *more]
    requested: dict[str, Storage] = {}
    if form.binary:
        from nczarr.plan.file import check_size

        check_size(checked, options, report)
        requested, unmet = _encodings(checked, form, options, report)
        lost += unmet
    return StreamPlan(checked, form, options, tuple(lost), requested)


def _encodings(
    checked: Checked, form: Format, options: Options, report: Report
) -> tuple[dict[str, Storage], list[Loss]]:
    """Return the accepted codecs by FQN, and the losses for rejected requests."""
    asked = (options.chunks, options.codecs, options.shards, options.order, options.separator)
    if not any(asked) and options.grid == "regular":
        return {}, []
    requests = storage_requests(checked, form.name, None, options, report)
    accepted, lost = {}, []
    if options.chunks:
        lost.append(Loss("storage", "annotation", "/", "lengths of chunks"))
    for path, variable in checked.variables.items():
        chain = requests.codecs.get(path, requests.codecs.get("", ()))
        declared = checked.types.get(variable.type)
        number = declared.base if isinstance(declared, EnumType) else variable.type
        numbers = number in ATOMIC and number != "string"
        if chain and numbers and len(chain) == 1 and chain[0].id in form.capabilities.codecs:
            accepted[path] = Storage(codecs=chain)
        elif chain and (path in requests.codecs or numbers):
            lost.append(Loss("storage", "annotation", path, f"variable `{path}`, its codecs", variable.span))
    return accepted, lost
