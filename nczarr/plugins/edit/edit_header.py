"""`edit`: changes of a dataset's header where it lies, without its values.

The new header is compiled and checked as any dataset, compared with the present
one, and only the differences are written, by the format of the target
(`EditRow.header`). What needs values written again is refused. After the commit
the header is read again; a target that does not read as expected is restored.
"""

from __future__ import annotations

from typing import NamedTuple

from nczarr import registry
from nczarr.ast.renaming import complete_renames
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show, word
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.compare.diff import model
from nczarr.plugins.edit.compare_headers import HeaderComparison, RewriteNeed, compare_headers
from nczarr.plugins.edit.header_cdl import compile_header, patch_lines, print_header, read_value
from nczarr.plugins.edit.header_changes import (
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    HeaderEdit,
    NodeRemoval,
    PreparedEdit,
    apply_changes,
    find_row,
    free_layout,
    list_growing,
)
from nczarr.plugins.edit.instructions import (
    AttributeAssignment,
    EditRequest,
    EditResult,
    Instruction,
    parse_instruction,
)
from nczarr.plugins.edit.merge_headers import merge_headers
from nczarr.plugins.edit.patches.zip_patch import find_wrapping
from nczarr.plugins.edit.resolve_instructions import (
    NodeInstructions,
    change_attributes_as_instructed,
    resolve_nodes,
)
from nczarr.plugins.edit.undo_file import (
    FORMS,
    can_write_undo,
    carry_out,
    fingerprint,
    parse_undo,
    replace_undo,
    write_undo,
)
from nczarr.registry import Format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, rename_arrays
from nczarr.semantics.kinds import check_target_names
from nczarr.stores.base import Store
from nczarr.stores.url import trim

__all__ = ["EditRequest", "EditResult", "HeaderText", "Instruction", "edit", "header_text", "parse_instruction"]


class HeaderText(NamedTuple):
    """Header of a target as text, to be changed."""

    text: bytes
    """CDL without data."""
    fingerprint: str
    """Digest that an edit compares with the header that it reads."""


class _Target(NamedTuple):
    """A target that was opened and read."""

    source: Source | Store
    form: Format
    checked: Checked


def edit(request: EditRequest, report: Report) -> EditResult | None:
    """Change the header of a target, or reverse an edit; None after a reported error.

    Reports bad-edit, ambiguous-rename, data-edit, uneditable-target,
    unmatched-undo, busy-target, and those of the checks. Raises OSError.
    """
    place = endpoints.locate(request.target, report)
    if place is None:
        return None
    if not place.remote:
        request = request._replace(target=trim(place.path))
    if request.rehearsal:
        return _edit(request, report)
    with endpoints.lock_place(request.target, report, request.options.run, replaces=True) as lock:
        return None if lock is None else _edit(request, report)


def header_text(path: str, report: Report, options: Options) -> HeaderText | None:
    """Return the header of a target as CDL; None after a reported error. Raises OSError."""
    target = _open_target(path, report, options)
    if target is None:
        return None
    text = print_header(target.checked)
    if text is None:
        _report_unprintable(path, report)
        return None
    return HeaderText(text, fingerprint(target.checked))


def _edit(request: EditRequest, report: Report) -> EditResult | None:
    """Change a target that is locked; as `edit`."""
    recovered = False
    if not request.rehearsal:
        from nczarr.plugins.edit.patches import file_patch

        recovered = file_patch.recover(request.target)
        if not _complete(request, report):
            return None
    target = _open_target(request.target, report, request.options)
    if target is None:
        return None
    if request.undo is not None:
        done = _undo(request, target, request.undo, report)
    elif request.header is None and request.merge is None and not request.instructions:
        done = EditResult(request.target, (), ())
    else:
        done = _change(request, target, report)
    return None if done is None or report.errors else done._replace(recovered=recovered)


def _complete(request: EditRequest, report: Report) -> bool:
    """Complete an interrupted change of a store that was committed; False after an error. Reports uneditable-target.

    Raises OSError.
    """
    from nczarr.plugins.common import store_changes
    from nczarr.plugins.edit.patches import documents
    from nczarr.plugins.edit.patches.document_commit import report_interrupted

    storage = request.options.run.storage
    source = endpoints.open_source(request.target, Report(), request.options.change(storage=storage.of("target")))
    if source is not None and not isinstance(source, Source) and not (source.archive or source.versioned):
        journal = documents.find_journal(source)
        if journal is not None and journal.state == "writing":
            report_interrupted(request.target, journal, "uneditable-target", report)
            return False
        if journal is not None:
            store_changes.complete(store_changes.extensible(trim(request.target), storage), journal)
    return True


def _open_target(path: str, report: Report, options: Options) -> _Target | None:
    """Return the target at a path or URL; None after an error. Raises OSError."""
    reading = phases.for_reading(options.change(storage=options.run.storage.of("target")), values=False)
    source = endpoints.open_source(path, report, reading)
    if source is None:
        return None
    if (wrapping := find_wrapping(path, source)) is not None:
        report.error("uneditable-target", f"`{show(path)}` {wrapping}", helps=["unpack it, and edit what was in it"])
        return None
    form = endpoints.detect_format(source)
    if form is not None and form.store.opens is not None and not form.store.is_read_only:
        opened = registry.load(form.store.opens)(source, report, reading)
        if opened is None:
            return None
        source, form = opened, registry.detect_store(opened, opened=True)
    is_read_only = form is not None and form.store.is_read_only
    checked = None if is_read_only else phases.read(source, report, reading, form)
    if form is None or (checked is None and not is_read_only):
        return None
    if checked is None or not find_row(form.name).header:
        text = f"`{show(path)}` has the format `{form.name}`, whose headers cannot be edited"
        # a repository that opens as a Zarr store is edited as one
        known = (
            row
            for row in registry.formats()
            if (row.store.opens and not row.store.is_read_only) or find_row(row.name).header
        )
        editable = ", ".join(row.name for row in known)
        report.error("uneditable-target", text, helps=[f"formats that can be edited: {editable}"])
        return None
    return _Target(source, form, checked)


# ---- changes ---------------------------------------------------------------------------------------------------------
def _change(request: EditRequest, target: _Target, report: Report) -> EditResult | None:
    """Plan an edit and commit it, unless it is a rehearsal; None after reported errors."""
    before = target.checked
    nodes = resolve_nodes(before, request.instructions, report)
    compared = _compare(request, before, nodes, report)
    if compared is None or report.errors:
        return None
    used = frozenset(reference for variable in before.variables.values() for reference in variable.dimensions)
    compared = compared._replace(changes=tuple(_fit(change, before, used) for change in compared.changes))
    _refuse(request.target, [*compared.needs, *_list_used(compared, used)], report)
    after = None if report.errors else _check_after(request.target, before, compared, target.form, report)
    if after is None:
        return None
    work = HeaderEdit(
        request.target, target.source, target.form, before, after, compared.changes, compared.renamed, request.options
    )
    if not work.changes:
        return EditResult(request.target, (), ())
    prepared: PreparedEdit | None = registry.load(find_row(target.form.name).header)(work, report)
    if prepared is None or report.errors:
        return None
    lines = (*patch_lines(work.changes, compared.detected), *prepared.describe())
    if request.rehearsal:
        return EditResult(request.target, work.changes, lines)
    done = EditResult(request.target, work.changes, lines)
    return _commit(request, prepared, work, done, report)


def _compare(request: EditRequest, before: Checked, nodes: NodeInstructions, report: Report) -> HeaderComparison | None:
    """Return the changes that a request asks for; None after an error."""
    if request.header is not None:
        return _compare_text(request, before, nodes, report)
    if request.merge is not None:
        return _compare_states(request.merge, before, request.options, report)
    instructions = [
        item._replace(value=read_value(before, item, report)) if isinstance(item, AttributeAssignment) else item
        for item in request.instructions
    ]
    if report.errors:
        return None
    tree = change_attributes_as_instructed(before, instructions, report)
    if report.errors:
        return None
    removals = [NodeRemoval(kind, path) for kind, path in nodes.deleted]
    tree = apply_changes(tree, removals, complete_renames(tree, nodes.renames))
    return compare_headers(before.dataset, tree, nodes.renames, nodes.deleted, report)


def _compare_text(
    request: EditRequest, before: Checked, nodes: NodeInstructions, report: Report
) -> HeaderComparison | None:
    """Return the changes from the present header, as CDL states it, to another text; None after an error."""
    assert request.header is not None
    if any(isinstance(item, AttributeAssignment) or getattr(item, "attribute", None) for item in request.instructions):
        report.error("bad-edit", "attributes are written in the new header: combine it with names and removals only")
        return None
    if request.base not in (None, fingerprint(before)):
        text = f"the header of `{show(request.target)}` has changed since it was opened for editing"
        report.error("busy-target", text, helps=["edit the present header"])
        return None
    text_now = print_header(before, special=True)
    stated = None if text_now is None else compile_header(Source("header", text_now), Report())
    if stated is None:
        _report_unprintable(request.target, report)
        return None
    after = compile_header(request.header, report)
    if after is None or report.errors:
        return None
    compared = compare_headers(stated.dataset, after.dataset, nodes.renames, nodes.deleted, report)
    if compared is None:
        return None
    values = [RewriteNeed(path, "values", "those of the target", "those of the new header") for path in after.parts]
    return compared._replace(needs=(*compared.needs, *values))


def _compare_states(
    paths: tuple[str, str], before: Checked, options: Options, report: Report
) -> HeaderComparison | None:
    """Return the changes that another state has made since the base; None after an error. Raises OSError."""
    states = [phases.read_path(path, report, phases.for_reading(options)) for path in paths]
    base, theirs = states
    return None if base is None or theirs is None else merge_headers(base, before, theirs, report)


def _report_unprintable(path: str, report: Report) -> None:
    text = f"the header of `{show(path)}` cannot be written as CDL"
    report.error("uneditable-target", text, helps=["change it with `--set`, `--delete` and `--rename`"])


def _fit(change: HeaderChange, before: Checked, used: frozenset[str | int]) -> HeaderChange:
    """Return a change with the lengths of the target, which a text leaves open for unlimited dimensions."""
    if not isinstance(change, DimensionChange):
        return change
    present = before.dimensions[change.path]
    size = change.after.size if not change.after.unlimited else present.size if change.path in used else 0
    return change._replace(before=present, after=change.after.model_copy(update={"size": size}))


def _list_used(compared: HeaderComparison, used: frozenset[str | int]) -> list[RewriteNeed]:
    """Return used dimensions that become fixed at another length than their present one."""
    return [
        RewriteNeed(change.path, "length", str(change.before.size), str(change.after.size))
        for change in compared.changes
        if isinstance(change, DimensionChange) and change.before.size != change.after.size and change.path in used
    ]


def _refuse(target: str, needs: list[RewriteNeed], report: Report) -> None:
    """Report changes that need values written again: data-edit."""
    for need in needs:
        text = f"{need.what} of `{need.path}`: {need.before} → {need.after} needs the values written again"
        helps = [f"`nczarr convert {word(target)} NEW` writes a new dataset", _CONVERSIONS.get(need.what, "")]
        report.error("data-edit", text, helps=filter(None, helps))


_CONVERSIONS = {
    "chunks": "state chunks with `--chunks`",
    "codecs": "state codecs with `--codec`",
    "kind of file": "state the kind with `--kind`",
}
"""Options of `convert` by property."""


def _check_after(
    target: str, before: Checked, compared: HeaderComparison, form: Format, report: Report
) -> Checked | None:
    """Return the dataset after the changes; None after an error in it."""
    tree = apply_changes(before.dataset, compared.changes, compared.renamed)
    growing = list_growing(tree)
    if growing and form.emit is None:
        text = f"`{growing[0]}` is stored in one piece: to let it grow needs the values written again"
        grown = [change.path for change in compared.changes if isinstance(change, DimensionChange)]
        helps = [f"`nczarr convert {word(target)} NEW --unlimited {word(path)}` writes a new dataset" for path in grown]
        report.error("data-edit", text, helps=helps)
        return None
    if growing:  # arrays of stores have chunks, whatever the file had from which they came
        tree = free_layout(tree, growing)
    work = rename_arrays(before, tree, compared.renamed["variable"])
    after = check(work, report)
    if after is not None and form.holds is None:
        check_target_names(after, report, ())
    return None if after is None or report.errors else after


# ---- commit ----------------------------------------------------------------------------------------------------------
def _commit(
    request: EditRequest, prepared: PreparedEdit, work: HeaderEdit, result: EditResult, report: Report
) -> EditResult | None:
    """Write the target and the undo file; return the result with its path, None after an error. Raises OSError."""
    if not can_write_undo(request.target, request.undo_file, report):
        return None
    undo_record = {
        "target": show(request.target),
        "header": fingerprint(work.after),
        "previous": fingerprint(work.before),
        **prepared.undo(),
    }
    undo_path = None
    if request.merge is None or request.undo_file is not None:  # a merge leaves both states where they came from
        undo_path = write_undo(request.target, request.undo_file, undo_record)
    ordered = any(isinstance(change, AttributeOrder) for change in work.changes)

    def is_right() -> bool:
        """Check that the edited dataset, read again, is the expected one; if so, complete the undo file."""
        written = _read_again(request)
        reason = "it cannot be read" if written is None else _find_difference(work.after, written, ordered=ordered)
        if written is None or reason is not None:
            report.error("failed-edit", f"`{show(request.target)}` is unchanged: after the edit, {reason}")
            return False
        if undo_path is not None and (header := fingerprint(written)) != undo_record["header"]:
            replace_undo(undo_path, {**undo_record, "header": header})
        return True

    changed = carry_out(prepared, request.target, undo_path, is_right)
    return result._replace(undo_file=undo_path) if changed else None


def _find_difference(expected: Checked, written: Checked, *, ordered: bool) -> str | None:
    """Return the first difference of two headers in words; None if they are equal.

    The order of attributes counts only if the edit changes it: some HDF5 objects keep none.
    """
    differences = model(expected, written)
    difference = next((item for item in differences if ordered or item.kind != "attribute-order"), None)
    return None if difference is None else f"`{difference.path}`: {difference.message}"


def _read_again(request: EditRequest) -> Checked | None:
    """Return the target as it reads now; None if it has errors. Raises OSError."""
    own_report = Report()
    target = _open_target(request.target, own_report, request.options.change(unfinished=True))
    return None if own_report.errors or target is None else target.checked


def _undo(request: EditRequest, target: _Target, data: bytes, report: Report) -> EditResult | None:
    """Reverse an edit; None after an error. Raises OSError."""
    members = parse_undo(data, report)
    if members is None:
        return None
    if fingerprint(target.checked) != members["header"]:
        reversed_already = fingerprint(target.checked) == members["previous"]
        reason = "the edit is reversed already" if reversed_already else "the header has changed since the edit"
        report.error("unmatched-undo", f"`{show(request.target)}` is not restored: {reason}")
        return None
    prepared: PreparedEdit | None = registry.load(FORMS[members["form"]])(
        request.target, members, report, request.options
    )
    if prepared is None or report.errors:
        return None
    lines = tuple(prepared.describe())
    if request.rehearsal:
        return EditResult(request.target, (), lines)

    def is_right() -> bool:
        now = _read_again(request)
        if now is None or fingerprint(now) != members["previous"]:
            report.error("failed-edit", f"`{show(request.target)}` is unchanged: it would not read as before the edit")
            return False
        return True

    return EditResult(request.target, (), lines) if carry_out(prepared, request.target, None, is_right) else None
