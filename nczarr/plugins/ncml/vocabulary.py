"""Words of NcML: elements with their attributes, and those of netCDF-Java that are not read."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from nczarr.diagnostics.report import NOWHERE, Report, Source, Span, suggest
from nczarr.options import Options
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.semantics.checked import Omission
from nczarr.stores.reference_policy import Policy

NAMESPACE = "www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"
PREFIXES = {f"http://{NAMESPACE}": "", f"https://{NAMESPACE}": ""}

_CONTENT = ("attribute", "dimension", "enumTypedef", "group", "remove", "variable")
CHANGES = frozenset({*_CONTENT, "explicit"})
"""Elements of a dataset that change it."""

ELEMENTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(children), frozenset(attributes.split()))
    for name, children, attributes in (
        (
            "netcdf",
            (*_CONTENT, "aggregation", "explicit", "readMetadata"),
            "location url id title enhance addRecords bufferSize buffer_size ncoords coordValue",
        ),
        ("group", _CONTENT, "name orgName"),
        ("explicit", (), ""),
        ("readMetadata", (), ""),
        ("dimension", (), "name length isUnlimited isShared isVariableLength orgName"),
        ("variable", ("attribute", "values", "remove"), "name type typedef shape orgName"),
        ("attribute", (), "name type value separator orgName isUnsigned"),
        ("values", (), "start increment npts separator"),
        ("remove", (), "type name"),
        ("enumTypedef", ("enum",), "name type"),
        ("enum", (), "key"),
        (
            "aggregation",
            ("netcdf", "promoteGlobalAttribute", "scan", "variableAgg"),
            "type dimName timeUnitsChange recheckEvery",
        ),
        ("variableAgg", (), "name"),
        ("promoteGlobalAttribute", (), "name orgName"),
        ("scan", (), "location suffix regExp subdirs dateFormatMark olderThan enhance"),
    )
}
"""Names of the children and attributes of each element."""

UNSUPPORTED = frozenset(
    "cache cacheVariable collection crawlableDatasetImpl fromAttribute iosp iospParam logicalReduce logicalSection "
    "logicalSlice logicalView promoteGlobalAttributeCompose scanFmrc section".split()
)
"""Elements and attributes of netCDF-Java that are not read."""

NEEDED = {
    "attribute": ("name",), "dimension": ("name",), "variable": ("name",), "group": ("name",), "enum": ("key",),
    "remove": ("name", "type"), "enumTypedef": ("name",), "variableAgg": ("name",), "aggregation": ("type",),
    "promoteGlobalAttribute": ("name",), "scan": ("location",),
}  # fmt: skip
"""Attributes without which an element says nothing."""


class NcmlDocument(NamedTuple):
    """A document while it is read."""

    source: Source
    report: Report
    """Diagnostics of the reading, for one member those of this member."""
    options: Options
    policy: Policy
    """Rules about the places that the document may name."""
    counts: Counter[str]
    """Number of its `values` that are in memory; shared by all its elements."""
    omitted: list[Omission]
    """Content of its members that is left out; shared by all its elements."""

    def span(self, element: XmlElement | None) -> Span:
        """Return the place of an element."""
        return NOWHERE if element is None else Span(self.source, element.offset, element.offset)


def check_elements(root: XmlElement, document: NcmlDocument) -> bool:
    """Return whether all elements of a document are ones that are read.

    Reports bad-ncml, unsupported-ncml, ignored-ncml.
    """
    before, report = document.report.errors, document.report
    if root.tag != "netcdf":
        text = f"the root element is `{root.tag[:200]}`, not `netcdf` of NcML 2.2"
        helps = [f'write `<netcdf xmlns="http://{NAMESPACE}">`'] if root.tag.endswith("netcdf") else []
        if root.tag.endswith("}catalog"):
            helps = ["this is a catalog of THREDDS: save one of its elements `netcdf` as a document"]
        report.error("bad-ncml", text, document.span(root), helps=helps)
        return False
    pending = [root]
    while pending:
        element = pending.pop()
        children, attributes = ELEMENTS[element.tag]
        for name in element.attributes:
            what = f"attribute `{name[:80]}` of `{element.tag}`"
            if name in UNSUPPORTED:
                _refuse(what, name, attributes, element, document)
            elif name not in attributes and not name.startswith("{"):
                text, helps = f"{what} is unknown, and ignored", suggest(name, attributes)
                report.warning("ignored-ncml", text, document.span(element), helps=helps)
        for name in NEEDED.get(element.tag, ()):
            if not element.attributes.get(name):
                text = f"an element `{element.tag}` has no `{name}`"
                report.error("bad-ncml", text, document.span(element))
        for child in element.children:
            if child.tag in children:
                pending.append(child)
            elif element.tag == "aggregation" and child.tag in _CONTENT:
                text = f"`{child.tag}` in an aggregation, which changes all its datasets, is not read"
                helps = [f"write `{child.tag}` in each `netcdf` of the aggregation, or beside the aggregation"]
                report.error("unsupported-ncml", text, document.span(child), helps=helps)
            else:
                _refuse(f"element `{child.tag[:80]}` in `{element.tag}`", child.tag, children, child, document)
    return document.report.errors == before


def _refuse(what: str, name: str, expected: frozenset[str], element: XmlElement, document: NcmlDocument) -> None:
    """Report an element, or an attribute that changes its meaning, which is not read."""
    if name in UNSUPPORTED or (name == "variable" and element.tag == "variable"):
        document.report.error("unsupported-ncml", f"{what} is not read", document.span(element))
        return
    document.report.error("bad-ncml", f"{what} is unknown", document.span(element), helps=suggest(name, expected))


def is_true(element: XmlElement, name: str, default: str = "false") -> bool:
    """Return whether an attribute of an element is true."""
    return element.attributes.get(name, default).strip().lower() == "true"
