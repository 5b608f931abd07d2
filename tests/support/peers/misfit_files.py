"""Files of a series that do not quite fit, written by netCDF4-python, and what they hold together, by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

LATS, LONS = (10.0, 20.0, 30.0, 40.0), (0.0, 1.0, 2.0)

Changes = dict[str, Any]


def thirds(number: int, **changes: Any) -> Changes:
    """Changes of every third file."""
    return changes if number % 3 == 1 else {}


MISFITS: dict[str, Callable[[int], Changes]] = {
    "a variable is missing": lambda n: thirds(n, names=("v",)),
    "the first lacks a variable": lambda n: {"names": ("v",)} if n == 0 else {},
    "files are not in order": lambda n: {"times": [n * 14 % 20 + n // 10 * 20, n * 14 % 20 + n // 10 * 20 + 1]},
    "times within files are not in order": lambda n: thirds(n, times=[2 * n + 1, 2 * n]),
    "files take turns": lambda n: {"times": [n // 2 * 4 + n % 2, n // 2 * 4 + n % 2 + 2]},
    "variables have other times": lambda n: {
        "names": ("w",) if n % 2 else ("v",),
        "times": [n // 2 * 2 + n % 2, n // 2 * 2 + n % 2 + 1],
    },
    "latitudes are shifted": lambda n: thirds(n, lats=[lat + 10 for lat in LATS]),
    "latitudes are slightly off": lambda n: thirds(n, lats=[lat + 1e-3 for lat in LATS]),
    "a part is missing": lambda n: thirds(n, lats=LATS[1:3]),
    "latitudes fall": lambda n: thirds(n, lats=LATS[::-1]),
    "longitudes are longer": lambda n: thirds(n, lons=(-1.0, *LONS, 3.0)),
    "every second latitude": lambda n: thirds(n, lats=LATS[::2]),
    "integers without a fill value": lambda n: {"type": "i4", **thirds(n, names=("v",))},
    "packed numbers": lambda n: {"type": "i2", "scale": 0.5, "fill": -999, **thirds(n, names=("w",))},
    "chunks of several times": lambda n: {"chunks": (2, 2, 3), **thirds(n, times=[2 * n], lats=LATS[:2])},
    "classic files": lambda n: {"form": "NETCDF3_CLASSIC", **thirds(n, lats=LATS[2:])},
}
"""Changes of each file of a series, by its number."""

PACKED: Changes = {"type": "i2", "scale": 0.5, "fill": -999}

PACKINGS: dict[str, Callable[[int], Changes]] = {
    "another scale": lambda n: {**PACKED, **thirds(n, scale=0.25)},
    "another offset in the first file": lambda n: {**PACKED, **({"offset": 20.0} if n == 0 else {})},
    "another fill value": lambda n: {**PACKED, **thirds(n, fill=-1)},
    "another type": lambda n: {**PACKED, **thirds(n, type="i4")},
    "floats among packed numbers": lambda n: PACKED if n % 3 else {"type": "f4"},
    "packed numbers among floats": lambda n: {"type": "f4"} if n % 3 else PACKED,
    "doubles among floats": lambda n: thirds(n, type="f8"),
    "no filters": lambda n: thirds(n, storage={"zlib": False}),
    "other chunks": lambda n: thirds(n, chunks=(1, 4, 3)),
    "another byte order": lambda n: {"type": "i2", **thirds(n, storage={"endian": "big"})},
    "other units of time": lambda n: thirds(n, units="minutes since 2000-01-01", rate=60),
    "all at once": lambda n: {**PACKED, **thirds(n, scale=0.25, lats=LATS[1:3], type="i4", storage={"zlib": False},
                                                 units="minutes since 1999-12-31", start=1440, rate=60)},
}  # fmt: skip
"""Changes of each file of a series whose packing is not that of most."""


def write(path: Path, number: int, netcdf4: ModuleType, changes: Changes) -> None:
    """Write a file whose values tell of their variable, time and place."""
    times = changes.get("times", [2 * number, 2 * number + 1])
    lats, lons = changes.get("lats", LATS), changes.get("lons", LONS)
    with netcdf4.Dataset(path, "w", format=changes.get("form", "NETCDF4")) as file:
        for name, length in (("time", None), ("lat", len(lats)), ("lon", len(lons)), ("nv", 2)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.bounds = changes.get("units", "hours since 2000-01-01"), "time_bnds"
        bounds = np.stack([times, np.array(times) + 1], 1) * changes.get("rate", 1) + changes.get("start", 0)
        time[:] = bounds[:, 0]
        file.createVariable("time_bnds", "f8", ("time", "nv"))[:] = bounds
        file.createVariable("lat", "f8", ("lat",))[:] = lats
        file.createVariable("lon", "f8", ("lon",))[:] = lons
        file.createVariable("height", "f4", ("lat",))[:] = np.array(lats) * 2
        chunks = changes.get("chunks", (1, min(2, len(lats)), len(LONS)))
        chunked = {"zlib": True, "chunksizes": chunks, **changes.get("storage", {})}
        for name in changes.get("names", ("v", "w")):
            options = dict(chunked) if file.data_model == "NETCDF4" else {}
            options["fill_value"] = changes.get("fill")
            variable = file.createVariable(name, changes.get("type", "f4"), ("time", "lat", "lon"), **options)
            if "scale" in changes:
                variable.scale_factor, variable.add_offset = changes["scale"], changes.get("offset", 10.0)
            variable[:] = values(name, times, lats, lons)


def values(name: str, times: Iterable[float], lats: Iterable[float], lons: Iterable[float]) -> Any:
    """Return values that are exact in every packing of the tests."""
    start = {"v": 0, "w": 5}[name]
    whole = [[[start + hour % 50 + 100 * (lat % 7) + lon for lon in lons] for lat in lats] for hour in times]
    return np.round(np.array(whole, float).reshape(len(list(times)), -1, len(list(lons))))


def series(folder: Path, kind: str, count: int, netcdf4: ModuleType, **usual: Any) -> list[str]:
    """Write a series; return the paths. `usual`: changes of all files that their kind does not state."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number in range(count):
        paths.append(str(folder / f"{number:03}.nc"))
        write(Path(paths[-1]), number, netcdf4, {**usual, **{**MISFITS, **PACKINGS}[kind](number)})
    return paths


def together(paths: Iterable[str], netcdf4: ModuleType, last: bool = True) -> dict[str, Any]:
    """Return the decoded values of all files on the union of their coordinates, NaN where no file has a cell."""
    every = []
    for path in paths:
        with netcdf4.Dataset(path) as file:
            python = {"only_use_cftime_datetimes": False, "only_use_python_datetimes": True}
            times = np.array(netcdf4.num2date(file["time"][:], file["time"].units, **python), "M8[ns]")
            every.append((times, {name: np.ma.filled(file[name][:].astype(float), np.nan) for name in file.variables}))
    axes = {"time": np.unique(np.concatenate([times for times, _ in every]))}
    for name in ("lat", "lon"):
        axes[name] = np.unique(np.concatenate([arrays[name] for _, arrays in every]))
    shape = tuple(map(len, axes.values()))
    whole = {name: np.full(shape, np.nan) for name in ("v", "w") if any(name in arrays for _, arrays in every)}
    for times, arrays in every if last else reversed(every):
        own = {"time": times, "lat": arrays["lat"], "lon": arrays["lon"]}
        cells = np.ix_(*(np.searchsorted(axes[name], own[name]) for name in axes))
        for name in whole:
            if name in arrays:
                whole[name][cells] = arrays[name]
    return {**axes, **whole, "height": 2 * axes["lat"]}
