"""Page of the SDK: each name with its first sentence, and the rows that authors of plugins fill in, field by field."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from nczarr import sdk

PAGE = "docs/reference/api/sdk.md"

OWN = ("ProtocolRequest", "Reply", "RequestError")

EXTERNAL = {"np": "NumPy, which is loaded with the first use."}
"""Names that are no object of the package."""

WHOLE = (
    *(
        "nczarr.names.plugin_index.Plugin",
        "nczarr.names.plugin_index.CommandRow",
        "nczarr.names.plugin_index.ProtocolRow",
        "nczarr.names.plugin_index.EditRow",
    ),
    *("nczarr.registry.Format", "nczarr.registry.Capabilities", "nczarr.registry.Display"),
    *("nczarr.registry.ReadingTraits", "nczarr.registry.TargetTraits", "nczarr.registry.RepresentedStore"),
    "nczarr.semantics.checked.Unchecked",
    *("nczarr.diagnostics.report.Report", "nczarr.diagnostics.report.Diagnostic", "nczarr.diagnostics.report.Source"),
    *("nczarr.plan.plans.StreamPlan", "nczarr.plan.plans.Loss", "nczarr.arrays.sources.source.Layout"),
    *("nczarr.pipeline.check_request.ReaderCheck", "nczarr.arrays.codecs.table.CodecKind"),
    *(f"nczarr.sdk.{name}" for name in OWN),
)
"""Classes that the page shows with all their members."""


def text() -> str:
    """Return the table of names, and the classes with their members."""
    rows = ["| name | defined in | meaning |", "|---|---|---|"]
    for module, names in (*sdk.PLACES.items(), ("nczarr.sdk", OWN)):
        rows += [f"| `{name}` | `{module}` | {_describe(module, name)} |" for name in names]
    options = "    options: {show_root_heading: false, show_root_toc_entry: false}"
    blocks = [f"\n### {path.rpartition('.')[2]}\n\n::: {path}\n{options}" for path in WHOLE]
    return "\n".join([*rows, "\n## Rows, and what parts of a plugin get", *blocks]) + "\n"


def _describe(module: str, name: str) -> str:
    """Return the first sentence about a name."""
    value = getattr(sdk, name)
    if name in EXTERNAL:
        return EXTERNAL[name]
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isfunction(value):
        found = inspect.getdoc(value) or ""
    else:
        found = _find_text(module, name)
    return " ".join(found.split("\n\n")[0].split()).replace("|", "\\|")


def _find_text(module: str, name: str) -> str:
    """Return the text below the assignment of a constant, in its module or one that it imports it from."""
    path = Path(str(import_module(module).__file__))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, below in pairwise(tree.body):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        named = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
        if name in named and isinstance(below, ast.Expr):
            return str(ast.literal_eval(below.value))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and name in {each.name for each in node.names}:
            return _find_text(node.module, name)
    raise LookupError(f"`{name}` has no text in `{module}`")
