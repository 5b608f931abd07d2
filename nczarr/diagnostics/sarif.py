"""Diagnostics as a SARIF document (OASIS SARIF 2.1.0), for code scanners and editors.

The document is ASCII with one run. Invariants: it is valid without findings; it
contains no machine names, times or folders beyond the sources' names; it keeps
no source alive. Section numbers refer to the standard.
"""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from nczarr import __version__
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label, Source

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Log:
    """SARIF run of one command; collects findings, written once at the end."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._dropped = 0

    def add(self, diagnostics: Iterable[Diagnostic], dropped: int = 0, subject: str = "") -> None:
        """Add the findings of one task; `dropped`: number of findings that were not stored.

        `subject`: source of the task, for findings without a file. GitHub takes no document with such a finding.
        """
        self._results += [_result(diagnostic, subject) for diagnostic in diagnostics]
        self._dropped += dropped

    def text(self, status: int) -> str:
        """Return the document with the exit status of the command. The order depends only on the findings."""
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
        """Return the invocation; it succeeded if the input could be judged, whatever the result."""
        crashed = any(result["ruleId"] == "internal-error" for result in self._results)
        made: dict[str, Any] = {"executionSuccessful": status in (0, 1) and not crashed, "exitCode": status}
        if self._dropped:
            text = f"{self._dropped} more findings were dropped"
            made["toolExecutionNotifications"] = [{"level": "warning", "message": _message(text)}]
        return made


def _rule(name: str) -> dict[str, Any]:
    """Return a code's page as reportingDescriptor (3.49); codes of third-party formats may lack one."""
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


def _result(diagnostic: Diagnostic, subject: str) -> dict[str, Any]:
    """Return a diagnostic as result (3.27): message, then notes and helps on further lines."""
    locations = _locations([diagnostic.primary])
    if subject and not any("physicalLocation" in location for location in locations):
        place = {"physicalLocation": {"artifactLocation": {"uri": uri(subject)}}}
        locations = [{**place, **location} for location in locations] or [place]
    lines = [diagnostic.message]
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines += [f"help: {help_}" for help_ in diagnostic.helps]
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": str(diagnostic.severity),
        "message": _message("\n".join(lines)),
        "locations": locations,
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
    """Return a label as location (3.28): physical in a file, logical in a store; empty without position."""
    location: dict[str, Any] = {}
    source = label.span.source
    if source is not None:
        name = f"{source.name}/{label.key}" if label.key is not None and label.has_lines else source.name
        place: dict[str, Any] = {"artifactLocation": {"uri": uri(name)}}
        if label.offset is not None:
            place["region"] = {"byteOffset": label.offset}
        elif label.has_lines:
            place["region"] = _describe_region(source, label)
        location["physicalLocation"] = place
    if label.key is not None:
        location["logicalLocations"] = [_member(label.key, label.pointer)]
    if location and label.text:
        location["message"] = _message(label.text)
    return location


def _describe_region(source: Source, label: Label) -> dict[str, int]:
    """Return a span as region (3.30); lines and columns count from 1."""
    line, column = source.position(label.span.start)
    end_line, end_column = source.position(max(label.span.start, label.span.end))
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _member(key: str, pointer: str | None) -> dict[str, str]:
    """Return a store key, or a member of its JSON document, as logical location (3.33)."""
    if not pointer:
        return {"name": _clean(key), "fullyQualifiedName": _clean(key), "kind": "resource"}
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return {"name": _clean(name), "fullyQualifiedName": _clean(f"{key}#{pointer}"), "kind": "value"}


def _message(text: str) -> dict[str, str]:
    """Return a message (3.11). Braces are doubled, because single ones enclose placeholders (3.11.5)."""
    text = _LINK.sub(r"\\[", _clean(text))
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _clean(text: str) -> str:
    """Return a text with surrogates replaced, which other JSON readers may refuse."""
    return _SURROGATE.sub("\ufffd", text)


def uri(name: str) -> str:
    """Return a source name as URI reference: relative as given, `file://` if absolute, URLs unchanged."""
    if _URL.match(name):
        return quote(name, safe="%/:?#[]@!$&'()*+,;=", errors="surrogateescape")
    path = quote(name, errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
