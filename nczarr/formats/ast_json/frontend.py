"""Reader of the AST as JSON: text → `Unchecked`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nczarr.semantics.checked import Unchecked
from nczarr.syntax.json import ast_document

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report, Source
    from nczarr.options import Options


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a JSON text, names in FQN form; None after an error."""
    dataset = ast_document.read(source, report)
    return None if dataset is None else Unchecked(dataset, forward=True)
