"""Unwritable values raise; lossy conversions warn."""

from __future__ import annotations

import warnings

from nczarr.diagnostics.report import CompileError, Report


class LostPartsWarning(UserWarning):
    """Values are written, but not all that an array says of them."""


def say(report: Report, made: object, *, given: Report | None) -> None:
    """Raise what stands in the way of writing, else warn of what is lost, unless the caller reads the report himself.

    Raises CompileError.
    """
    found = report.sorted()
    if made is None:
        raise CompileError(found)
    if given is None:
        for each in found:
            warnings.warn(f"{each.code}: {each.message}", LostPartsWarning, stacklevel=4)
