"""`plan_target`: from a checked dataset to the plan of one target.

Finds every loss before a byte is written. Value losses are errors unless
allowed; annotation losses make one warning.
"""

from collections.abc import Iterable

from nczarr.ast import ATOMIC, Storage
from nczarr.ast.types import EnumType
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.names import list_first
from nczarr.options import LayoutOptions, Options, RunOptions
from nczarr.plan.chunk_lengths import has_values
from nczarr.plan.losses import losses, report_losses
from nczarr.plan.plans import Loss, Plan, StreamPlan
from nczarr.plan.requested_storage import storage_requests
from nczarr.registry import Format
from nczarr.semantics.checked import Checked


def plan_target(
    checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss] = ()
) -> Plan | None:
    """Return the plan of a target, or None; report every loss, those of the format's rules (`more`) included."""
    before = report.errors
    planned: Plan | None
    if form.target.kinds:
        from nczarr.plan.file import plan_file

        planned = plan_file(checked, form, options, report)
    elif form.capabilities.arrays is not None:
        from nczarr.plan.store import plan_store

        planned = plan_store(checked, form, options, report, more)
    else:
        planned = _plan_stream(checked, form, options, report, more)
    if planned is None:
        return None
    report_losses(planned.losses, form, options.run, report)
    return None if report.errors > before else planned


def _report_left_values(checked: Checked, form: Format, run: RunOptions, report: Report) -> None:
    """Report values that a format of declarations leaves out, as an error if the run verifies values: lost-values."""
    if form.capabilities.data:
        return
    left = [path for path, parts in checked.parts.items() if any(map(has_values, parts.values()))]
    if left:
        severity = Severity.ERROR if run.verify else Severity.WARNING
        text = f"format `{form.name}` has no place for values: those of {list_first(left, 3)} are left out"
        helps = ["write a format with values, such as `cdl`"]
        helps += ["or leave out `--verify`"] if run.verify else ["for a schema, hide this by `-W lost-values=ignore`"]
        report.add(Diagnostic("lost-values", severity, text, helps=tuple(helps)))


def _plan_stream(checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss]) -> StreamPlan:
    """Return the plan of a text or stream. Reports oversized-target, invalid requests.

    Formats accept requests of single codecs for numbers, where they have them.
    The source's storage requests nothing.
    """
    lost = [*losses(checked, form), *more]
    if options.target.path is not None:  # a text that is printed shows what it has
        _report_left_values(checked, form, options.run, report)
    requested: dict[str, Storage] = {}
    if form.display.binary:
        from nczarr.plan.file import check_size

        check_size(checked, options.target.max_size, report)
        requested, unmet = _encodings(checked, form, options.layout, report)
        lost += unmet
    return StreamPlan(checked, form, options, tuple(lost), requested)


def _encodings(
    checked: Checked, form: Format, layout: LayoutOptions, report: Report
) -> tuple[dict[str, Storage], list[Loss]]:
    """Return the accepted codecs by FQN, and the losses for rejected requests."""
    if layout._replace(access="map", arrangement=None) == LayoutOptions():
        return {}, []
    requests = storage_requests(checked, form.name, None, layout, report)
    accepted, lost = {}, []
    if layout.chunks:
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
