"""Instructions of an edit: `--set`, `--delete` and `--rename`, as texts and as values of Python; request and result.

    --set     [TYPE ]PATH@NAME=VALUES   values as CDL writes them: "K"   0.f, 100.f   1b
    --delete  PATH@NAME   PATH   var:PATH   dim:PATH   type:PATH
    --rename  PATH=NAME   PATH@NAME=NAME   with the same prefixes

`@NAME` alone is an attribute of the root. In a path a backslash stands before
`/`, `@`, `=`, a blank or another backslash that belongs to a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Constant
from nczarr.ast.renaming import NodeKind
from nczarr.diagnostics.report import Diagnostic, Label, Report, Source, Span
from nczarr.options import Options
from nczarr.plugins.edit.header_changes import HeaderChange


class AttributeAssignment(NamedTuple):
    """Value for an attribute of a group or variable."""

    owner: str
    """FQN, or the simple name of a variable."""
    name: str
    value: Constant | None
    """The value; None: the text has it."""
    type: str | None = None
    """Type that the text states; None: that of the values."""
    span: Span | None = None
    """Place of the values in the text."""


class Deletion(NamedTuple):
    """Removal of an attribute or a node."""

    kind: NodeKind | None
    """Kind of the node; None: what has the path."""
    path: str
    """FQN, or the simple name of a variable."""
    attribute: str | None
    """Attribute to remove; None: the node itself."""
    span: Span


class NameAssignment(NamedTuple):
    """New name of an attribute or a node."""

    kind: NodeKind | None
    """Kind of the node; None: what has the path, a variable and its dimension."""
    path: str
    """FQN, or the simple name of a variable."""
    attribute: str | None
    """Attribute to rename; None: the node itself."""
    new: str
    """New simple name."""
    span: Span


Instruction = AttributeAssignment | Deletion | NameAssignment

_PATH = r"(?:[^\\@=]|\\.)*"
_KINDS: Mapping[str, NodeKind] = {"var": "variable", "dim": "dimension", "type": "type", "group": "group"}
_KIND = rf"(?:(?P<kind>{'|'.join(_KINDS)}):(?=[/\w]))?"
_SET = re.compile(
    rf"\s*(?:(?P<type>(?:[^\s\\@=]|\\.)+)\s+)?(?P<path>{_PATH}?)@(?P<name>{_PATH}?)\s*=(?P<values>.*)", re.DOTALL
)
_DELETE = re.compile(rf"{_KIND}(?P<path>{_PATH})(?:@(?P<name>{_PATH}))?", re.DOTALL)
_RENAME = re.compile(rf"{_KIND}(?P<path>{_PATH})(?:@(?P<name>{_PATH}))?=(?P<new>{_PATH}(?:@{_PATH})?)", re.DOTALL)

FORMS = {
    "--set": "`--set '/temp@units=\"K\"'`, or `--set '@title=\"Ocean\"'` for the root",
    "--delete": "`--delete '/temp@comment'` for an attribute, `--delete /temp` for a variable",
    "--rename": "`--rename '/temp=temperature'`, or `--rename '/temp@unit=units'` for an attribute",
}
"""Examples by option."""


def parse_instruction(option: str, text: str, report: Report) -> Instruction | None:
    """Return an instruction from the text of an option; None after a bad-edit."""
    source = Source(option, text.encode("utf-8", "surrogateescape"))
    whole = Span(source, 0, len(source.data))
    match = {"--set": _SET, "--delete": _DELETE, "--rename": _RENAME}[option].fullmatch(text)
    try:
        if match is None:
            raise ValueError("the parts of the instruction are not recognized")
        path, name = _parse_path(match["path"]), match["name"]
        attribute = None if name is None else _parse_name(name)
        if attribute == "" or (attribute is None and path == "/"):
            raise ValueError("a name is missing")
        if option == "--set":
            start = len(text[: match.start("values")].encode("utf-8", "surrogateescape"))
            place = Span(source, start, len(source.data))
            return AttributeAssignment(path, attribute or "", None, _parse_type(match["type"]), place)
        kind = _KINDS.get(match["kind"] or "")
        if option == "--delete":
            return Deletion(kind, path, attribute, whole)
        return NameAssignment(kind, path, attribute, _parse_new_name(match["new"], path, attribute), whole)
    except ValueError as error:
        report.error("bad-edit", f"`{option} {text}`: {error}", whole, helps=[f"write {FORMS[option]}"])
        return None


def _parse_type(word: str | None) -> str | None:
    return word if word is None or word in ATOMIC else _parse_path(word)


def _parse_path(text: str) -> str:
    """Return the FQN of a path, `/` for an empty one, or a simple name. Raises ValueError."""
    text = _unescape(text.strip())
    if not text.startswith("/"):
        return names.unescape_fqn_part(text) if text else "/"
    parts = names.split(text)
    if not all(parts) and parts:
        raise ValueError("a name of the path is empty")
    return names.fqn(parts)


def _parse_name(text: str) -> str:
    r"""Return a simple name, in which `\@` and `\=` are characters. Raises ValueError for other escapes."""
    return names.normal(names.unescape_fqn_part(_unescape(text.strip())))


def _unescape(text: str) -> str:
    r"""Return a text without the escapes that only instructions have: `\@`, `\=`."""
    return re.sub(r"\\([@=\\/ ])", lambda match: match[1] if match[1] in "@=" else match[0], text)


def _parse_new_name(text: str, path: str, attribute: str | None) -> str:
    """Return the new simple name; a path must lead to the same group or owner. Raises ValueError."""
    owner, at, name = text.rpartition("@") if attribute is not None and "@" in text else ("", "", text)
    if at and _parse_path(owner) != path:
        raise ValueError("an attribute stays with its owner: write only its new name")
    if not name.strip().startswith("/"):
        new = _parse_name(name)
    else:
        target = _parse_path(name)
        if attribute is not None or target == "/" or names.parent(target) != names.parent(_absolute(path)):
            raise ValueError("a node stays in its group: write only its new name")
        new = names.last(target)
    if not new:
        raise ValueError("a name is missing")
    return new


def _absolute(path: str) -> str:
    return path if path.startswith("/") else names.join("/", path)


def values_text(assignment: AttributeAssignment, types: str) -> tuple[bytes, int]:
    """Return CDL that has the values of an assignment as those of a global attribute, and their offset in it.

    `types`: CDL of the declared types, without its closing brace.
    """
    assert assignment.span is not None
    assert assignment.span.source is not None
    source = assignment.span.source
    written = bytes(source.data[assignment.span.start : assignment.span.end])
    declared = assignment.type or ""
    if declared.startswith("/"):
        declared = "/" + "/".join(map(names.escape_cdl, names.split(declared)))
    elif declared not in ATOMIC:
        declared = names.escape_cdl(declared)
    head = f"{types}\n{declared} :{names.escape_cdl(assignment.name)} =".encode()
    return head + written + b" ;\n}\n", len(head)


def report_moved_diagnostics(
    diagnostics: list[Diagnostic], assignment: AttributeAssignment, offset: int, report: Report
) -> None:
    """Report diagnostics of `values_text` at their places in the instruction."""
    span = assignment.span
    assert span is not None

    def move(label: Label) -> Label:
        """Shift a label by the offset of its text, into the span of the whole instruction."""
        if label.span.source is None:
            return label
        begin, end = (
            span.start + min(max(0, at - offset), span.end - span.start) for at in (label.span.start, label.span.end)
        )
        return label._replace(span=Span(span.source, begin, end))

    for diagnostic in diagnostics:
        others = tuple(map(move, diagnostic.others))
        report.add(diagnostic._replace(primary=move(diagnostic.primary), others=others))


class EditRequest(NamedTuple):
    """Changes of the header of a dataset in its place."""

    target: str
    """Path or URL."""
    instructions: tuple[Instruction, ...] = ()
    """Attributes to set, names to change, things to remove."""
    header: Source | None = None
    """CDL text of the new header; None: the present one with the instructions."""
    merge: tuple[str, str] | None = None
    """Paths of the common base and of another state, whose changes of the header are applied; excludes the others."""
    base: str | None = None
    """Fingerprint of the header from which `header` was made; None: not compared."""
    undo: bytes | None = None
    """Content of an undo file, whose edit is reversed; excludes the others."""
    undo_file: str | None = None
    """Path of the undo file to write; None: a new one beside the target."""
    rehearsal: bool = False
    """Only show the changes."""
    options: Options = Options()


class EditResult(NamedTuple):
    """Result of an edit."""

    target: str
    """Path or URL."""
    changes: tuple[HeaderChange, ...]
    """Changes of the header; empty for a reversed edit."""
    lines: tuple[str, ...]
    """Changes, and what is written for them, for people."""
    undo_file: str | None = None
    """Path of the undo file; None: nothing was written, or an edit was reversed."""
    recovered: bool = False
    """True if an interrupted edit was reversed before."""
