"""A contract from examples, which `nczarr check --schema` judges by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nczarr.plugins.generate.model import DEFAULT_NAME, UniqueIdentifiers
from nczarr.plugins.schema.contract.draft import draft
from nczarr.sdk import Checked, Report


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the draft of a contract of one example."""
    return generate_from((checked,), name, report)


def generate_from(examples: Sequence[Checked], name: str, report: Report) -> Mapping[str, str]:
    """Return the draft of a contract that all examples keep; nothing after an error."""
    identifier = UniqueIdentifiers().make(name or DEFAULT_NAME)
    text = draft(examples, identifier, report)
    return {f"{identifier}.contract.cdl": text} if text else {}
