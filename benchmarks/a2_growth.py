"""Row A2: a schema of 1,000 variables and 8,000 attributes to netCDF-4, whole process, against ncgen; and how our time
grows to ten times the schema (row A1). Both pairs of files are compared in full."""

from __future__ import annotations

from pathlib import Path

from harness import OURS, Side, main, measure, need
from schema import same_files, schema

MEASURES = ("syntax", "semantics", "plan", "link", "formats/cdl", "formats/netcdf4")


def row(folder: Path, quick: bool) -> bool:
    """A schema against ncgen, and against itself at ten times the size."""
    need("ncgen", "netCDF4")
    variables = 10 if quick else 100
    for name, groups in (("small", 10), ("large", 100)):
        (folder / f"{name}.cdl").write_text(schema(groups, variables, 8))
    ours = {
        name: Side([*OURS, "compile", f"{name}.cdl", "-k", "nc4", "-o", f"{name}.nc"], [f"{name}.nc"])
        for name in ("small", "large")
    }
    peers = {
        name: Side(["ncgen", "-k", "nc4", "-o", f"peer_{name}.nc", f"{name}.cdl"], [f"peer_{name}.nc"])
        for name in ("small", "large")
    }

    def compare(name: str) -> str:
        return same_files(str(folder / f"{name}.nc"), str(folder / f"peer_{name}.nc"))

    met = measure("A2", 1.5, peers["small"], ours["small"], folder, lambda: compare("small"))
    peers["large"].run(folder)
    return measure("A1/A2, growth", 12, ours["small"], ours["large"], folder, lambda: compare("large")) and met


if __name__ == "__main__":
    main(row)
