"""Diagnostics as one SARIF document (OASIS SARIF 2.1.0), for code scanners and editors.

Comes in: diagnostics of one command, source by source. Goes out: one JSON document with one run, ASCII alone.
Invariants: the document is valid with no findings at all; it names no machine, time or folder that the sources'
names do not name; no source is kept alive for it. Section numbers are those of the standard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from nczarr import __version__
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label
from nczarr.source import Source

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Log:
    """The run of one command: takes findings as they come, and is written once, at the end."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._dropped = 0

    def add(self, diagnostics: Iterable[Diagnostic], dropped: int = 0) -> None:
        """Take what was found in one source; `dropped`: how many more there were that nobody kept."""
        self._results += map(_result, diagnostics)
        self._dropped += dropped

    def text(self, status: int) -> str:
        """The document, with the exit status of the command. Its order depends on the findings alone."""
        rules = sorted({result["ruleId"] for result in self._results})
        index = {name: number for number, name in enumerate(rules)}
        run = {
            "tool": {"driver": {"name": "nczarr", "version": __version__, "rules": list(map(_rule, rules))}},
            "invocations": [self._invocation(status)],
            "columnKind": "unicodeCodePoints",
            "newlineSequences": ["\r\n", "\r", "\n"],
            "results": [{**result, "ruleIndex": index[result["ruleId"]]} for result in self._results],
        }
        return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, allow_nan=False) + "\n"

    def _invocation(self, status: int) -> dict[str, Any]:
        """How the run ended: it succeeded as a run if it could judge its input, whatever the judgement."""
        crashed = any(result["ruleId"] == "internal-error" for result in self._results)
        made: dict[str, Any] = {"executionSuccessful": status in (0, 1) and not crashed, "exitCode": status}
        if self._dropped:
            text = f"{self._dropped} more findings were not kept"
            made["toolExecutionNotifications"] = [{"level": "warning", "message": _message(text)}]
        return made


def _rule(name: str) -> dict[str, Any]:
    """A code's page as a reportingDescriptor (3.49); a format of others may have codes without one."""
    code = CODES.get(name)
    if code is None:
        return {"id": name}
    return {
        "id": name,
        "shortDescription": _message(code.summary),
        "fullDescription": _message(code.meaning),
        "help": _message(f"{code.remedy} `nczarr explain {name}` shows an example."),
        "defaultConfiguration": {"level": str(code.severity)},
    }


def _result(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as a result (3.27): its message in the first line, notes and helps in lines of their own."""
    lines = [diagnostic.message]
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines += [f"help: {help_}" for help_ in diagnostic.helps]
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": str(diagnostic.severity),
        "message": _message("\n".join(lines)),
        "locations": _locations([diagnostic.primary]),
    }
    related = _locations(diagnostic.others)
    if related:
        result["relatedLocations"] = [{"id": number, **location} for number, location in enumerate(related, 1)]
    properties = {"notes": diagnostic.notes, "helps": diagnostic.helps}
    if any(properties.values()):
        result["properties"] = {name: [_clean(text) for text in texts] for name, texts in properties.items() if texts}
    return result


def _locations(labels: Iterable[Label]) -> list[dict[str, Any]]:
    return [location for location in map(_location, labels) if location]


def _location(label: Label) -> dict[str, Any]:
    """A label as a location (3.28): physical in a text or binary file, logical in a store; empty if nowhere."""
    location: dict[str, Any] = {}
    source = label.span.source
    if source is not None:
        name = f"{source.name}/{label.key}" if label.key is not None and label.has_lines else source.name
        place: dict[str, Any] = {"artifactLocation": {"uri": uri(name)}}
        if label.offset is not None:
            place["region"] = {"byteOffset": label.offset}
        elif label.has_lines:
            place["region"] = _region(source, label)
        location["physicalLocation"] = place
    if label.key is not None:
        location["logicalLocations"] = [_member(label.key, label.pointer)]
    if location and label.text:
        location["message"] = _message(label.text)
    return location


def _region(source: Source, label: Label) -> dict[str, int]:
    """Where a span starts and the place just behind it (3.30); lines and columns from 1."""
    line, column = source.position(label.span.start)
    end_line, end_column = source.position(max(label.span.start, label.span.end))
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _member(key: str, pointer: str | None) -> dict[str, str]:
    """A key of a store, or a member of the JSON document there (3.33)."""
    if not pointer:
        return {"name": _clean(key), "fullyQualifiedName": _clean(key), "kind": "resource"}
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return {"name": _clean(name), "fullyQualifiedName": _clean(f"{key}#{pointer}"), "kind": "value"}


def _message(text: str) -> dict[str, str]:
    """A message (3.11): braces are doubled, because single ones enclose a placeholder (3.11.5); nothing is a link."""
    text = _LINK.sub(r"\\[", _clean(text))
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _clean(text: str) -> str:
    """Bytes that are no UTF-8 stand in our texts as surrogates, which no other reader of JSON need take."""
    return _SURROGATE.sub("\ufffd", text)


def uri(name: str) -> str:
    """The name of a source as a URI reference: relative as given, `file://` if absolute, a URL as it is."""
    if _URL.match(name):
        return quote(name, safe="%/:?#[]@!$&'()*+,;=", errors="surrogateescape")
    path = quote(name, errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
