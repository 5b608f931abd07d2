"""Meaning of variable and group names from callers: paths (`/g1/temp`, `g1/temp`) or simple names.

A path has one meaning; a simple name matches everything of that name anywhere,
as with `ncdump -v`. An unmatched word may be a list separated by commas.
Reports: unmatched-name, unmatched-section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nczarr import names
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Span
from nczarr.select.selection import Section


def variables_named(word: str, checked: Checked, report: Report) -> list[str]:
    """Return the FQNs of the variables that a word matches."""
    return _named(word, "variable", checked.variables, report)


def groups_named(word: str, checked: Checked, report: Report) -> list[str]:
    """Return the FQNs of the groups that a word matches; `/` is the root."""
    return _named(word, "group", checked.groups, report)


def dimensions_named(word: str, dimensions: Mapping[str, object], span: Span, report: Report) -> list[str]:
    """Return the FQNs among these dimensions that a word matches. Reports unmatched-name."""
    matches = meant(word, dimensions)
    if not matches:
        text = f"no selected variable has the dimension `{word}`"
        report.error("unmatched-name", text, span, helps=hint(word, dimensions))
    return matches


def named_in(
    word: str, what: str, nodes: tuple[Mapping[str, object], Mapping[str, object]], report: Report
) -> tuple[list[str], list[str]]:
    """Return the FQNs that a word matches in each of two datasets; one result may be empty."""
    both = {**nodes[0], **nodes[1]}
    matches = _named(word, what, both, report)
    return [fqn for fqn in matches if fqn in nodes[0]], [fqn for fqn in matches if fqn in nodes[1]]


def _named(word: str, what: str, nodes: Mapping[str, object], report: Report) -> list[str]:
    matches = meant(word, nodes)
    if matches:
        return matches
    pieces = word.split(",") if "," in word else [word]
    missing = [piece for piece in pieces if not meant(piece, nodes)]
    for piece in missing:
        unmatched(what, piece, nodes, report)
    return [] if missing else [fqn for piece in pieces for fqn in meant(piece, nodes)]


def meant(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQNs that a simple name or a path matches."""
    return of_name(word, nodes) or (at_path(word, nodes) if word else [])


def of_name(name: str, fqns: Iterable[str]) -> list[str]:
    """Return the FQNs that end in a simple name."""
    simple = names.normal(name)
    return [fqn for fqn in fqns if fqn != "/" and names.last(fqn) == simple]


def at_path(word: str, nodes: Mapping[str, object]) -> list[str]:
    """Return the FQN that a path means, with or without a leading slash; empty if it is not known."""
    try:
        path = names.fqn(map(names.normal, names.split(word if word.startswith("/") else "/" + word)))
    except ValueError:
        return []
    return [path] if path in nodes else []


def unmatched(what: str, name: str, fqns: Iterable[str], report: Report) -> None:
    """Report an unknown name."""
    report.error("unmatched-name", f"the dataset has no {what} `{name}`", helps=hint(name, fqns))


def hint(name: str, fqns: Iterable[str]) -> list[str]:
    """Return the help text for an unknown simple name or FQN."""
    paths = [fqn for fqn in fqns if fqn != "/"]
    return names.suggested(name, [*map(names.last, paths), *paths])


def place_of(section: Section, checked: Checked, report: Report) -> str | None:
    """Return the FQN of a section's variable; None if an error is reported."""
    path = names.fqn(map(names.normal, section.path))
    if path in checked.variables:
        return path
    matches = []
    if len(section.path) == 1 and not section.absolute:
        matches = of_name(section.path[0], checked.variables)
    if len(matches) == 1:
        return matches[0]
    written = path if section.absolute or len(section.path) > 1 else section.path[0]
    if matches:
        text = f"the name `{written}` is ambiguous: {', '.join(matches)}"
        report.error("unmatched-section", text, section.span, helps=[f"write the whole path, `{matches[0]}`"])
        return None
    helps = hint(written, checked.variables)
    if "[" in section.path[-1]:
        helps = ["write extents in parentheses: `temp(0:9)`"]
    report.error("unmatched-section", f"the dataset has no variable `{written}`", section.span, helps=helps)
    return None
