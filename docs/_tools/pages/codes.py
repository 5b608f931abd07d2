"""A page for each diagnostic code and each kind of difference, and an index by subject."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from nczarr.diagnostics.catalog import CODES, KINDS, SUBJECTS, Code, sections
from nczarr.diagnostics.render import visible
from nczarr.diagnostics.report import Severity
from nczarr.stores.memory import pretty

FOLDER = "reference/codes"
OF_DIFF = SUBJECTS[-2:]
"""Subjects of the kinds of difference and of change, whose pages have a folder of their own."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of each page: the index, the codes, the kinds of difference."""
    yield f"{FOLDER}/index.md", _index()
    for subject, found in sections():
        for code in found:
            yield f"{FOLDER}/{_place(code)}", _page(code, subject, found)


def _place(code: Code) -> str:
    return f"differences/{code.name}.md" if code.subject in OF_DIFF else f"{code.name}.md"


def _index() -> str:
    counts = {severity: sum(code.severity is severity for code in CODES.values()) for severity in Severity}
    counted = ", ".join(f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts.items() if count)
    parts = [
        "---\ntitle: Diagnostic codes\n---\n\n# Diagnostic codes\n\n"
        "Every message of nczarr has a code in brackets, such as `error[lost-type]`. Find the code here, or run "
        "`nczarr explain CODE`. Each page has the meaning, the smallest input that causes the message, and "
        "a remedy.\n\n"
        f"There are {len(CODES)} codes ({counted}) and {len(KINDS)} kinds of difference and of change, which "
        "`nczarr diff` reports.\n\n"
    ]
    for subject, found in sections():
        parts.append(f"## {subject}\n\n| code | severity | meaning |\n|---|---|---|\n")
        parts += [
            f"| [`{code.name}`]({_place(code)}) | {_badge(code)} | {_cell(code.summary)} |\n"
            for code in sorted(found, key=lambda code: code.name)
        ]
        parts.append("\n")
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _badge(code: Code) -> str:
    return f'<span class="severity {code.severity}">{code.severity}</span>'


def _page(code: Code, subject: str, found: list[Code]) -> str:
    up = "../" if code.subject in OF_DIFF else ""
    kind = "difference" if code.subject in OF_DIFF else str(code.severity)
    text = f"---\ntitle: {code.name}\n---\n\n# `{code.name}`\n\n"
    way = f"[Diagnostic codes]({up}index.md) › [{subject}]({up}index.md#{_anchor(subject)})"
    badge = f'<span class="severity {code.severity}">{kind}</span>'
    text += f'<p class="code-facts" markdown>{way} {badge}</p>\n\n'
    text += f"{code.meaning}\n\n"
    if code.example:
        text += f"## Example\n\n{_example(code)}\n"
    if code.message:
        text += f"It prints:\n\n{_fenced('text', code.message.splitlines())}\n"
    text += f"## What to do\n\n{code.remedy}\n\n"
    names = sorted(found, key=lambda each: each.name)
    place = names.index(code)
    near = [each for each in names[max(0, place - 3) : place + 4] if each is not code]
    others = ", ".join(f"[`{each.name}`]({each.name}.md)" for each in near)
    text += f"## See also\n\n{others + '. ' if others else ''}[All codes]({up}index.md).\n"
    return text


def _anchor(subject: str) -> str:
    """Return the anchor of a heading in the index."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", subject.lower()))


def _example(code: Code) -> str:
    """Return the example: commands as a session, a store key by key, anything else as a text."""
    lines = [visible(line) for line in code.example.rstrip("\n").split("\n")]
    lines = [line if len(line) <= 200 else f"{line[:120]} … {line[-40:]}" for line in lines]
    lines = lines if len(lines) <= 60 else [*lines[:40], "…", *lines[-5:]]
    kind = "cdl" if code.example.startswith("netcdf ") else "text"
    if not lines[0].startswith(("$ ", "== ")):
        return _fenced(kind, lines)
    commands = [line for line in lines if line.startswith("$ ")]
    files = "\n".join(lines[len(commands) :])
    if not files.startswith("== "):
        return _fenced("console", [*commands[:-1], *_with_input(commands[-1], lines[len(commands) :])])
    text = _fenced("console", commands) if commands else ""
    for name, _, content in (each.partition("\n") for each in re.split(r"^== ", files, flags=re.MULTILINE)[1:]):
        text += f"\n`{name}`\n\n{_file(name, content)}"
    return text


def _file(name: str, content: str) -> str:
    """Return the content of a file of an example, JSON as it is read best."""
    kind = "cdl" if name.endswith(".cdl") else "json" if content.lstrip().startswith(("{", "[")) else "text"
    with suppress(ValueError):
        content = pretty(json.loads(content))
    return _fenced(kind, content.rstrip().splitlines())


def _with_input(command: str, given: list[str]) -> list[str]:
    """Return a command as a here-document, if anything is given on standard input."""
    return [f"{command} <<'EOF'", *given, "EOF"] if given else [command]


def _fenced(kind: str, lines: list[str]) -> str:
    return f"```{kind}\n" + "".join(f"{line}\n" for line in lines) + "```\n"
