"""`write`: dataset → DMR++ document, with one variable's values in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.formats.opendap.common.dmr_writer import DmrWriter, Projection, SelectedVariable, XmlAttributes
from nczarr.formats.opendap.common.document_text import DMRPP
from nczarr.formats.opendap.dmrpp.link_plan import Linked, Refused, Way, way_of
from nczarr.formats.opendap.dmrpp.value_writer import noted_storage, value_lines
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
from nczarr.stores.target_urls import UnnamedTargetError, UrlNaming
from nczarr.stores.url import is_remote

VERSION = "3.21.1"
"""Hyrax version of the document style. Without it, Hyrax reorders filters."""


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the lines of the document. Raises OSError, CompileError with unnamed-target."""
    yield from (f"{line}\n".encode() for line in _DmrppWriter(plan.checked, options).lines())


class _DmrppWriter(DmrWriter):
    dialect = "dmrpp"
    unlimited = ("nczarr__unlimited", "true")

    def __init__(self, checked: Checked, options: Options) -> None:
        self.ways: dict[str, Way] = {fqn: way_of(checked, fqn, options) for fqn in checked.variables}
        variables = tuple(
            SelectedVariable(fqn, tuple(map(range, checked.shapes[fqn])))
            for fqn, way in self.ways.items()
            if not isinstance(way, Refused)
        )
        dimensions = {fqn: range(dimension.size) for fqn, dimension in checked.dimensions.items()}
        super().__init__(checked, Projection(variables, dimensions))
        self.options = options
        self.naming = UrlNaming(options.target or "", options.source, options.writing)
        places = (way.columns.sources for way in self.ways.values() if isinstance(way, Linked))
        self.target = next((sources[0] for sources in places), None)

    def _url(self, place: str) -> str:
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
        name = dataset.name if self.target is None else os.path.basename(self.target)
        xml_attributes: XmlAttributes = {
            "dmrpp__href": None if self.target is None else self._url(self.target),
            "dmrpp__version": VERSION,
            "nczarr__name": dataset.name if dataset.name != os.path.splitext(name)[0] else None,
            "nczarr__kind": dataset.kind,
        }
        return self.document("1.0", name, xml_attributes, xmlns__dmrpp=DMRPP)

    def hints(self, fqn: str) -> XmlAttributes:
        """Return the storage of a variable that the document does not tell."""
        return {"nczarr__storage": noted_storage(self.checked, fqn, self.ways[fqn])}

    def values(self, fqn: str, step: str) -> Iterator[str]:
        """Yield the chunks or the values of a variable."""
        return value_lines(self.checked, fqn, self.ways[fqn], self._href, step)

    def _href(self, place: str) -> str | None:
        """Return the URL of a chunk's target, None for the document's own target."""
        return None if place == self.target else self._url(place)
