"""`nczarr check --for arcgis`: why ArcGIS cannot have a dataset as an ASCII grid."""

from __future__ import annotations

from typing import Any

from nczarr.sdk import Checked, Report
from nczarr_esri.grid import CODE, find_grids


class EsriCheck:
    """The demands of a grid, asked of the tree of any dataset."""

    name = "arcgis"

    def select_release(self, release: str) -> EsriCheck:
        raise ValueError("ESRI ASCII grids have no releases")

    def suits(self, source: Any) -> bool:
        return False  # whatever it is stored in: its tree is asked

    def check(self, source: Any, report: Report, opened: Any = None) -> int:
        return 0

    def check_tree(self, checked: Checked, request: Any, report: Report) -> int:
        grids, problems = find_grids(checked)
        found = problems or ([] if grids else ["the dataset has no variable of two dimensions"])
        for problem in found:
            report.warning(CODE, problem)
        return len(found)


CHECK = EsriCheck()
