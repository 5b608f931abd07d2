"""Check of a dataset against the rules of CF: its breaches as diagnostics, each at its word."""

from __future__ import annotations

import re

from nczarr.ast import Attribute
from nczarr.ast.node import Node
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Span
from nczarr.plugins.cf.rule import OLDEST, Breach, Rule, show_version
from nczarr.plugins.cf.rules import load_topics
from nczarr.plugins.cf.rules.netcdf_files import list_conventions
from nczarr.plugins.cf.udunits import load_units
from nczarr.plugins.cf.view import NEWEST, CFDataset, Version
from nczarr.plugins.common.nodes import label_of, python_value
from nczarr.semantics.checked import Checked

_VALUE = re.compile(rb'\s*=\s*((?:"(?:[^"\\]|\\.)*"|/(?!/)|[^";/])*)', re.DOTALL)
"""Value of an attribute in CDL or the notation, behind its name."""


def label_word(node: Node, word: str = "") -> Label:
    """Return the place of a word in the value of an attribute of a text, or of the whole value; else of the node."""
    source = node.span.source
    if not isinstance(node, Attribute) or source is None or source.binary or source.key is not None:
        return label_of(node)
    match = _VALUE.match(source.data, node.span.end)
    if match is None:
        return label_of(node)
    start, end = match.span(1)
    if word:
        pattern = rb"(?<![A-Za-z0-9_])" + re.escape(word.encode("utf-8", "surrogateescape")) + rb"(?![A-Za-z0-9_])"
        place = re.compile(pattern).search(source.data, start, end)
        if place is not None:
            return Label(Span(source, *place.span()))
    return Label(Span(source, start, start + len(match[1].rstrip())))


LONGEST = 1000
"""Maximum characters of a message: texts of attributes may be long."""


def find_version(checked: Checked) -> Version:
    """Return the version that `Conventions` names, or the nearest that is known; without one the newest."""
    for attribute in checked.dataset.attributes:
        value = python_value(attribute.value)
        if attribute.name == "Conventions" and isinstance(value, str):
            for word in list_conventions(value):
                minor = word.removeprefix("CF-1.")
                if word.startswith("CF-1.") and minor.isascii() and minor.isdigit():
                    return min(max((1, int(minor)), OLDEST), NEWEST)
    return NEWEST


def check_cf(
    checked: Checked,
    version: Version | None,
    report: Report,
    filename: str | None = None,
    *,
    is_typed: bool | None = None,
) -> None:
    """Report the breaches of CF's rules.

    `version`: None is the version that the dataset declares. `filename`: name of a
    netCDF file. `is_typed`: whether the source stores the types of attributes; None:
    as the attributes look. Raises OSError where coordinates cannot be read.
    """
    units = load_units()
    if units is None:
        report.warning(
            "cf-unjudged",
            "units of measure are not checked: this needs `cf-units`, which is not installed",
            helps=["run `pip install 'nczarr[cf]'`"],
        )
    dataset = CFDataset(checked, version or find_version(checked), units, filename, is_typed=is_typed)
    for topic in load_topics():
        rules = {rule.name: rule for rule in topic.rules if rule.holds(dataset.version)}
        reported = set[tuple[str, str, str, int]]()  # a word that a text repeats is one breach
        try:
            for breach in topic.find(dataset):
                key = (breach.rule, breach.what, breach.word, id(breach.node))
                if breach.rule in rules and key not in reported:
                    reported.add(key)
                    report.add(_diagnose(rules[breach.rule], breach, dataset.version))
        except CompileError as error:  # damaged values
            for diagnostic in error.diagnostics:
                report.add(diagnostic)


def _diagnose(rule: Rule, breach: Breach, version: Version) -> Diagnostic:
    first = rule.text.split()[0]
    text = rule.text[:-1] if len(first) > 1 and first.isupper() else rule.text[:1].lower() + rule.text[1:-1]
    what = breach.what if len(breach.what) <= LONGEST else f"{breach.what[:LONGEST]}…"
    kind = "requirement" if rule.severity is Severity.ERROR else "recommendation"
    return Diagnostic(
        rule.code,
        rule.severity,
        f"{what} (CF {rule.number})",
        label_word(breach.node, breach.word),
        notes=(f"{kind} of CF {show_version(version)}, section {rule.number}: {text}",),
        helps=breach.helps or (rule.remedy,),
    )
