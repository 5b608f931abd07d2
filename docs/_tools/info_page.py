"""Fields of `nczarr info --json`, with what the source says of each."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from nczarr.pipeline.info import CoordinateFacts, DatasetFacts, VariableFacts
from nczarr.pipeline.select.coordinate_summary import CoordinateSummary

PAGE = "docs/reference/info.md"

RECORDS: tuple[tuple[str, type], ...] = (
    ("", DatasetFacts),
    ("coordinates[].", CoordinateFacts),
    ("coordinates[].values.", CoordinateSummary),
    ("variables[].", VariableFacts),
)
"""Records with the path of their members."""


def text() -> str:
    """Return the table of fields."""
    rows = ["| field | meaning |", "|---|---|"]
    for lead, record in RECORDS:
        (node,) = ast.parse(inspect.getsource(record)).body
        assert isinstance(node, ast.ClassDef)
        for field, said in pairwise(node.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                meaning = ast.literal_eval(ast.unparse(said)).replace("|", "\\|").replace("None", "`null`")
                rows.append(f"| `{lead}{field.target.id}` | {meaning} |")
    return "\n".join(rows) + "\n"
