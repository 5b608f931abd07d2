"""VirtualiZarr, or kerchunk, joins files along time by references: prints JSON with the values that are read, or the
error, by case.

python join_virtualizarr.py FOLDER CASE=FILE,FILE… --kerchunk CASE=FILE,FILE… --outer CASE=FILE,FILE…
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any


def joined(files: list[Path], target: Path) -> Any:
    """The values of `v` and `time` in the files joined by VirtualiZarr."""
    import xarray
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parts = [
        open_virtual_dataset(
            f"file://{file}", parser=HDFParser(), registry=registry, loadable_variables=["time", "lat"]
        )
        for file in files
    ]
    options: Any = {"coords": "minimal", "compat": "override", "join": "override"}
    whole = xarray.concat(parts, dim="time", **options)
    whole.vz.to_kerchunk(str(target), format="json")
    return values(target)


def outer(files: list[Path], target: Path) -> Any:
    """The same, on the union of all coordinates, sorted by time."""
    import xarray
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    names = ["time", "lat", "lon", "height", "time_bnds"]
    parts = [
        open_virtual_dataset(f"file://{file}", parser=HDFParser(), registry=registry, loadable_variables=names)
        for file in files
    ]
    parts = [part.drop_vars(["height", "time_bnds"]) for part in parts]
    options: Any = {"coords": "minimal", "data_vars": "minimal", "compat": "override", "join": "outer"}
    xarray.concat(parts, dim="time", **options).vz.to_kerchunk(str(target), format="json")
    with xarray.open_dataset(str(target), engine="kerchunk") as found:
        return {"v": found["v"].sortby("time").values.tolist()}


def merged(files: list[Path], target: Path) -> Any:
    """The same, joined by kerchunk."""
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.hdf import SingleHdf5ToZarr

    parts = [SingleHdf5ToZarr(str(file), inline_threshold=0).translate() for file in files]
    whole = MultiZarrToZarr(parts, concat_dims=["time"], identical_dims=["lat"], remote_protocol="file")
    target.write_text(json.dumps(whole.translate()))
    return values(target)


def values(target: Path) -> dict[str, Any]:
    """Return the values of `v` and `time` that a reference document refers to."""
    import xarray

    with xarray.open_dataset(
        str(target), engine="kerchunk", decode_times=False
    ) as found:  # dates are compared as numbers
        return {"v": found["v"].values.tolist(), "time": [float(value) for value in found["time"].values]}


def main() -> None:
    """Join the files of each case."""
    warnings.simplefilter("ignore")
    folder, answers, join = Path(sys.argv[1]), {}, joined
    for case in sys.argv[2:]:
        if case in ("--kerchunk", "--outer"):
            join = merged if case == "--kerchunk" else outer
            continue
        name, _, files = case.partition("=")
        try:
            answers[name] = join([folder / file for file in files.split(",")], folder / f"{name}.json")
        except Exception as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
