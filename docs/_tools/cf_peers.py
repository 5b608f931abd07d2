"""Write the table of docs/reference/cf.md that compares `check --cf` with cf-checker and compliance-checker.

`python docs/_tools/cf_peers.py FILE…` checks netCDF files, each by the version that it declares, 1.6 to 1.11. NCZARR_CF
names an interpreter with both checkers. A file of which a checker makes no report counts for the other one alone.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import nczarr  # noqa: E402
from tests.support.peers.cf_findings import by_peers, by_us  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "cf.md"


def declared(path: Path) -> str:
    """The version that a file declares, or 1.8."""
    match = re.search(r"CF-1\.([0-9]+)", str(nczarr.open(path).attributes.get("Conventions", "")))
    return f"1.{min(max(int(match[1]), 6), 11)}" if match else "1.8"


def table(files: list[Path]) -> str:
    """Files in which each checker finds something, by section."""
    versions = [(declared(path), path) for path in files]
    with tempfile.TemporaryDirectory() as folder:
        peers = by_peers(os.environ["NCZARR_CF"], Path(folder), versions)
    counts: dict[str, Counter[str]] = {}
    for version, path in versions:
        ours = {found.section for found in by_us(path, version)}
        first, second = (
            {found.section for found in found_by or ()}
            for found_by in (peers[path].cfchecker, peers[path].compliance_checker)
        )
        for section in (ours | first | second) - {""}:
            row = counts.setdefault(section, Counter())
            row["nczarr"] += section in ours
            row["cf-checker"] += section in first
            row["compliance-checker"] += section in second
            row["both"] += section in first & second
            row["all"] += section in first & second & ours
    columns = ("nczarr", "cf-checker", "compliance-checker", "both", "all")
    head = (
        "| section | nczarr | cf-checker | compliance-checker | both of them | of these nczarr |\n" + "|---" * 6 + "|"
    )
    rows = [
        f"| {section} | " + " | ".join(str(counts[section][name]) for name in columns) + " |"
        for section in sorted(counts, key=lambda text: (not text[0].isdigit(), text))
    ]
    return "\n".join([f"{len(files)} files.\n", head, *rows]) + "\n"


def main() -> None:
    """Write the table between its marks."""
    text = table([Path(name) for name in sys.argv[1:]])
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(r"(<!-- peers -->\n).*?(<!-- end of peers -->)", lambda m: m[1] + text + m[2], page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
