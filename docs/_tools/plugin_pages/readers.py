"""Tables of the page on other readers: the rules of each."""

from __future__ import annotations

from nczarr.diagnostics.catalog import CODES
from nczarr.plugins.readers import peer as peers

PAGE, MARK = "docs/reference/peers.md", "peers"


def text() -> str:
    """Return the tables of all readers."""
    lines = []
    for peer in peers.peers():
        lines.append(f"\n## {peer.name}\n\n{f'{peer.title} {peer.versions}'.strip()}.\n")
        for what, rules in (("Zarr stores", peer.stores), ("netCDF files", peer.files or ())):
            if rules:
                lines.append(f"\n### {what}\n\n" + "| code | | what is wrong | the reader | seen with | what to do |\n")
                lines.append("|---|---|---|---|---|---|\n")
            before = ""
            for rule in rules:
                code = CODES[rule.code]
                cells = (f"`{rule.code}`", str(code.severity), code.summary, rule.does, rule.seen, rule.instead or "–")
                if rule.code == before:  # several faults of one code: its meaning stands in the first row
                    cells = (cells[0], cells[1], "", *cells[3:])
                before = rule.code
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(lines)
