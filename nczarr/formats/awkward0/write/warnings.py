"""Unwritable values raise; lossy conversions warn."""

from __future__ import annotations

import warnings

from nczarr.diagnostics.report import CompileError, Report


class LostPartsWarning(UserWarning):
    """Warning that some information of a written array was lost."""


def say(report: Report, made: object, *, given: Report | None) -> None:
    """Raise CompileError if nothing was made; otherwise warn, unless the caller reads the report."""
    found = report.sorted()
    if made is None:
        raise CompileError(found)
    if given is None:
        for each in found:
            warnings.warn(f"{each.code}: {each.message}", LostPartsWarning, stacklevel=4)
