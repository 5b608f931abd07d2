"""Edits of DMR++ documents: attributes, names and removals. The rest of the text stays as it is.

References to other names follow: dimensions of variables, maps, and types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.parsers import expat

from nczarr import names
from nczarr.ast import Attribute
from nczarr.ast.renaming import NodeKind
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show
from nczarr.plugins.edit.header_changes import AttributeChange, AttributeOrder, HeaderEdit, NodeRemoval, NodeRename
from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch, PreparedFilePatch
from nczarr.plugins.opendap.common.dmr_writer import DmrWriter, Projection, attribute_lines
from nczarr.plugins.opendap.common.words import OURS, VARIABLES, dap4_name, tag
from nczarr.stores.url import is_remote

_START_TAG = re.compile(rb"<[^>\"']*+(?:\"[^\"]*+\"[^>\"']*+|'[^']*+'[^>\"']*)*>")


class ElementPlace:
    """An element with the bytes that it takes. Names are as the document spells them."""

    __slots__ = ("attributes", "children", "end", "inner_end", "inner_start", "start", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], start: int, inner_start: int) -> None:
        self.tag, self.attributes, self.start, self.inner_start = tag, attributes, start, inner_start
        self.inner_end = self.end = inner_start
        self.children: list[ElementPlace] = []

    def walk(self) -> Iterator[ElementPlace]:
        """Yield the element and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def locate_elements(data: bytes) -> ElementPlace | None:
    """Return the root element of a well-formed document; None in an encoding beyond ASCII's relatives."""
    stack: list[ElementPlace] = []
    roots: list[ElementPlace] = []
    encodings: list[str | None] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        """Append an element, with the place of its start tag, to the children of the open one."""
        at = parser.CurrentByteIndex
        match = _START_TAG.match(data, at)
        assert match is not None
        element = ElementPlace(tag, attributes, at, match.end())
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        element = stack.pop()
        at = parser.CurrentByteIndex
        if data[at : at + 2] == b"</":  # an empty element ends with its start tag
            element.inner_end, element.end = at, data.index(b">", at) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.XmlDeclHandler = lambda version, encoding, standalone: encodings.append(encoding)
    parser.Parse(data, True)
    is_known = all(encoding is None or encoding.lower() in _ENCODINGS for encoding in encodings)
    return roots[0] if is_known else None


_ENCODINGS = ("utf-8", "us-ascii", "iso-8859-1")
"""Encodings in which ASCII text has its own bytes."""


def encode_text(text: str) -> bytes:
    """Return a part of a document in any of these encodings: other characters are references."""
    return text.encode("ascii", "xmlcharrefreplace")


def rename_in_tag(data: bytes, element: ElementPlace, name: str, value: str) -> tuple[int, int, bytes]:
    """Return the change of an attribute in a start tag: first byte, byte after the last, new bytes."""
    text = data[element.start : element.inner_start]
    match = re.search(rb"(?<=\s)" + re.escape(name.encode()) + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", text)
    assert match is not None
    start, end = match.span(1)
    return element.start + start, element.start + end, encode_text(f'"{value}"')


FILL = "_FillValue"

TextChange = tuple[int, int, bytes]
"""First byte, byte after the last, new bytes."""

_KINDS: Mapping[str, NodeKind] = {
    "Dimension": "dimension",
    "Group": "group",
    **dict.fromkeys(sorted(VARIABLES), "variable"),
}
"""Kinds of nodes by tag."""

_REFERENCES: tuple[tuple[str, str, NodeKind], ...] = (
    ("Dim", "name", "dimension"),
    ("Map", "name", "variable"),
    ("Enum", "enum", "type"),
    ("", "nczarr:type", "type"),
)
"""Attributes of elements that name a node: tag (empty: any), attribute, kind of the node."""


class ChangeRefusedError(Exception):
    """A change that the document cannot have by a change of its text."""


class _AttributeTexts(DmrWriter):
    """Writer of attributes."""

    dialect = "dmrpp"
    unlimited = ("nczarr__unlimited", "true")


def edit(work: HeaderEdit, report: Report) -> PreparedFilePatch | None:
    """Return the changes of a document's bytes; None after an error. Reports data-edit, uneditable-target."""
    assert isinstance(work.source, Source)
    if is_remote(work.target):
        text = f"`{show(work.target)}` is a remote file, which cannot be edited"
        report.error("uneditable-target", text, helps=["edit a local copy"])
        return None
    data = bytes(work.source.data[:])
    try:
        new = _DocumentEditor(work, data).change()
    except ChangeRefusedError as refusal:
        text = f"`{show(work.target)}` cannot be edited in its place: {refusal}"
        report.error("data-edit", text, helps=["write a new document of the edited file"])
        return None
    first = next((at for at, pair in enumerate(zip(data, new, strict=False)) if pair[0] != pair[1]), None)
    first = min(len(data), len(new)) if first is None else first
    patches = (BytePatch(first, data[first:], new[first:]),) if data != new else ()
    return PreparedFilePatch(work.source.path, FilePatch(patches, len(data), len(new)))


class _DocumentEditor:
    """Editor of one document."""

    def __init__(self, work: HeaderEdit, data: bytes) -> None:
        self.work = work
        self.data = data
        self.before, self.after = work.before, work.after
        self.changes: list[TextChange] = []
        self.places: dict[tuple[NodeKind, str], ElementPlace] = {}
        self.writer = _AttributeTexts(work.after, Projection({}, {}))

    def change(self) -> bytes:
        """Return the changed text. Raises ChangeRefusedError."""
        root = locate_elements(self.data)
        if root is None or root.tag != "Dataset":
            raise ChangeRefusedError("its encoding or namespaces are unusual")
        self.places["group", "/"] = root
        self._locate(root, "/")
        owners: dict[str, None] = {}
        for change in self.work.changes:
            match change:
                case AttributeChange(owner, name) if name == FILL and owner in self.before.variables:
                    raise ChangeRefusedError(f"`{name}` of `{owner}` belongs to its chunks")
                case AttributeChange(owner) | AttributeOrder(owner):
                    owners[owner] = None
                case NodeRemoval(kind, path):
                    self._remove(kind, path)
                case NodeRename(kind, path, new_path) if kind != "type":
                    element = self._find(kind, path)
                    self._require_own_type(element, path)
                    self._change_tag(element, "name", names.last(new_path))
                case _:
                    raise ChangeRefusedError("types, additions and lengths of dimensions are parts of the layout")
        for owner in owners:
            self._change_attributes(owner)
        self._follow_names(root)
        return self._apply(root)

    def _locate(self, element: ElementPlace, path: str) -> None:
        """Record the elements of the nodes of a group; of several with one name the first."""
        for child in element.children:
            kind = _KINDS.get(child.tag)
            if kind is None:
                continue
            place = names.join(path, child.attributes.get("name", ""))
            self.places.setdefault((kind, place), child)
            if kind == "group":
                self._locate(child, place)

    def _find(self, kind: NodeKind, path: str) -> ElementPlace:
        element = self.places.get((kind, path))
        if element is None:
            raise ChangeRefusedError(f"`{path}` is not an element of its own")
        return element

    def _require_own_type(self, element: ElementPlace, path: str) -> None:
        """Raise ChangeRefusedError for a variable, or one below a group, from whose name that of its type follows."""
        for inner in element.walk():
            has_type = inner.tag not in ("Sequence", "Structure", "Opaque") or "nczarr:type" in inner.attributes
            if inner.tag == "Sequence" or not has_type:
                raise ChangeRefusedError(f"the type of `{path}` has its name from the variable")

    def _change_tag(self, element: ElementPlace, name: str, value: str) -> None:
        escaped = tag("x", v=value)[len('<x v="') : -len('"/>')]
        self.changes.append(rename_in_tag(self.data, element, name, escaped))

    def _remove(self, kind: NodeKind, path: str) -> None:
        """Remove an element, with the white space before it."""
        element = self._find(kind, path)
        self._require_own_type(element, path)
        self.changes.append((self._line_start(element), element.end, b""))

    def _line_start(self, element: ElementPlace) -> int:
        """Return the end of the text before the white space before an element."""
        return len(self.data[: element.start].rstrip())

    # ---- attributes ----------------------------------------------------------------------------------------------
    def _change_attributes(self, owner: str) -> None:
        """Write the attributes of one owner; those that stay keep their text."""
        kind: NodeKind = "variable" if owner in self.before.variables else "group"
        element = self._find(kind, owner)
        new_path = self.work.new_path(kind, owner)
        table: Mapping[str, Any] = self.after.variables if kind == "variable" else self.after.groups
        old_table: Mapping[str, Any] = self.before.variables if kind == "variable" else self.before.groups
        old = {attribute.name: attribute.value for attribute in old_table[owner].attributes}
        attribute_elements = [child for child in element.children if child.tag == "Attribute"]
        elements_by_name = {child.attributes.get("name", ""): child for child in attribute_elements}
        if any(name not in elements_by_name for name in old):
            raise ChangeRefusedError(f"attributes of `{owner}` are in containers")
        indent = self._indent(element, attribute_elements)
        lines = [
            self._attribute_text(
                attribute, new_path, indent, elements_by_name if old.get(attribute.name) == attribute.value else {}
            )
            for attribute in table[new_path].attributes
        ]
        lines += [self._element_bytes(child) for name, child in elements_by_name.items() if name not in old]
        for child in attribute_elements:
            self.changes.append((self._line_start(child), child.end, b""))
        text = b"".join(b"\n" + indent.encode() + line for line in lines)
        if element.inner_end == element.inner_start and element.end == element.inner_start:  # an empty element
            start_tag = self.data[element.start : element.inner_start]
            end = f"</{element.tag}>".encode()
            self.changes.append(
                (element.inner_start - (len(start_tag) - start_tag.rindex(b"/")), element.end, b">" + text + end)
            )
            return
        at = self._line_start(attribute_elements[0]) if attribute_elements else self._place_of_first(element)
        self.changes.append((at, at, text))

    def _indent(self, element: ElementPlace, present: list[ElementPlace]) -> str:
        """Return the white space before the attributes of an element."""
        sample = (present or element.children or [element])[0]
        line = self.data[self._line_start(sample) : sample.start].decode()
        return line.rpartition("\n")[2] + ("" if present or element.children else "    ")

    def _place_of_first(self, element: ElementPlace) -> int:
        """Return where the first attribute of an element belongs: behind dimensions and members, before chunks."""
        before = [child for child in element.children if child.tag in ("Dim", "Dimension", "Enumeration")]
        if element.tag in ("Group", "Dataset"):
            before += [child for child in element.children if child.tag in VARIABLES]
        return max((child.end for child in before), default=element.inner_start)

    def _element_bytes(self, element: ElementPlace) -> bytes:
        return self.data[element.start : element.end]

    def _attribute_text(
        self, attribute: Attribute, owner: str, indent: str, unchanged_elements: Mapping[str, ElementPlace]
    ) -> bytes:
        """Return an attribute as XML: its element in the document if it is unchanged, else a new one."""
        if attribute.name in unchanged_elements:
            return self._element_bytes(unchanged_elements[attribute.name])
        written = self.writer.attribute(attribute, owner)
        if written is None:
            raise ChangeRefusedError(f"`{attribute.name}` has the type `{attribute.value.type}`")
        return encode_text("\n".join(attribute_lines(attribute.name, written, indent)).strip())

    # ---- names ---------------------------------------------------------------------------------------------------
    def _follow_names(self, root: ElementPlace) -> None:
        """Change references to nodes with other names, and remove maps to removed variables."""
        renamed = {
            kind: {dap4_name(old): dap4_name(new) for old, new in fqns.items()}
            for kind, fqns in self.work.renamed.items()
        }
        gone = {
            dap4_name(path)
            for path in self.before.variables
            if self.work.new_path("variable", path) not in self.after.variables
        }
        for element in root.walk():
            if element.tag == "Map" and element.attributes.get("name") in gone:
                self.changes.append((self._line_start(element), element.end, b""))
                continue
            for name, attribute, kind in _REFERENCES:
                if name in ("", element.tag) and element.attributes.get(attribute, "") in renamed[kind]:
                    self._change_tag(element, attribute, renamed[kind][element.attributes[attribute]])

    def _apply(self, root: ElementPlace) -> bytes:
        """Return the text with all changes; those within a removed element are part of its removal."""
        pieces, at = [], 0
        for start, end, new in sorted(self.changes, key=lambda change: (change[0], change[1] - change[0] != 0)):
            if start < at:
                continue
            pieces += [self.data[at:start], new]
            at = max(at, end)
        text = b"".join([*pieces, self.data[at:]])
        if b"nczarr:" in text and "xmlns:nczarr" not in root.attributes:
            end = root.start + len(b"<Dataset")
            text = text[:end] + f' xmlns:nczarr="{OURS}"'.encode() + text[end:]
        return text
