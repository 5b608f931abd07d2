"""New names that a document gives by `orgName`, in the whole tree before anything else changes."""

from __future__ import annotations

from nczarr import names
from nczarr.ast import Group
from nczarr.ast.renaming import NodeKind, complete_renames, rename_tree
from nczarr.diagnostics.report import suggest
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.ncml.vocabulary import NcmlDocument
from nczarr.semantics.checked import Unchecked

_KINDS: dict[str, tuple[NodeKind, str]] = {
    "dimension": ("dimension", "dimensions"),
    "variable": ("variable", "variables"),
    "group": ("group", "groups"),
}
"""Kind of node, and member of a group, by the names of elements."""

Direct = dict[NodeKind, dict[str, str]]


def rename_nodes(draft: Unchecked, element: XmlElement, document: NcmlDocument) -> Unchecked:
    """Return a tree with the new names of a dataset element. Reports unmatched-ncml, bad-ncml."""
    before = document.report.errors
    direct: Direct = {"dimension": {}, "variable": {}, "group": {}}
    _collect(element, draft.dataset, "/", direct, document)
    if document.report.errors > before or not any(direct.values()):
        return draft
    renamed = complete_renames(draft.dataset, direct)
    variables = renamed["variable"]
    parts = {variables.get(path, path): arrays for path, arrays in draft.parts.items()}
    return Unchecked(rename_tree(draft.dataset, renamed), parts=parts)


def _collect(element: XmlElement, group: Group, path: str, direct: Direct, document: NcmlDocument) -> None:
    """Collect the new names in a group and below it."""
    new_names: dict[tuple[str, str], XmlElement] = {}
    for child in element.children:
        if child.tag not in _KINDS:
            continue
        kind, member = _KINDS[child.tag]
        nodes = {node.name: node for node in getattr(group, member)}
        name = names.normal(child.attributes["name"])
        old = names.normal(child.attributes.get("orgName") or name)
        if child.tag == "group" and old in nodes:
            _collect(child, nodes[old], names.join(path, old), direct, document)
        if old == name:
            continue
        span = document.span(child)
        if old not in nodes:
            helps = suggest(old, nodes)
            text = f"there is no {child.tag} `{names.join(path, old)}` to rename"
            document.report.error("unmatched-ncml", text, span, helps=helps)
        elif not names.is_segment(name) or names.join(path, old) in direct[kind]:
            text = f"`{old}` cannot be renamed to `{name[:80]}`: the name is not allowed, or it has another already"
            document.report.error("bad-ncml", text, span)
        else:
            direct[kind][names.join(path, old)] = name
            new_names[child.tag, name] = child
    for (tag, name), child in new_names.items():
        kind, member = _KINDS[tag]
        after = [direct[kind].get(names.join(path, node.name), node.name) for node in getattr(group, member)]
        if after.count(name) > 1:
            text = f"another {tag} has the name `{name}` already"
            document.report.error("bad-ncml", text, document.span(child))
