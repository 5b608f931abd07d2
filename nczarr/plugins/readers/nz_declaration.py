"""Declaration of the convention NZ-1.0: what keeps a target from it."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Variable
from nczarr.ast.dataset import groups
from nczarr.ast.plain_json import describe_json, is_finite
from nczarr.diagnostics.report import Report, Span
from nczarr.pipeline.plugin_parts import ConventionDeclaration
from nczarr.plan.plans import Plan, StorePlan

_TITLE = "NZ-1.0"
_OWN_LIST = "zarr_conventions"
_TEXTS = ("conventions", "Conventions")


def report_obstacles(planned: Plan, report: Report) -> None:
    """Report undeclarable-convention for each obstacle, and once fill values on which readers disagree."""
    if not isinstance(planned, StorePlan):
        return
    for message, span in _find_obstacles(planned):
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


def _find_obstacles(planned: StorePlan) -> Iterator[tuple[str, Span]]:
    """Yield the reasons, with their places, why a target does not follow the convention NZ-1.0."""
    for path, group in groups(planned.checked.dataset):
        yield from _check_attributes(path, group.attributes)
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
            yield from _check_attributes(fqn, variable.attributes)
            yield from _check_variable(planned, fqn, variable)


def _check_attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[tuple[str, Span]]:
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


NZ = ConventionDeclaration(_TITLE, report_obstacles=report_obstacles)
