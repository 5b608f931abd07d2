"""Semantic passes: functions from tree to tree, one file each, in the order of `PASSES`.

`check` runs them all and makes the `Checked` that plans need. A failed pass
reports and continues with its best tree, so that one run finds many faults. Bad
input never raises.
"""

from __future__ import annotations

from collections.abc import Callable

from nczarr.ast import ATOMIC, Constant, Kind
from nczarr.ast.dataset import building
from nczarr.ast.types import list_parts
from nczarr.diagnostics.report import Report
from nczarr.semantics.check_names import check_names
from nczarr.semantics.check_types import acyclic, check_type_sizes, check_types, variable_fill
from nczarr.semantics.checked import Checked, Observer, Unchecked, tables_of
from nczarr.semantics.infer_shapes import infer_shapes, place_values, shapes_of
from nczarr.semantics.resolve import resolve
from nczarr.semantics.restore_json import restore_json

Pass = Callable[[Unchecked, Report], Unchecked]


def read_lists(work: Unchecked, report: Report) -> Unchecked:
    """Read the value lists of a text with the front end's reader; most front ends have none."""
    return work if work.read_values is None else work.read_values(work, report)


PASSES: tuple[Pass, ...] = (restore_json, check_names, resolve, check_types, read_lists, infer_shapes)
"""All passes in order."""


def check(
    work: Unchecked,
    report: Report,
    observer: Observer | None = None,
    kind: Kind | None = None,
    *,
    accepted: bool = False,
    namesakes: bool = False,
) -> Checked | None:
    """Run all passes; return None after an error. All findings are in the report.

    `kind`: target kind of netCDF file; content that it cannot hold is reported,
    and dropped if the run has `accepted` that loss. `namesakes`: the run
    accepts equal names as a loss.
    """
    work.namesakes_accepted = namesakes
    with building():
        return _run_passes(work, report, observer, kind, accepted)


def _run_passes(
    work: Unchecked, report: Report, observer: Observer | None, kind: Kind | None, accepted: bool
) -> Checked | None:
    """Run all passes, check the result against the kind of file, and place the values; None after errors."""
    before = report.errors
    work.kind = target_kind = kind or work.dataset.kind
    for step in PASSES:
        if step is read_lists and report.errors > before and _hopeless(work):
            break
        work = step(work, report)
        if observer is not None:
            observer(step.__name__, work.dataset)
    if target_kind is not None:
        from nczarr.semantics.kinds import check_kind  # few datasets are of another kind

        check_kind(work, target_kind, report, accepted=accepted, asked=kind is not None or not work.forward)
    tables = tables_of(work)
    shapes = shapes_of(work, report)
    if report.errors:
        return None
    fills: dict[str, Constant | None] = {path: variable_fill(item, tables) for path, item in tables.variables.items()}
    parts = place_values(work, shapes, fills, tables.types, report)
    if report.errors:
        return None
    dataset = work.dataset
    if kind is not None and dataset.kind != kind:
        dataset = dataset.model_copy(update={"kind": kind})
    checked = Checked(
        dataset=dataset,
        **tables._asdict(),
        shapes=shapes,
        fills=fills,
        parts=parts,
        foreign=work.foreign,
        omitted=tuple(work.omitted),
        noted=work.noted,
    )
    if target_kind is not None and accepted:
        from nczarr.semantics.kinds import reduce_to_kind

        checked = reduce_to_kind(checked, target_kind)
    if target_kind in ("nc3", "nc6", "nc5"):
        from nczarr.semantics.classic_layout import check_sizes

        check_sizes(checked, target_kind, report)
    return checked if not report.errors else None


def _hopeless(work: Unchecked) -> bool:
    """Return whether types are recursive, undefined or too large, so that values cannot be read."""
    types = tables_of(work).types
    if not acyclic(types, Report()) or not check_type_sizes(types, Report()):
        return True
    used = (name for declared in types.values() for name in list_parts(declared))
    return any(name not in ATOMIC and name not in types for name in used)
