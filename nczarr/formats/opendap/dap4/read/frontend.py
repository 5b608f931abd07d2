"""`read`: a DAP4 data response → dataset."""

from __future__ import annotations

from nczarr.ast.dataset import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.common.columns import BrokenValuesError
from nczarr.formats.opendap.common.declarations import FaultError
from nczarr.formats.opendap.dap4.chunks import response
from nczarr.formats.opendap.dap4.read.document import DmrReader, parsed
from nczarr.formats.opendap.dap4.read.values import values_of
from nczarr.options import Options
from nczarr.stores.dataset_service import Served


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a data response; None after an error.

    Reports `bad-dap4` and `foreign-member`. Raises OSError.
    """
    if isinstance(source, Served):
        from nczarr.formats.opendap.dap4.read import remote

        return remote.read(source, report, options or Options())
    binary = Source(source.name, source.data, binary=True, path=source.path)
    try:
        answer = response(source.data)
    except BrokenValuesError as fault:
        report.error("bad-dap4", str(fault), Span(binary, fault.at, fault.at))
        return None
    if answer.failed and not answer.dmr.lstrip().startswith(b"<"):
        words = " ".join(answer.dmr.decode("utf-8", "replace").split())
        report.error("bad-dap4", f"the server reports an error: {words[:300]}", Span(binary, 0, 0))
        return None
    with building():
        root = parsed(Source(source.name, answer.dmr, path=source.path), report)
        if root is None:
            return None
        document = DmrReader(Source(source.name, answer.dmr), report, options or Options())
        before = report.errors
        unchecked = document.read(root)
        if report.errors > before:
            return None
        try:
            unchecked.parts = values_of(answer, root, document.described, binary)
        except BrokenValuesError as fault:
            at = answer.place(fault.at)
            report.error("bad-dap4", str(fault), Span(binary, at, at))
            return None
        except FaultError as fault:
            report.error("bad-dap4", str(fault), Span(binary, answer.dmr_at, answer.dmr_at))
            return None
    return unchecked
