"""Losses of readers: content of a source that the tree lacks, as one diagnostic of each source.

A command that reads shows a warning. A run that writes a target refuses it before
the first byte, unless the reason of each omission is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.diagnostics.report import OMISSIONS, OMITTED, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.options import RunOptions
from nczarr.semantics.checked import Checked, Omission

if TYPE_CHECKING:
    from nczarr.pipeline.select.selection import Subset
    from nczarr.plan.plans import Loss

DOCUMENTS = frozenset({".zarray", ".zgroup", ".zattrs", "zarr.json"})
"""Documents of one node of a store."""

DAMAGE = frozenset({"omitted-object"})
"""Reasons of content that cannot be read, although the tree has a place for it: values are invented, or lack."""


def name_source(checked: Checked, name: str) -> Checked:
    """Return a dataset whose omissions name their source; those of members of a document do already."""
    return checked._replace(omitted=tuple(one if one.source else one._replace(source=name) for one in checked.omitted))


def announce(checked: Checked, report: Report) -> None:
    """Report what is left out as warnings; for runs that only read."""
    for diagnostic in _describe(checked.omitted, ()):
        report.lose(diagnostic, allowed=True)


def retract(checked: Checked, report: Report) -> None:
    """Withdraw the diagnostics of `announce`."""
    for diagnostic in _describe(checked.omitted, ()):
        report.retract(diagnostic)


def restrict(whole: Checked, part: Checked, report: Report) -> None:
    """Replace the diagnostics of a dataset by those of a selected part."""
    if whole.omitted != part.omitted:
        retract(whole, report)
        announce(part, report)


def refuse(checked: Checked, run: RunOptions, report: Report, codes: frozenset[str] = OMISSIONS) -> None:
    """Report what is left out: errors, unless the options of the run accept every reason.

    `codes`: reasons that need to be accepted: all for a run that writes, `DAMAGE` for one that reads values.
    """
    if not checked.omitted:
        return
    refused = {one.code for one in checked.omitted if one.code in codes and not run.accepts(one.code)}
    if codes is DAMAGE and not refused:
        return
    for diagnostic in _describe(checked.omitted, ()):
        report.retract(diagnostic)
    for diagnostic in _describe(checked.omitted, refused):
        report.lose(diagnostic, allowed=not refused)


def concerning(part: Checked | None, subset: Subset) -> Callable[[Diagnostic], bool]:
    """Return the function that tells whether a loss at a document of a store concerns a selected part; None: all."""
    asked = {name if name.startswith("/") else f"/{name}" for name in (*subset.variables, *subset.groups)}
    inside = tuple(f"{name}/" for name in asked)

    def concerns(loss: Diagnostic) -> bool:
        """Return whether the document of a loss belongs to the root, to a selected node, or to one below it."""
        folder, _, document = (loss.primary.key or "").rpartition("/")
        if part is None or document not in DOCUMENTS:
            return True
        path = names.fqn(folder.split("/")) if folder else "/"
        is_asked = path == "/" or path in asked or f"/{names.last(path)}" in asked
        return is_asked or path in part.variables or path in part.groups or path.startswith(inside)

    return concerns


def losses_of(checked: Checked) -> tuple[Loss, ...]:
    """Return what is left out as losses of a conversion."""
    from nczarr.plan.plans import Loss

    return tuple(Loss(one.code, "value", one.path, one.text) for one in checked.omitted)


def _describe(omitted: Iterable[Omission], refused: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield one diagnostic of each source. `refused`: codes that the run does not accept."""
    by_source: dict[str, list[Omission]] = {}
    for one in omitted:
        by_source.setdefault(one.source, []).append(one)
    codes = sorted(refused)
    helps = (f"write the rest with `--allow-loss unread`, or accept {' '.join(codes)}",) if codes else ()
    for source, items in by_source.items():
        notes = tuple(dict.fromkeys(f"{one.text} ({one.code})" for one in items))
        where = f" of `{show(source)}`" if source else ""
        count = "1 item is" if len(notes) == 1 else f"{len(notes)} items are"
        text = f"{count} left out{where}"
        yield Diagnostic(OMITTED, Severity.WARNING, text, notes=notes, helps=helps)
