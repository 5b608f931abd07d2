"""Write the table of docs/reference/seams.md.

`python docs/_tools/seams.py SHARED`, where SHARED has the program `tools/nc-same`.

Needs h5py, netCDF4 and zarr-python. `tests/differential/test_seams.py` holds the same cells.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.differential.seams import SEAMS, table  # noqa: E402
from tests.differential.test_seams import oracle_of  # noqa: E402
from tests.differential.worker import Judge  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "seams.md"
BEGIN, END = "<!-- table -->", "<!-- end -->"


def main() -> None:
    """Rewrite what stands between the marks."""
    judges = {"old": Judge(), "hdf5": Judge()}
    lines = table(judges, oracle_of(Path(sys.argv[1])))
    lines += ["", *(f"- **{name}**: {what}." for name, (what, _) in SEAMS.items())]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + rest.partition(END)[2]]))


if __name__ == "__main__":
    main()
