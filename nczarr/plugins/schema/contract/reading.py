"""The rules of a schema, from its comments."""

from __future__ import annotations

import re

from nczarr.plugins.schema.contract.places import Comment, key_of, list_comments
from nczarr.plugins.schema.contract.rules import BadRuleError, Contract, Rules, parse_rules
from nczarr.plugins.schema.contract.template import find_marks
from nczarr.sdk import Attribute, Checked, Dimension, Group, Node, Report, Variable

MARK = re.compile(r"//\s*nczarr:(?!\s*ignore\[)\s*(.*)", re.DOTALL)
"""A comment with rules. `nczarr: ignore[CODE]` hides diagnostics."""


def read_contract(schema: Checked, report: Report) -> Contract:
    """Return the rules in the comments of a schema. Reports bad-rule."""
    comments = list(list_comments(schema))
    rules: dict[str, Rules] = {}
    marks = find_marks(comments)
    rules.update(marks.rules)
    for comment in comments:
        found = MARK.match(comment.text)
        if found is None:
            continue
        try:
            for key in _find_suited(comment, parse_rules(found[1])):
                rules[key] = parse_rules(found[1], rules.get(key, marks.usual))._replace(span=comment.span)
        except BadRuleError as error:
            report.error("bad-rule", str(error), comment.span)
    free = frozenset(path for path, each in rules.items() if each.extra_allowed)
    return Contract(rules, marks.usual, free)


def _find_suited(comment: Comment, rules: Rules) -> list[str]:
    """Return the keys of the nodes of a comment with which its rules go. Raises BadRuleError without any."""
    unsuited = [(key_of(path, node), _find_misfit(rules, node)) for path, node in comment.nodes]
    suited = [key for key, misfit in unsuited if not misfit]
    if not suited:
        raise BadRuleError(unsuited[0][1] if unsuited else "the comment stands with no declaration")
    return suited


def _find_misfit(rules: Rules, node: Node) -> str:
    """Return which rule means nothing for a node of this kind; empty if all go with it."""
    kind = type(node).__name__
    has_values = isinstance(node, Attribute | Variable)
    for flag, word, suits in (
        (rules.any_length, "any-length", isinstance(node, Dimension)),
        (rules.any_value, "any-value", isinstance(node, Attribute)),
        (rules.any_type, "any-type", has_values),
        (rules.extra_allowed, "extra-allowed", isinstance(node, Group | Variable)),
        (rules.has_demands, "a rule for values", has_values),
    ):
        if flag and not suits:
            return f"{word if ' ' in word else f'`{word}`'} does not go with a node of the kind {kind}"
    return ""
