"""Sizes of arrays beside the declarations of variables."""

from __future__ import annotations

from lsprotocol.types import InlayHint, InlayHintKind, InlayHintParams

from nczarr import names
from nczarr.plugins.lsp.documents import View
from nczarr.plugins.lsp.hover import shape_of, size_text


def list_hints(view: View, params: InlayHintParams) -> list[InlayHint]:
    """Return shape and bytes of the variables with dimensions in a range."""
    declared = view.analysis.tables()
    if declared is None:
        return []
    first, last = view.offset(params.range.start), view.offset(params.range.end)
    hints, data = [], view.text.data
    ends: dict[str, int] = {}
    for entry in view.text.index.entries:
        mention = entry.mention
        if mention.role == "dimension" and mention.owner and first <= mention.start <= last:
            ends[names.join(mention.scope, mention.owner)] = mention.end
    for path, end in ends.items():
        variable = declared.variables.get(path)
        shape = None if variable is None else shape_of(variable, declared)
        if variable is None or not shape:
            continue
        closing = end + len(data[end : end + 80]) - len(data[end : end + 80].lstrip())
        end = closing + 1 if data[closing : closing + 1] == b")" else end
        text = size_text(variable.type, shape, declared)
        label = " × ".join(map(str, shape)) + (f" · {text}" if text else "")
        position = view.text.lines.position(end)
        hints.append(InlayHint(position, label, kind=InlayHintKind.Type, padding_left=True))
    return hints
