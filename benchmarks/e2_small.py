"""Row E2: a schema of 200 bytes to an NCZarr store, whole process, against ncgen to netCDF-4."""

from __future__ import annotations

import json
from pathlib import Path

from harness import OURS, Side, main, measure, need

MEASURES = ("cli", "syntax", "semantics", "plan", "link", "formats/cdl", "formats/zarr")

SCHEMA = """netcdf small {
dimensions:
\ttime = 10 ;
\tlat = 3 ;
variables:
\tfloat t(time, lat) ;
\t\tt:units = "K" ;
\t\tt:valid_range = 200.f, 320.f ;
\tdouble time(time) ;
\t\ttime:units = "days since 2000-01-01" ;
}
"""


def row(folder: Path, quick: bool) -> bool:
    """A tiny schema against ncgen."""
    need("ncgen", "netCDF4")
    (folder / "small.cdl").write_text(SCHEMA)

    def compare() -> str:
        import netCDF4

        with netCDF4.Dataset(str(folder / "peer.nc")) as dataset:
            for name, variable in dataset.variables.items():
                array = json.loads((folder / "ours.zarr" / name / ".zarray").read_text())
                attributes = json.loads((folder / "ours.zarr" / name / ".zattrs").read_text())
                assert tuple(array["shape"]) == variable.shape
                assert attributes["units"] == variable.units
        return "2 arrays and their attributes equal"

    peer = Side(["ncgen", "-k", "nc4", "-o", "peer.nc", "small.cdl"], ["peer.nc"])
    ours = Side([*OURS, "compile", "small.cdl", "-o", "ours.zarr"], ["ours.zarr"])
    return measure("E2", 6.5, peer, ours, folder, compare, rounds=15 if quick else 40)


if __name__ == "__main__":
    main(row)
