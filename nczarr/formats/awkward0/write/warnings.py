"""Unwritable values raise; lossy conversions warn."""

from __future__ import annotations

import warnings

from nczarr.diagnostics.report import CompileError, Report


class LostPartsWarning(UserWarning):
    """Warning that some information of a written array was lost."""


def say(report: Report, result: object, *, caller: Report | None) -> None:
    """Raise CompileError if nothing was made; otherwise warn, unless the caller reads the report."""
    diagnostics = report.sorted()
    if result is None:
        raise CompileError(diagnostics)
    if caller is None:
        for diagnostic in diagnostics:
            warnings.warn(f"{diagnostic.code}: {diagnostic.message}", LostPartsWarning, stacklevel=4)
