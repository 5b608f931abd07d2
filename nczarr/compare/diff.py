"""`diff`: differences of two datasets of any formats."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names
from nczarr.check.checked import Checked
from nczarr.compare.difference import Difference
from nczarr.compare.elements import Tolerance
from nczarr.compare.model import model
from nczarr.compare.values import values
from nczarr.diagnostics.report import Report
from nczarr.options import Subset


def differences(
    one: Checked,
    other: Checked,
    *,
    data: bool = True,
    storage: bool = False,
    tolerance: Tolerance | None = None,
) -> Iterator[Difference]:
    """Yield differences lazily: first of models, then of values by variable.

    Values are compared if both have the variable, with the same shape and equivalent types. `storage`: also
    layout, chunks, codecs, order of definition and kind of file.
    """
    yield from model(one, other, storage=storage)
    if data:
        for path in one.variables:
            if path in other.variables:
                found = values(one, other, path, tolerance)
                if found is not None:
                    yield found


def chosen(one: Checked, other: Checked, wanted: Subset, report: Report) -> tuple[Checked, Checked] | None:
    """Return the wanted parts of both; a name may occur in only one. None if an unknown name is reported.

    Group attributes count only if the group was requested.
    """
    if not wanted:
        return one, other
    from nczarr.select.names import named_in
    from nczarr.select.subset import restricted

    before = report.errors
    variables = [named_in(word, "variable", (one.variables, other.variables), report) for word in wanted.variables]
    groups = [named_in(word, "group", (one.groups, other.groups), report) for word in wanted.groups]
    if report.errors > before:
        return None
    parts = []
    for which, checked in enumerate((one, other)):
        paths = [fqn for found in variables for fqn in found[which]]
        tops = [fqn for found in groups for fqn in found[which]]
        homes = {names.parent(fqn) for found in variables for side in found for fqn in side}
        parts.append(restricted(checked, paths, tops, homes & set(checked.groups)))
    return parts[0], parts[1]
