"""Every rule: its failing example breaks it, its passing example does not, and no other requirement is broken by it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.cf.rule import Rule
from nczarr.plugins.cf.rules import load_topics
from nczarr.plugins.cf.udunits import load_units
from nczarr.plugins.cf.view import NEWEST, CFDataset, Version
from nczarr.semantics.checked import Checked

RULES = [rule for topic in load_topics() for rule in topic.rules]


def read(text: str) -> Checked:
    report = Report()
    checked = phases.read(Source("example.cdl", text.encode()), report, Options())
    assert checked is not None, [text, report.list_sorted()]
    return checked


def breaches(text: str, version: Version) -> list[tuple[str, str, str]]:
    """Code, rule and description of each breach."""
    dataset = CFDataset(read(text), version, load_units())
    return [
        (topic.code, breach.rule, breach.what)
        for topic in load_topics()
        for breach in topic.find(dataset)
        if any(rule.name == breach.rule and rule.holds(version) for rule in topic.rules)
    ]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.example], ids=lambda rule: f"{rule.code}:{rule.name}")
def test_examples(rule: Rule, peer: Callable[[str], ModuleType]) -> None:
    peer("cf_units")
    version = min(rule.until, NEWEST)
    broken = {(code, name) for code, name, _ in breaches(rule.failing, version)}
    assert (rule.code, rule.name) in broken
    requirements = {(one.code, one.name) for one in RULES if one.severity is Severity.ERROR}
    left = [
        breach for breach in breaches(rule.passing, version) if breach[:2] in requirements or breach[1] == rule.name
    ]
    left = [breach for breach in left if breach[0] != "cf-conventions" or rule.code == "cf-conventions"]
    assert [breach for breach in left if "`healpix_index`" not in breach[2]] == []  # a name that CF 1.13 announces
    if rule.since > (1, 6):
        assert (rule.code, rule.name) not in {breach[:2] for breach in breaches(rule.failing, (1, rule.since[1] - 1))}


def test_names_are_unique_and_texts_are_sentences() -> None:
    assert len({(rule.code, rule.name) for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.text.endswith("."), rule
        assert not rule.remedy.endswith("."), rule
        assert rule.code in CODES, rule


def test_every_breach_names_a_rule() -> None:
    """A breach of an unknown rule would never be reported."""
    for topic in load_topics():
        names = {rule.name for rule in topic.rules}
        for rule in topic.rules:
            if rule.example:
                found = topic.find(CFDataset(read(rule.failing), rule.until, load_units()))
                assert {breach.rule for breach in found} <= names
