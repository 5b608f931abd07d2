"""Protocol of the server: `/esri/PATH?var=/cells` answers with a grid."""

from __future__ import annotations

from nczarr.sdk import ProtocolRequest, Reply, RequestError
from nczarr_esri.grid import find_grids, write_grid


def answer(asked: ProtocolRequest) -> Reply:
    """Return the grid that `var` names, by default the only one. Raises RequestError."""
    checked = asked.dataset.checked
    grids, problems = find_grids(checked)
    path = asked.query.get("var") or (grids[0] if len(grids) == 1 else "")
    if path not in grids:
        raise RequestError(400, f"`var` is one of {', '.join(grids)}" if grids else "; ".join(problems) or "no grid")
    return Reply(write_grid(checked, path), "text/plain; charset=utf-8")
