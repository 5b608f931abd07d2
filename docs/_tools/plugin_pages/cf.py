"""The rules of CF, topic by topic."""

from __future__ import annotations

from nczarr.diagnostics.catalog import CODES
from nczarr.plugins.cf.rule import OLDEST, show_version
from nczarr.plugins.cf.rules import load_topics
from nczarr.plugins.cf.view import NEWEST

PAGE, MARK = "docs/reference/cf.md", "rules"


def text() -> str:
    """Return the tables of all topics."""
    lines = []
    for topic in load_topics():
        lines.append(
            f"\n## {topic.code}\n\n{CODES[topic.code].meaning}\n\n| section | | rule | versions |\n|---|---|---|---|\n"
        )
        for rule in topic.rules:
            first, last = (
                "" if end == limit else show_version(end)
                for end, limit in zip((rule.since, rule.until), (OLDEST, NEWEST), strict=True)
            )
            versions = f"{first or show_version(OLDEST)} to {last}" if last else f"since {first}" if first else ""
            cells = (rule.number, str(rule.severity), rule.text, versions)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(lines)
