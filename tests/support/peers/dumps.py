"""What ncdump prints, taken apart so that two files can be compared item by item."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

_GROUP = re.compile(r"\s*group: (.*) \{$")
_END = re.compile(r"\s*\} // group ")
_SECTION = re.compile(r"\s*(types|dimensions|variables|data):$|\s*// (?:global|group) attributes:$")

PROVENANCE = ("_NCProperties", "_SuperblockVersion", "_IsNetcdf4")
"""Virtual attributes that tell which library made a file, and nothing of what it holds."""


class Dump(NamedTuple):
    """`header`: declarations and attributes in order, each with its group, the definitions of types sorted;
    `data`: what stands behind `=`, by path of the variable.
    """

    header: list[str]
    data: dict[str, str]


def dumped(ncdump: str, path: Path, *, special: bool = True, data: bool = True) -> Dump:
    """A file as `ncdump -p 9,17` prints it, with virtual attributes unless `special` is off."""
    flags = ["-n", "x", "-p", "9,17", *(["-s"] if special else []), *([] if data else ["-h"])]
    done = subprocess.run([ncdump, *flags, str(path)], capture_output=True, check=True)
    return parse(done.stdout.decode("utf-8", "surrogateescape"))


def parse(text: str) -> Dump:
    """The items of a text that ncdump printed."""
    header: list[str] = []
    data: dict[str, list[str]] = {}
    groups: list[str] = []
    section, types, block, blank = "", [""], "", False
    for line in text.split("\n"):
        if block:
            data[block].append(line.strip())
            block = "" if line.endswith(" ;") else block
            continue
        if section == "data" and blank and not _GROUP.match(line) and " =" in line:
            block = "/".join(("", *groups, line.split(" =")[0].strip()))
            data[block] = [line.split(" =", 1)[1].strip()]
            block = "" if line.endswith(" ;") else block
            continue
        blank = not line.strip()
        begins = _SECTION.match(line)
        if section == "types" and (begins or _GROUP.match(line)):
            header += sorted(filter(None, types))
            types = [""]
        if begins:
            section = begins[1] or "attributes"
        elif found := _GROUP.match(line):
            groups.append(found[1])
            section = ""
        elif _END.match(line):
            groups.pop()
            section = ""
        elif section == "types":
            types[-1] += line.strip() + "\n"
            if re.match(r"\s*\}; // ", line) if types[-1].startswith("compound ") else line.endswith(" ;"):
                types.append("")
            continue
        if _is_content(line) and not blank:
            header.append("/".join(groups) + "|" + re.sub(r"\s+", " ", line.strip()))
    return Dump(header, {path: "\n".join(lines) for path, lines in data.items()})


def differences(theirs: Dump, ours: Dump) -> list[str]:
    """One text a thing that differs: a variable's path, or a line of the header that only one has."""
    found = [f"{path}: {theirs.data.get(path, 'nothing')[:60]} | {ours.data.get(path, 'nothing')[:60]}"
             for path in {**theirs.data, **ours.data} if theirs.data.get(path) != ours.data.get(path)]  # fmt: skip
    found += [f"- {line}" for line in theirs.header if line not in ours.header]
    found += [f"+ {line}" for line in ours.header if line not in theirs.header]
    if not found and theirs.header != ours.header:
        found = ["the order of the header"]
    return found


def unlike(ncdump: str, one: Path, other: Path, *, data: bool = True, most: int = 5) -> list[str]:
    """Lines of `ncdump -s -p 9,17` that differ between two files, provenance aside; both are read as streams.

    What HDF5 leaves undefined, because nothing was written and nothing fills it, comes out otherwise each time: such
    variables of the first file do not count. Nothing differs where ncdump cannot read the first file to its end.
    """
    found = _unlike(ncdump, one, other, data=data, most=most)
    if not found or not _is_readable(ncdump, one, data=data):
        return []
    if not data or not _is_readable(ncdump, other, data=data):
        return found
    first, *again = (dumped(ncdump, one) for _ in range(4))
    undefined = {path for each in again for path in first.data if each.data[path] != first.data[path]}
    if not undefined:
        return found
    here, there = dumped(ncdump, one), dumped(ncdump, other)
    return differences(*(side._replace(data=_without(side.data, undefined)) for side in (here, there)))


def _is_readable(ncdump: str, path: Path, *, data: bool) -> bool:
    command = [ncdump, "-n", "x", "-s", "-p", "9,17", *([] if data else ["-h"]), str(path)]
    return not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def _without(data: dict[str, str], paths: set[str]) -> dict[str, str]:
    return {path: text for path, text in data.items() if path not in paths}


def _unlike(ncdump: str, one: Path, other: Path, *, data: bool, most: int) -> list[str]:
    command = [ncdump, "-n", "x", "-s", "-p", "9,17", *([] if data else ["-h"])]
    text: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
    running = [subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **text)
               for path in (one, other)]  # fmt: skip
    found: list[str] = []
    try:
        sides = (filter(_is_content, process.stdout or ()) for process in running)
        for line, its in itertools.zip_longest(*sides, fillvalue=""):
            if line != its:
                found.append(" | ".join(side.strip()[:200] for side in (line, its)))
            if len(found) >= most:
                break
    finally:
        for process in running:
            process.kill()
            process.communicate()
    return found


def _is_content(line: str) -> bool:
    return not any(name in line for name in PROVENANCE)
