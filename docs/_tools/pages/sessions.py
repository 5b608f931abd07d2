"""Console blocks of pages as plain shell sessions.

Pages hold commands in the notation that tests replay (tests/test_commands.py): `% COMMAND`, its standard input
between `<<` and `^D`, its output, `2> ` before lines of standard error, and `=> N` for an exit status. The site shows
what a terminal shows.
"""

from __future__ import annotations

import re

CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"^```python no-run$", re.MULTILINE)

_INPUT = re.compile(r"<<\n(.*?)^\^D\n", re.MULTILINE | re.DOTALL)
_STATUS = re.compile(r"^=> (\d+)\n", re.MULTILINE)


def rendered(markdown: str) -> str:
    """Return a page with every console block as shell sessions."""
    markdown = CONSOLE.sub(lambda match: block(match[1]), markdown)
    return NOT_RUN.sub("```python", markdown)


def block(text: str) -> str:
    """Return fenced sessions: a block ends at a command with an exit status, which stands below it."""
    made, session = "", ""
    for command in re.split(r"^(?=% )", text, flags=re.MULTILINE):
        if not command.strip():
            continue
        shown, status = _session(command)
        session += shown
        if status is not None:
            made, session = made + _fenced(session) + f'<p class="exit-status">exit status {status}</p>\n\n', ""
    return made + (_fenced(session) if session else "")


def _fenced(session: str) -> str:
    return f"```console\n{session}```\n\n"


def _session(command: str) -> tuple[str, str | None]:
    """Return one command as a terminal shows it, and its exit status if that is not 0."""
    line, _, rest = command[2:].partition("\n")
    given = _INPUT.match(rest)
    if given is not None:
        rest = rest[given.end() :]
        line += f" <<'EOF'\n{given[1]}EOF"
    status = _STATUS.search(rest)
    output = re.sub(r"^2> ?", "", _STATUS.sub("", rest), flags=re.MULTILINE)
    return f"$ {line}\n{output}", status[1] if status else None
