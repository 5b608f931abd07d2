"""Formatting of a text in the one style of its format, as `nczarr fmt` does."""

from __future__ import annotations

from difflib import SequenceMatcher

from lsprotocol.types import DocumentFormattingParams, TextEdit
from pygls.exceptions import JsonRpcInternalError

from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.fmt.reformat import find_style, reformat
from nczarr.plugins.lsp.documents import View

MANY_LINES = 2000
"""Number of lines above which they are replaced at once, because a comparison would take long."""


def format_text(view: View, params: DocumentFormattingParams) -> list[TextEdit] | None:
    """Return the edits that format a text; None if it has errors. Raises JsonRpcInternalError after a fault of ours."""
    text, report = view.text, Report()
    if find_style(text.form) is None:
        return None
    result = reformat(Source(text.uri, text.data), report)
    if result is None:
        faults = [finding.message for finding in report.list_sorted() if finding.code == "internal-error"]
        if faults:
            raise JsonRpcInternalError(faults[0])
        return None
    return list_edits(view, result)


def list_edits(view: View, result: bytes) -> list[TextEdit]:
    """Return the edits of whole lines that make a text of another one, so that a cursor elsewhere stays."""
    old, new = view.text.data.splitlines(keepends=True), result.splitlines(keepends=True)
    first, last = 0, 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    old_middle, new_middle = old[first : len(old) - last], new[first : len(new) - last]
    blocks = [("replace", 0, len(old_middle), 0, len(new_middle))] if old_middle or new_middle else []
    if max(len(old_middle), len(new_middle)) <= MANY_LINES:
        blocks = list(SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes())
    starts = [*view.text.lines.starts[: len(old)], len(view.text.data)]
    return [
        TextEdit(
            view.range(starts[first + start], starts[first + end]),
            b"".join(new_middle[begin:stop]).decode("utf-8", "replace"),
        )
        for kind, start, end, begin, stop in blocks
        if kind != "equal"
    ]
