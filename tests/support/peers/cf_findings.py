"""Findings about the CF conventions that two datasets, or two checkers, can be compared by: sections and variables."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import nczarr
from nczarr.plugins.cf import standard_name_table as table


class CFFinding(NamedTuple):
    """One finding of a checker."""

    section: str
    """Section of the conventions, as `section_of` writes it."""
    text: str
    is_error: bool
    variable: str = ""
    """Name of the variable, if the checker says it apart from the text."""

    def concerns(self, variable: str) -> bool:
        """Return whether it is about a variable."""
        return self.variable == variable or re.search(rf"(?<!\w){re.escape(variable)}(?!\w)", self.text) is not None


GROUPS = (("2.5", "2.5"), ("2.6", "2.6"), ("3.2", "3"), ("4.1", "4.1"), ("4.2", "4.1"), ("4.3", "4.3"), ("4.4", "4.4"),
          ("5.6", "5.6"), ("5.8", "5.8"), ("5.", "5"), ("7.6", "7.5"), ("9", "9"))  # fmt: skip
"""Beginnings of sections that are numbered otherwise in other versions or checkers, and what they are compared as."""


def section_of(number: str) -> str:
    """The section that is compared."""
    return next((group for beginning, group in GROUPS if number.startswith(beginning)), number.rstrip("."))


def by_us(path: Path, version: str | None = None) -> list[CFFinding]:
    """Our findings."""
    found = []
    for diagnostic in nczarr.check(path, cf=version or True, select=["cf"]):
        match = re.search(r"\(CF ([^)]*)\)$", diagnostic.message)
        section = section_of(match[1]) if match else ""
        found.append(CFFinding(section, diagnostic.message, str(diagnostic.severity) == "error"))
    return found


def write_tables(folder: Path) -> list[str]:
    """Write our tables as the XML files that cf-checker reads; return their paths."""
    names = "".join(
        f'<entry id="{entry.name}"><canonical_units>{escape(entry.units)}</canonical_units></entry>'
        + "".join(f'<alias id="{old}"><entry_id>{entry.name}</entry_id></alias>' for old in entry.aliases)
        for entry in table.standard_names()
    )
    texts = {
        "names": "<standard_name_table><version_number>93</version_number><last_modified/>"
        f"{names}</standard_name_table>",
        **{
            name: f"<{name}><version_number>1</version_number><date/>"
            + "".join(f'<entry id="{word}"/>' for word in sorted(words))
            + f"</{name}>"
            for name, words in (("areas", table.area_types()), ("regions", table.regions()))
        },
    }
    for name, text in texts.items():
        (folder / f"{name}.xml").write_text(text)
    return [str(folder / f"{name}.xml") for name in texts]


class PeerFindings(NamedTuple):
    """Findings of both checkers in a file; None for a checker that fails."""

    cfchecker: list[CFFinding] | None
    compliance_checker: list[CFFinding] | None

    @property
    def common(self) -> set[str]:
        """Sections in which both find something."""
        if self.cfchecker is None or self.compliance_checker is None:
            return set()
        first = {found.section for found in self.cfchecker}
        return (first & {found.section for found in self.compliance_checker}) - {""}

    @property
    def is_clean(self) -> bool:
        """True if neither finds anything of importance."""
        if self.cfchecker is None or self.compliance_checker is None:
            return False
        return not self.cfchecker and not [found for found in self.compliance_checker if found.is_error]


def by_peers(interpreter: str, folder: Path, files: list[tuple[str, Path]]) -> dict[Path, PeerFindings]:
    """Findings of the peers, by file; each file with the version of CF. Fails if the peers cannot be run."""
    command = [interpreter, str(Path(__file__).with_name("cf_checkers.py")), *write_tables(folder)]
    lines = "".join(f"{version} {path}\n" for version, path in files)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=1800)
    answers = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        ours, theirs = answer["cfchecker"], answer["compliance-checker"]
        answers[Path(answer["path"])] = PeerFindings(
            None
            if isinstance(ours, str)
            else [
                CFFinding(section_of(section), text, category in ("ERROR", "FATAL"), variable)
                for category, section, text, variable in ours
                if category != "INFO"
            ],
            None
            if isinstance(theirs, str)
            else [
                CFFinding(section_of(section), text, priority == "3")
                for priority, section, text in theirs
                if not APPROVALS.search(text)
            ],
        )
    return answers


APPROVALS = re.compile(r"found in same group$|does not cross 1582-10-15")
"""Messages of compliance-checker about what is right."""
