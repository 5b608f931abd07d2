"""The table of README.md, made from results.json; and results.json, to which lines of scripts are added.

    report.py                 write the table between the markers of README.md
    report.py --check         compare only: status 1 if the table is old, or shows a row as fresh whose code has changed
    report.py --record FILE   take over the lines of a run, then write the table

An entry of results.json is a row: `describe` is written by hand and stays, `measured` is the last recorded line. A row
is stale if the code that it measures has another digest than the recorded one, or if none was recorded.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from harness import ROOT, digest_code

Entry = dict[str, Any]
Notes = list[tuple[Any, Any, dict[str, str]]]
"""Machine, Python and releases of each group of rows."""

BEGIN, END = "<!-- rows -->", "<!-- end -->"
STALE = "†"
UNKNOWN = "before 2026-12"
"""Date of rows from before dates were recorded."""

HEAD = "| row | input | peer | compared | ratio (spread) | goal | measured |\n|---|---|---|---|---|---|---|"
REPORT = "run `make bench-report`"


def read_results(folder: Path) -> dict[str, Entry]:
    """Return the entries by row, in their order."""
    found: dict[str, Entry] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return found


def write_results(folder: Path, entries: Mapping[str, Entry]) -> None:
    """Write the entries in their order, with sorted members."""
    ordered = {row: json.loads(json.dumps(entry, sort_keys=True)) for row, entry in entries.items()}
    text = json.dumps(ordered, indent=2, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")


def merge(entries: Mapping[str, Entry], lines: Sequence[Entry]) -> dict[str, Entry]:
    """Return the entries with the figures of some lines. A new row stands behind the last one of its script.

    Raises ValueError for lines of a run with small inputs.
    """
    found = dict(entries)
    for line in lines:
        if line.get("quick"):
            raise ValueError(f"`{line['row']}` was run with a small input, which is not recorded")
        row, script = line["row"], line["script"]
        measured = {name: value for name, value in line.items() if name not in ("row", "script")}
        describe = found[row]["describe"] if row in found else {"compared": "", "input": "", "peer": ""}
        entry = {"describe": describe, "measured": measured, "script": script}
        behind = [name for name, each in found.items() if each["script"] == script]
        if row in found or not behind:
            found[row] = entry
            continue
        place = list(found).index(behind[-1]) + 1
        found = dict([*list(found.items())[:place], (row, entry), *list(found.items())[place:]])
    return found


@functools.cache
def read_measures(script: Path) -> tuple[str, ...]:
    """Return the constant `MEASURES` of a script, without running it."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="MEASURES")], value=value):
                return tuple(ast.literal_eval(value))
    raise ValueError(f"{script.name} does not state MEASURES")


def find_stale(entries: Mapping[str, Entry], root: Path = ROOT) -> set[str]:
    """Return the rows whose code is not the one that was measured."""
    scripts = {root / "benchmarks" / entry["script"] for entry in entries.values()}
    now = {script.name: digest_code(script, read_measures(script), root) for script in scripts}
    return {row for row, entry in entries.items() if entry["measured"]["code"] != now[entry["script"]]}


def table(entries: Mapping[str, Entry], stale: set[str]) -> str:
    """Return the table and its notes."""
    notes: Notes = []
    rows = [HEAD, *(_table_row(row, entry, row in stale, notes) for row, entry in entries.items())]
    words = [f"- {_letter(number)}: {_describe_note(*note)}." for number, note in enumerate(notes)]
    mark = f"{STALE}: the code that the row measures has changed since, or was not recorded."
    return "\n".join([*rows, "", mark, "Rows were measured with:", "", *words])


def _table_row(row: str, entry: Entry, is_stale: bool, notes: Notes) -> str:
    measured, describe = entry["measured"], entry["describe"]
    peer = describe["peer"]
    if (seconds := measured.get("peer_seconds")) is not None:
        peer += f", {_number(seconds)} s"
    if _was_measured(measured):
        rounds = f", {measured['rounds']} round{'s' if measured['rounds'] > 1 else ''}"
        when = f"{measured['date'] or UNKNOWN}{rounds}, {_letter(_note_of(measured, notes))}"
        when += f" {STALE}" if is_stale else ""
    else:
        when = f"not yet {STALE}"
    cells = row, describe["input"], peer, describe["compared"], _figures(measured), _goals(measured), when
    return f"| {' | '.join(cells)} |"


def _was_measured(measured: Entry) -> bool:
    return measured["ratio"] is not None or measured.get("figure") is not None or measured["spread"] is not None


def _figures(measured: Entry) -> str:
    figure = measured["ratio"] if measured["ratio"] is not None else measured.get("figure")
    spread, unit = measured["spread"], measured.get("unit", "")
    words = [] if figure is None else [_number(figure)]
    if spread and spread[0] != spread[1]:
        both = " .. ".join(map(_number, spread))
        words.append(f"({both})" if words else both)
    parts = [" ".join([*words, unit] if words and unit else words)]
    if measured.get("memory_goal") is not None and measured.get("memory_ratio") is not None:
        parts.append(f"memory {_number(measured['memory_ratio'])}")
    if measured.get("peak_goal_mb") is not None and measured.get("our_peak_mb") is not None:
        parts.append(f"{_number(measured['our_peak_mb'])} MB")
    if measured["met"] is False and measured.get("work_ratio") is not None:
        parts.append(f"processor time {_number(measured['work_ratio'])}")
    return "; ".join(part for part in [*parts, measured.get("note")] if part)


def _goals(measured: Entry) -> str:
    parts = [] if measured["goal"] is None else [_number(measured["goal"])]
    if measured.get("memory_goal") is not None:
        parts.append(f"memory {_number(measured['memory_goal'])}")
    if measured.get("peak_goal_mb") is not None:
        parts.append(f"{_number(measured['peak_goal_mb'])} MB")
    return "; ".join(parts) + (" (missed)" if measured["met"] is False else "")


def _number(value: float) -> str:
    """Return three digits that count, never with an exponent."""
    text = format(Decimal(f"{value:.3g}"), "f") if abs(value) < 1000 else f"{value:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _letter(number: int) -> str:
    return chr(ord("a") + number)


def _note_of(measured: Entry, notes: Notes) -> int:
    """Return the note that a row shares: of its machine and Python, without a release that contradicts."""
    python = measured["python"] and {name: measured["python"][name] for name in ("version", "optimised")}
    releases = measured["releases"] or {}
    for number, (machine, other, known) in enumerate(notes):
        fits = all(known.get(name, release) == release for name, release in releases.items())
        if (machine, other) == (measured["machine"], python) and fits:
            known.update(releases)
            return number
    notes.append((measured["machine"], python, dict(releases)))
    return len(notes) - 1


def _describe_note(machine: Entry | None, python: Entry | None, releases: dict[str, str]) -> str:
    words = ["two cores that others used too; machine and Python were not recorded"]
    if machine is not None and python is not None:
        built = "" if python["optimised"] else ", built without profiles"
        words = [f"{machine['cores']} cores, {machine['processor']}, {machine['system']}"]
        words.append(f"Python {python['version']}{built}")
    if releases:
        words.append(", ".join(f"{name} {releases[name]}" for name in sorted(releases, key=str.lower)))
    return "; ".join(words)


def fill_in(readme: str, made: str) -> str:
    """Return README.md with another table."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def find_faults(readme: str, entries: Mapping[str, Entry], stale: set[str]) -> Iterator[str]:
    """Report what is wrong in README.md. A mark at a fresh row is none: it goes with the next report."""
    made = fill_in(readme, table(entries, stale))
    for shown, right in zip(readme.splitlines(), made.splitlines(), strict=False):
        if shown.replace(f" {STALE} |", " |") != right.replace(f" {STALE} |", " |"):
            yield f"benchmarks/README.md is not what results.json says, first at `{shown[:60]}`: {REPORT}"
            return
    if len(readme.splitlines()) != len(made.splitlines()):
        yield f"benchmarks/README.md has other rows than results.json: {REPORT}"
    for row in stale:
        if f"\n| {row} |" in readme and f" {STALE} |" not in readme.split(f"\n| {row} |", 1)[1].split("\n", 1)[0]:
            yield f"`{row}` is shown as fresh, and its code has changed: {REPORT}, or measure it again"


def main() -> int:
    """Write, check or record."""
    parser = argparse.ArgumentParser(description="The table of README.md, made from results.json.")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--record", metavar="FILE", type=Path, help="take over the lines of a run")
    options = parser.parse_args()
    folder = ROOT / "benchmarks"
    readme, entries = folder / "README.md", read_results(folder)
    if options.record:
        lines = [json.loads(line) for line in options.record.read_text().splitlines() if line.startswith("{")]
        entries = merge(entries, lines)
        write_results(folder, entries)
    stale = find_stale(entries)
    text = readme.read_text(encoding="utf-8")
    if not options.check:
        readme.write_text(fill_in(text, table(entries, stale)), encoding="utf-8")
        return 0
    faults = sorted(find_faults(text, entries, stale))
    print(*faults, sep="\n", file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
