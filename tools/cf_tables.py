"""Write the table of CF's standard names that the package has from the official XML file.

`python tools/cf_tables.py cf-standard-name-table.xml` replaces `nczarr/plugins/cf/tables/standard-names.tsv.gz`. Of
each description the first sentence stays. The file has the same bytes on every machine.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

TARGET = Path(__file__).resolve().parent.parent / "nczarr/plugins/cf/tables/standard-names.tsv.gz"

_SENTENCE = re.compile(r"(.+?(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bet)(?<!\bcf)\.)(?=\s+[A-Z\"“'(]|\s*$)")

LONGEST = 300


def first_sentence(text: str) -> str:
    """Return the first sentence of a description, cut after `LONGEST` characters."""
    joined = " ".join(text.split())
    match = _SENTENCE.match(joined)
    sentence = match[1] if match else joined
    return sentence if len(sentence) <= LONGEST else sentence[: LONGEST - 1].rstrip() + "…"


def table(document: ElementTree.Element) -> str:
    """Return the lines: version and date; name, units and definition; old name and the names that replace it."""
    lines = [f"{document.findtext('version_number')}\t{(document.findtext('last_modified') or '')[:10]}"]
    entries = sorted(document.findall("entry"), key=lambda entry: entry.attrib["id"])
    for entry in entries:
        units = (entry.findtext("canonical_units") or "").strip()
        definition = first_sentence(entry.findtext("description") or "")
        lines.append(f"{entry.attrib['id']}\t{units}\t{definition}")
    for alias in sorted(document.findall("alias"), key=lambda alias: alias.attrib["id"]):
        present = " ".join((entry.text or "").strip() for entry in alias.findall("entry_id"))
        lines.append(f"{alias.attrib['id']}\t={present}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table of the file that the command line names."""
    text = table(ElementTree.parse(sys.argv[1]).getroot())
    TARGET.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    print(f"{TARGET.name}: {len(text.splitlines()) - 1} names, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
