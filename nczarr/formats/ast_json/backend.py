"""Writer of the AST as JSON, indented, with a final newline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nczarr.ast import Dataset
from nczarr.ast.json import dump

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.plan.plans import StreamPlan


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the JSON of a planned dataset in UTF-8."""
    yield text(plan.checked.dataset).encode("utf-8")


def text(dataset: Dataset) -> str:
    """Return the JSON document of a dataset, which need not have passed the checks."""
    return json.dumps(dump(dataset), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
