"""Reader of the tree's JSON form: from bytes to a dataset, or `bad-ast` with a JSON pointer for every fault.

The models validate the tree. This module limits the depth before they recurse,
rejects repeated members, and checks that constants of user types have valid
data.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from nczarr import names
from nczarr.arrays.values.value_lists import find_problem
from nczarr.ast import ATOMIC, Attribute, Dataset, Group
from nczarr.ast.json import MAX_JSON_DEPTH, AstDocument
from nczarr.ast.types import MAX_DEPTH, sound_types
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span
from nczarr.syntax.json.positions import pointer
from nczarr.syntax.json.tolerant import reason

_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def read(source: Source, report: Report) -> Dataset | None:
    """Return the dataset of a JSON text with FQNs; None after an error.

    Reports `bad-ast`, `invalid-utf8`, `too-deep-nesting`, `empty-input`.
    """
    data = bytes(source.data).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        report.error("empty-input", "the text does not contain a dataset", Span(source, 0, 0))
        return None
    text = _decode(source, data, report)
    if text is None or _too_deep(source, data, report):
        return None
    parsed = _parse(source, text, report)
    if parsed is None:
        return None
    try:
        # The models are strict: only their JSON mode takes a list for a tuple.
        dataset = AstDocument.model_validate_json(text).dataset
    except ValidationError as fault:
        for error in fault.errors(include_url=False, include_input=False):
            _bad(source, report, pointer_of(error["loc"], parsed), _message(error))
        return None
    return dataset if _check(source, dataset, report) else None


def pointer_of(location: tuple[int | str, ...], document: Any) -> str:
    """Return the JSON pointer of a validation location, without tags of unions, which are not in the document."""
    steps: list[str | int] = []
    value = document
    for number, step in enumerate(location):
        members = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        if step in members:
            value = value[step]
        elif number < len(location) - 1 or not isinstance(value, dict):  # the last step may be a member that is missing
            continue
        steps.append(step)
    return pointer(*steps)


def _bad(source: Source, report: Report, where: str, message: str, code: str = "bad-ast") -> None:
    place = Label(Span(source, 0, 0), key=source.name, pointer=where)
    report.add(Diagnostic(code, Severity.ERROR, message, place))


def _message(error: Any) -> str:
    """Return a validation error in one line."""
    text = str(error["msg"]).removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}".split("\n", 1)[0]


def _decode(source: Source, data: bytes, report: Report) -> str | None:
    """Decode UTF-8; None after a reported error. `data` is the source without a byte order mark."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        at = len(source.data) - len(data) + fault.start
        report.error("invalid-utf8", f"byte 0x{data[fault.start]:02X} is not UTF-8", Span(source, at, at + 1))
        return None


def _too_deep(source: Source, data: bytes, report: Report) -> bool:
    """Return whether brackets nest deeper than later readers can recurse."""
    depth = 0
    for match in _NESTING.finditer(data):
        opens = match.group() in (b"[", b"{")
        depth += opens - (match.group() in (b"]", b"}"))
        if depth > MAX_JSON_DEPTH:
            where = Span(source, match.start(), match.end())
            report.error("too-deep-nesting", f"the document is nested more than {MAX_JSON_DEPTH} deep", where)
            return True
    return False


def _parse(source: Source, text: str, report: Report) -> Any | None:
    """Return the document as plain values; None after a reported error (no JSON, repeated members)."""
    doubled: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            seen: set[str] = set()
            doubled.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return members

    try:
        parsed = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as fault:
        at = len(text[: fault.pos].encode("utf-8"))
        report.error("bad-ast", f"not JSON: {reason(fault)}", Span(source, at, at + 1))
        return None
    except ValueError:  # Python refuses integers of thousands of digits
        report.error("bad-ast", "a number has thousands of digits", Span(source, 0, 0))
        return None
    for key in doubled:
        _bad(source, report, "", f"member `{key}` occurs twice in one object")
    if not isinstance(parsed, dict):
        _bad(source, report, "", "the document is not a JSON object")
        return None
    return None if doubled else parsed


def _check(source: Source, dataset: Dataset, report: Report) -> bool:
    """Check the depth of groups, and constants of user types."""
    before = report.errors
    groups = list(_groups(dataset, "/", "/dataset", 0))
    deep = next((where for _, _, where, depth in groups if depth > MAX_DEPTH), None)
    if deep is not None:
        _bad(source, report, deep, f"groups are nested more than {MAX_DEPTH} deep", "too-deep-nesting")
        return False
    types = sound_types(
        {names.join(path, declared.name): declared for path, group, _, _ in groups for declared in group.types}
    )
    for _, group, where, _ in groups:
        for attribute, inside in _attributes(group, where):
            name = attribute.value.type
            # Undeclared and circular types are the passes' to report.
            text = find_problem(attribute.value, types) if name in ATOMIC or name in types else None
            if text is not None:
                _bad(source, report, f"{inside}/value", text)
    return report.errors == before


def _groups(group: Group, path: str, where: str, depth: int) -> Iterator[tuple[str, Group, str, int]]:
    yield path, group, where, depth
    for number, child in enumerate(group.groups):
        yield from _groups(child, names.join(path, child.name), f"{where}/groups/{number}", depth + 1)


def _attributes(group: Group, where: str) -> Iterator[tuple[Attribute, str]]:
    for number, attribute in enumerate(group.attributes):
        yield attribute, f"{where}/attributes/{number}"
    for at, variable in enumerate(group.variables):
        for number, attribute in enumerate(variable.attributes):
            yield attribute, f"{where}/variables/{at}/attributes/{number}"
