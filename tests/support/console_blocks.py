"""Console blocks of pages: their commands run, and their output replaces the old (`tests/test_commands.py`)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.conftest import Ran, run_command


def perform(command: str, stdin: str) -> Ran:
    words = shlex.split(command)
    match words:
        case ["nczarr", *arguments]:
            return run_command(*arguments, stdin=stdin.encode("utf-8", "surrogateescape"))
        case ["cat", name]:
            return Ran(0, Path(name).read_bytes(), "")
        case ["cat", ">", name]:
            Path(name).write_text(stdin, encoding="utf-8", errors="surrogateescape")
            return Ran(0, b"", "")
        case ["ls", "-A", name]:
            listed = sorted(entry.name for entry in Path(name).iterdir())
            return Ran(0, "".join(f"{entry}\n" for entry in listed).encode(), "")
    raise AssertionError(f"a page may not run {words[:1]}")


def shown(command: str, stdin: str | None, ran: Ran) -> str:
    """The block's text for one command as it should stand in the page."""
    text = f"% {command}\n"
    if stdin is not None:
        text += f"<<\n{stdin}^D\n"
    text += ran.out.decode("utf-8")
    text += "" if text.endswith("\n") else "\n"  # of a file without one
    text += "".join(f"2> {line}".rstrip() + "\n" for line in ran.err.splitlines())
    return text + (f"=> {ran.status}\n" if ran.status else "")


def replay(block: str) -> str:
    """The block with the output that the commands give now."""
    out = ""
    for part in re.split(r"^(?=% )", block, flags=re.MULTILINE):
        if not part.startswith("% "):
            assert not part.strip(), f"text before the first command: {part!r}"
            continue
        command, _, rest = part[2:].partition("\n")
        given = re.match(r"<<\n(.*?)^\^D\n", rest, re.MULTILINE | re.DOTALL)
        stdin = given.group(1) if given else None
        out += shown(command, stdin, perform(command, stdin or ""))
    return out
