"""Conventions that a target declares (`--declare`), which plugins add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr import registry
from nczarr.names import plugin_index
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import TargetOptions
    from nczarr.plan.plans import Plan
    from nczarr.registry import Format
    from nczarr.semantics.checked import Checked


class ConventionDeclaration(NamedTuple):
    """A convention that a target can declare."""

    title: str
    """Name in messages."""
    list_declarations: Callable[[Checked, Report], Mapping[str, Mapping[str, Any]]] | None = None
    """Returns attributes that nodes declare, by FQN. Raises OSError, CompileError. None: the format knows them."""
    report_obstacles: Callable[[Plan, Report], None] | None = None
    """Reports what of a plan the convention does not hold; None: nothing."""


def find_declaration(form: Format, target: TargetOptions, report: Report) -> ConventionDeclaration | None:
    """Return the convention that a target declares; None without any. Reports undeclarable-convention."""
    if target.declare is None:
        return None
    row = plugin_index.list_own("declaration").get(target.declare)
    if row is None:
        text = f"no plugin of this installation makes declarations of `{target.declare}`"
        report.error("undeclarable-convention", text)
        return None
    found: ConventionDeclaration = registry.load(row.declaration)
    if target.declare in form.target.declares:
        return found
    format_names = ", ".join(f"`{name}`" for name in registry.list_names_with("target.declares"))
    text = f"format `{form.name}` cannot declare {found.title}"
    report.error("undeclarable-convention", text, helps=[f"write a format that can: {format_names}"])
    return None
