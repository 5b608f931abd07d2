"""`write`: dataset → DMR++ document, with one variable's values in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nczarr import names
from nczarr.arrays.values.parts import Types
from nczarr.ast import ATOMIC, Attribute, CompoundType, EnumType, Group, Variable
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.formats.opendap.common.exact_values import numbers_of, texts_of
from nczarr.formats.opendap.common.wire import DAP4, DAP4_OF, DMRPP, OURS, dap4_name, escaped, tag
from nczarr.formats.opendap.dmrpp.link_plan import Linked, Refused, Way, way_of
from nczarr.formats.opendap.dmrpp.value_writer import noted_storage, value_lines
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
from nczarr.stores.target_urls import UnnamedTargetError, UrlNaming
from nczarr.stores.url import is_remote

VERSION = "3.21.1"
"""Hyrax version of the document style. Without it, Hyrax reorders filters."""

STEP = "    "


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the lines of the document. Raises OSError, CompileError with unnamed-target."""
    yield from (f"{line}\n".encode() for line in _DmrppWriter(plan.checked, options).lines())


class _DmrppWriter:
    def __init__(self, checked: Checked, options: Options) -> None:
        self.checked, self.options = checked, options
        self.naming = UrlNaming(options.target or "", options.source, options.writing)
        self.ways: dict[str, Way] = {fqn: way_of(checked, fqn, options) for fqn in checked.variables}
        places = (way.columns.sources for way in self.ways.values() if isinstance(way, Linked))
        self.target = next((sources[0] for sources in places), None)

    def url(self, place: str) -> str:
        """Return the URL of a target: its bare name if it is in the folder of the document.

        Raises CompileError with `unnamed-target`.
        """
        target, writing = self.options.target, self.options.writing
        near = target is not None and not is_remote(target) and not is_remote(place) and writing.base is None
        if near and os.path.dirname(os.path.abspath(target or "")) == os.path.dirname(os.path.abspath(place)):
            return os.path.basename(place)
        try:
            return self.naming.url(place)
        except UnnamedTargetError as error:
            helps = ("give the location of the targets with `--base URL`",)
            raise CompileError([Diagnostic("unnamed-target", Severity.ERROR, str(error), helps=helps)]) from None

    def lines(self) -> Iterator[str]:
        """Yield the whole document."""
        dataset = self.checked.dataset
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        name = dataset.name if self.target is None else os.path.basename(self.target)
        xml_attributes = {
            "xmlns": DAP4,
            "xmlns__dmrpp": DMRPP,
            "xmlns__nczarr": OURS,
            "dapVersion": "4.0",
            "dmrVersion": "1.0",
        }
        href = None if self.target is None else self.url(self.target)
        yield tag(
            "Dataset", **xml_attributes, name=name, dmrpp__href=href, dmrpp__version=VERSION,
            nczarr__name=dataset.name if dataset.name != os.path.splitext(name)[0] else None,
            nczarr__kind=dataset.kind, closed=False,
        )  # fmt: skip
        yield from self._group(dataset, "/", STEP)
        yield "</Dataset>"

    def _group(self, group: Group, path: str, step: str) -> Iterator[str]:
        for dimension in group.dimensions:
            grows = "true" if dimension.unlimited else None
            yield step + tag("Dimension", name=dimension.name, size=dimension.size, nczarr__unlimited=grows)
        for declared in group.types:
            if isinstance(declared, EnumType):
                yield step + tag("Enumeration", name=declared.name, basetype=DAP4_OF[declared.base], closed=False)
                for constant in declared.constants:
                    yield step + STEP + tag("EnumConst", name=constant.name, value=constant.value)
                yield step + "</Enumeration>"
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if not isinstance(self.ways[fqn], Refused):
                yield from self._variable(variable, fqn, step)
        yield from _attribute_lines(group.attributes, self.checked.types, step)
        for child in group.groups:
            yield step + tag("Group", name=child.name, closed=False)
            yield from self._group(child, names.join(path, child.name), step + STEP)
            yield step + "</Group>"

    def _variable(self, variable: Variable, fqn: str, step: str) -> Iterator[str]:
        element, xml_attributes = self._begin(variable.type, variable.name)
        noted = noted_storage(self.checked, fqn, self.ways[fqn])
        yield step + tag(element, **xml_attributes, nczarr__storage=noted, closed=False)
        inner = step + STEP
        yield from self._members(variable.type, inner)
        maps = []
        for reference in variable.dimensions:
            if isinstance(reference, int):
                yield inner + tag("Dim", size=reference)
                continue
            yield inner + tag("Dim", name=dap4_name(reference))
            if reference != fqn and reference in self.checked.variables:
                maps.append(inner + tag("Map", name=dap4_name(reference)))
        yield from _attribute_lines(variable.attributes, self.checked.types, inner)
        yield from maps
        yield from value_lines(self.checked, fqn, self.ways[fqn], self._href, inner)
        yield f"{step}</{element}>"

    def _href(self, place: str) -> str | None:
        """Return the URL of a chunk's target, None for the document's own target."""
        return None if place == self.target else self.url(place)

    def _begin(self, type_name: str, name: str) -> tuple[str, dict[str, str | int | None]]:
        """Return the element of a variable or member, and its attributes."""
        declared = self.checked.types.get(type_name)
        if isinstance(declared, EnumType):
            return "Enum", {"name": name, "enum": dap4_name(type_name)}
        if isinstance(declared, CompoundType):
            return "Structure", {"name": name, "nczarr__type": dap4_name(type_name)}
        return DAP4_OF[type_name], {"name": name, "nczarr__type": "char" if type_name == "char" else None}

    def _members(self, type_name: str, step: str) -> Iterator[str]:
        declared = self.checked.types.get(type_name)
        for field in declared.fields if isinstance(declared, CompoundType) else ():
            element, xml_attributes = self._begin(field.type, field.name)
            yield step + tag(element, **xml_attributes, closed=False)
            yield from self._members(field.type, step + STEP)
            for length in field.shape:
                yield step + STEP + tag("Dim", size=length)
            yield f"{step}</{element}>"


def _attribute_lines(attributes: tuple[Attribute, ...], types: Types, step: str) -> Iterator[str]:
    """Yield the lines of attributes, except those of compound, vlen and opaque types."""
    for attribute in attributes:
        value, declared = attribute.value, types.get(attribute.value.type)
        base = declared.base if isinstance(declared, EnumType) else value.type
        if base not in ATOMIC:
            continue
        ours = dap4_name(value.type) if declared is not None else None
        if value.type in ("char", "string"):
            texts, ours, data = texts_of(value)
        else:
            texts, data = numbers_of(value, base)
        yield step + tag(
            "Attribute", name=attribute.name, type=DAP4_OF[base], nczarr__type=ours, nczarr__data=data, closed=False
        )
        yield from (f"{step}    <Value>{escaped(text)}</Value>" for text in texts)
        yield f"{step}</Attribute>"
