"""Parts of plugins in the pipeline: conventions that targets declare, and arrays of readers, which are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr import registry
from nczarr.names import plugin_index
from nczarr.names.plugin_index import PluginError
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
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


def find_declaration(word: str, form: Format, report: Report) -> ConventionDeclaration | None:
    """Return the convention that a target declares; None after an error. Reports undeclarable-convention."""
    row = plugin_index.list_own("declaration").get(word)
    if row is None:
        text = f"no plugin of this installation makes declarations of `{word}`"
        report.error("undeclarable-convention", text)
        return None
    found: ConventionDeclaration = registry.load(row.declaration)
    if word in form.target.declares:
        return found
    format_names = ", ".join(f"`{name}`" for name in registry.list_names_with("target.declares"))
    text = f"format `{form.name}` cannot declare {found.title}"
    report.error("undeclarable-convention", text, helps=[f"write a format that can: {format_names}"])
    return None


def check_arrays(checked: Checked, reader: str) -> None:
    """Raise PluginError if the reader of a plugin's format gives an array that its variable cannot have."""
    for path, parts in checked.parts.items():
        array, shape = parts.get(""), checked.shapes[path]
        if array is not None and array.layout.shape != shape:
            text = f"has an array of the shape {array.layout.shape}, its dimensions have {shape}"
            raise PluginError(f"{reader}: variable `{path}` {text}")
