"""Row A1: a large schema (10,000 variables, 80,000 attributes, 100 groups). Parse and check against ncgen's whole
run to netCDF-4, compile to netCDF-4 against the same, compile to NCZarr against ncgen to NCZarr. All outputs are
compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness import OURS, Side, main, measure, need
from schema import same_files, schema

MEASURES = ("syntax", "semantics", "plan", "link", "formats/cdl", "formats/netcdf4", "formats/zarr")


def ours(store: Path) -> dict[str, Any]:
    """Shape and attributes of every array, read from the store's JSON by nothing but `json`."""
    out = {}
    for key in sorted(store.glob("*/*/.zarray")):
        attributes = json.loads((key.parent / ".zattrs").read_text())
        plain = {name: value for name, value in attributes.items() if not name.startswith("_")}
        path = f"/{key.parent.parent.name}/{key.parent.name}"
        out[path] = (tuple(json.loads(key.read_text())["shape"]), plain)
    return out


def peers(path: str) -> dict[str, Any]:
    """The same, as libnetcdf reads ncgen's file."""
    import netCDF4

    out = {}
    with netCDF4.Dataset(path) as dataset:
        for group in dataset.groups.values():
            for variable in group.variables.values():
                values = {name: variable.getncattr(name) for name in variable.ncattrs() if not name.startswith("_")}
                out[f"{group.path}/{variable.name}"] = (variable.shape, {k: _plain(v) for k, v in values.items()})
    return out


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def row(folder: Path, quick: bool) -> bool:
    """A large schema against ncgen."""
    need("ncgen", "netCDF4")
    size = (10, 100, 8) if quick else (100, 100, 8)
    (folder / "a1.cdl").write_text(schema(*size))

    def compare() -> str:
        mine, theirs = ours(folder / "ours.zarr"), peers(str(folder / "peer.nc"))
        assert mine.keys() == theirs.keys()
        for path, (shape, attributes) in theirs.items():
            assert mine[path][0] == shape, path
            found = {name: _single(value) for name, value in mine[path][1].items()}
            assert {name: _single(value) for name, value in attributes.items()} == found, path
        return f"{len(mine)} arrays and their attributes equal"

    Side([*OURS, "compile", "a1.cdl", "-o", "ours.zarr"], ["ours.zarr"]).run(folder)
    to_file = Side(["ncgen", "-k", "nc4", "-o", "peer.nc", "a1.cdl"], ["peer.nc"])
    parsed = measure("A1, parse + tree", 0.15, to_file, Side([*OURS, "check", "a1.cdl"]), folder, compare)
    compiled = Side([*OURS, "compile", "a1.cdl", "-k", "nc4", "-o", "ours.nc"], ["ours.nc"])
    parsed &= measure(
        "A1, to netCDF-4",
        1.5,
        to_file,
        compiled,
        folder,
        lambda: same_files(str(folder / "ours.nc"), str(folder / "peer.nc")),
    )
    url = f"file://{folder}/peer.zarr#mode=nczarr,file"
    to_store = Side(["ncgen", "-k", "nc4", "-b", "-o", url, "a1.cdl"], ["peer.zarr"])
    compiled = Side([*OURS, "compile", "a1.cdl", "-o", "ours.zarr"], ["ours.zarr"])
    return measure("A1, to NCZarr", 0.5, to_store, compiled, folder, compare) and parsed


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


if __name__ == "__main__":
    main(row)
