"""Merge of two states of a dataset with a common base: the header changes of one are applied to the other.

    base ─ compare ─> changes of theirs ─ without those of ours ─ under the names in ours ─> HeaderComparison
      └─── compare ─> changes of ours ──────── conflicts

Only one state may have other values than the base: the one that is edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.ast import Variable
from nczarr.ast.renaming import NODE_KINDS, NodeKind, Renames, complete_renames
from nczarr.diagnostics.report import Report
from nczarr.pipeline.compare.difference import show_constant
from nczarr.pipeline.compare.values import values
from nczarr.plugins.edit.compare_headers import ORDER, HeaderComparison, compare_headers
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
    NodeRename,
    apply_changes,
)
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, rename_arrays


def merge_headers(base: Checked, ours: Checked, theirs: Checked, report: Report) -> HeaderComparison | None:
    """Return the changes that bring what theirs changed into ours; None after merge-conflict, ambiguous-rename.

    Raises OSError if values that are compared cannot be read.
    """
    before = report.errors
    by_theirs = compare_headers(base.dataset, theirs.dataset, {}, (), report)
    by_ours = compare_headers(base.dataset, ours.dataset, {}, (), report)
    if by_theirs is None or by_ours is None:
        return None
    _report_values(base, theirs, by_theirs, report)
    wanted = list(_list_new(by_theirs, by_ours, report))
    if report.errors > before:
        return None
    direct: dict[NodeKind, dict[str, str]] = {kind: {} for kind in NODE_KINDS}
    for change in wanted:
        if isinstance(change, NodeRename):
            direct[change.kind][_in_ours(change.kind, change.path, by_ours)] = names.last(change.new_path)
    renamed = complete_renames(ours.dataset, direct)
    move = _Translation(base, by_theirs, by_ours, renamed)
    return HeaderComparison(tuple(map(move.translate, wanted)), (), renamed, ())


def _in_ours(kind: NodeKind, path: str, by_ours: HeaderComparison) -> str:
    return by_ours.renamed[kind].get(path, path)


# ---- conflicts -------------------------------------------------------------------------------------------------------
def _report_values(base: Checked, theirs: Checked, by_theirs: HeaderComparison, report: Report) -> None:
    """Report values and storage of theirs that differ from the base: they stay behind."""
    needs = [need for need in by_theirs.needs if not need.what.startswith(ORDER)]  # the order of ours stays
    for need in needs:
        text = (
            f"{need.what} of `{need.path}` is {need.before} in the base, {need.after} in theirs: values are not merged"
        )
        report.error("merge-conflict", text)
    if needs:
        return
    tree = apply_changes(base.dataset, by_theirs.changes, by_theirs.renamed)
    renamed = check(rename_arrays(base, tree, by_theirs.renamed["variable"]), report)
    if renamed is None:
        return
    added = {change.path for change in by_theirs.changes if isinstance(change, NodeAddition)}
    for path, shape in theirs.shapes.items():
        if path in added:
            if path in theirs.parts and values(theirs._replace(parts={}), theirs, path) is not None:
                report.error("merge-conflict", f"the new variable `{path}` of theirs has values, which are not merged")
        elif renamed.shapes[path] != shape:  # records: a header that says UNLIMITED leaves their number open
            text = f"`{path}` has the shape {renamed.shapes[path]} in the base, {shape} in theirs"
            report.error("merge-conflict", f"{text}: values are not merged")
        else:
            difference = values(renamed, theirs, path)
            if difference is not None:
                report.error(
                    "merge-conflict", f"values of `{path}` differ between the base and theirs: {difference.message}"
                )


def _list_new(by_theirs: HeaderComparison, by_ours: HeaderComparison, report: Report) -> Iterator[HeaderChange]:
    """Yield the changes of theirs that ours does not have; report those that contradict it."""
    ours = {_key(change): change for change in by_ours.changes if not isinstance(change, AttributeOrder)}
    for change in by_theirs.changes:
        if isinstance(change, AttributeOrder):
            continue  # the order of ours stays
        same = ours.get(_key(change))
        if same is not None and _find_outcome(same) == _find_outcome(change):
            continue
        others = [same] if same is not None else [other for other in ours.values() if _exclude(change, other)]
        if others:
            text = f"theirs {_describe(change)}, ours {_describe(others[0])}"
            report.error("merge-conflict", text)
        else:
            yield change


def _key(change: HeaderChange) -> tuple[str, ...]:
    """Return what a change decides, the same for changes that may contradict each other."""
    match change:
        case AttributeChange() | AttributeOrder():
            return ("attribute", change.owner, getattr(change, "name", ""))
        case NodeRename() | NodeRemoval():
            return ("name", change.kind, change.path)
        case NodeAddition():
            return ("new", change.kind, change.path)
        case _:
            return ("dimension", change.path)


def _find_outcome(change: HeaderChange) -> Any:
    """Return the state that a change leads to, for comparison with another change of the same thing."""
    match change:
        case AttributeChange() | DimensionChange():
            return change.after
        case NodeRename():
            return change.new_path
        case NodeAddition():
            return change.node
        case _:
            return None


def _exclude(one: HeaderChange, other: HeaderChange) -> bool:
    """Return whether one change removes what the other one changes."""
    for removal, change in ((one, other), (other, one)):
        if isinstance(removal, NodeRemoval) and not isinstance(change, NodeRemoval):
            path = change.owner if isinstance(change, AttributeChange | AttributeOrder) else change.path
            if path == removal.path or path.startswith(f"{removal.path}/"):
                return True
    return False


def _describe(change: HeaderChange) -> str:
    match change:
        case AttributeChange():
            text = f"attribute `{change.name}` of `{change.owner}`"
            return f"removes {text}" if change.after is None else f"sets {text} to {show_constant(change.after)}"
        case NodeRename():
            return f"renames {change.kind} `{change.path}` to `{names.last(change.new_path)}`"
        case NodeRemoval():
            return f"removes {change.kind} `{change.path}`"
        case NodeAddition():
            return f"adds {change.kind} `{change.path}`"
        case _:
            return f"changes `{getattr(change, 'path', '/')}`"


# ---- names -----------------------------------------------------------------------------------------------------------
class _Translation:
    """Translation of changes from the base's names to those of ours, and from theirs' new names to the final ones."""

    def __init__(self, base: Checked, by_theirs: HeaderComparison, by_ours: HeaderComparison, renamed: Renames) -> None:
        self._base = base
        self._by_ours = by_ours
        self._renamed = renamed
        self._added = {(change.kind, change.path) for change in by_theirs.changes if isinstance(change, NodeAddition)}
        self._old = {kind: {new: old for old, new in by_theirs.renamed[kind].items()} for kind in NODE_KINDS}

    def _final(self, kind: NodeKind, path: str) -> str:
        """Return the FQN in the result of a node with an FQN in theirs."""
        if (kind, path) in self._added:
            return names.join(self._final("group", names.parent(path)), names.last(path))
        in_ours = _in_ours(kind, self._old[kind].get(path, path), self._by_ours)
        return self._renamed[kind].get(in_ours, in_ours)

    def translate(self, change: HeaderChange) -> HeaderChange:
        """Return a change of the base as one of ours."""
        match change:
            case AttributeChange() | AttributeOrder():
                kind: NodeKind = "variable" if change.owner in self._base.variables else "group"
                return change._replace(owner=_in_ours(kind, change.owner, self._by_ours))
            case NodeRename():
                path = _in_ours(change.kind, change.path, self._by_ours)
                return change._replace(path=path, new_path=self._renamed[change.kind].get(path, path))
            case NodeAddition():
                return change._replace(
                    path=self._final(change.kind, change.path), node=self._move_references(change.node)
                )
            case DimensionChange():
                return change._replace(path=_in_ours("dimension", change.path, self._by_ours))
            case _:
                return change._replace(path=_in_ours(change.kind, change.path, self._by_ours))

    def _move_references(self, node: Any) -> Any:
        """Return a variable with the final names of its dimensions and type; other nodes unchanged."""
        if not isinstance(node, Variable):
            return node
        dimensions = tuple(
            self._final("dimension", reference) if isinstance(reference, str) else reference
            for reference in node.dimensions
        )
        return node.model_copy(update={"dimensions": dimensions, "type": self._final("type", node.type)})
