"""Passes of users over the tree: functions `(Dataset, Report) -> Dataset`, run after the compiler's own.

What a pass returns is checked, and has the values of the dataset before it. A pass that cannot be loaded, fails, or
returns a wrong tree is reported by name, and nothing is written.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from nczarr.ast import Dataset
from nczarr.diagnostics.report import Report
from nczarr.names.plugin_index import PluginError, load_part
from nczarr.semantics.changed_tree import change_tree, distinguish_nodes
from nczarr.semantics.checked import Checked

TreePass: TypeAlias = "Callable[[Dataset, Report], Dataset] | str"
"""A pass: a function, or its place as `module:function`."""

PLACES = "name it as MODULE:FUNCTION, of a module on Python's path or in the current folder"


def run_passes(checked: Checked, passes: Sequence[TreePass], report: Report) -> Checked | None:
    """Return the dataset after all passes, in order; None after an error. Reports failed-pass."""
    current: Checked | None = checked
    for tree_pass in passes:
        if current is None:
            return None
        current = _run_pass(current, tree_pass, report)
    return current


def _run_pass(checked: Checked, tree_pass: TreePass, report: Report) -> Checked | None:
    name = name_of(tree_pass)
    before = report.errors
    try:
        function = _load(tree_pass) if isinstance(tree_pass, str) else tree_pass
    except PluginError as error:
        report.error("failed-pass", f"the pass {error}", helps=[PLACES])
        return None
    checked = distinguish_nodes(checked)
    try:
        tree = function(checked.dataset, report)
    except Exception as error:  # code of the user, which may raise anything
        report.error("failed-pass", f"the pass `{name}` failed: {type(error).__name__}: {error}")
        return None
    if report.errors > before:
        return None
    if not isinstance(tree, Dataset):
        report.error("failed-pass", f"the pass `{name}` returned {type(tree).__name__}, not a Dataset")
        return None
    if tree is checked.dataset:
        return checked
    changed = change_tree(checked, tree, report)
    if changed is None:
        report.error("failed-pass", f"the pass `{name}` made the tree invalid: see the other errors")
    return changed


def _load(place: str) -> Callable[[Dataset, Report], Dataset]:
    """Return the function at `module:function`; its module may be in the current folder. Raises PluginError."""
    sys.path.append("")  # last: it hides no installed module
    try:
        function: Callable[[Dataset, Report], Dataset] = load_part(place)
    finally:
        sys.path.remove("")
    return function


def name_of(tree_pass: TreePass) -> str:
    """Return the name of a pass, for messages and for `--resume`."""
    return tree_pass if isinstance(tree_pass, str) else getattr(tree_pass, "__qualname__", repr(tree_pass))
