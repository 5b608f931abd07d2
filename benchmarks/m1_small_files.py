"""Row M1: 1,000 netCDF-4 files of about 50 kB, all at once, to classic files (CDF-5) and to Zarr v3 stores.

The peers are a loop of the shell over `nccopy`, a process each, and one process of netCDF4-python that copies all of
them. `our_seconds` of a thousand files are milliseconds a file. Goals: 0.8 of the loop, 1.2 of the single process,
8 ms of processor time a file. Compared: every value of the classic files; the stores hold the same digests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness import OURS, Side, apart, execute, main, measure, need, show

MEASURES = ("api", "pipeline", "link", "formats/netcdf3", "formats/netcdf4", "formats/zarr")

NAMES = ("u", "v", "w")
WORK = 8.0
"""Milliseconds of processor time that a file may take."""

LOOP = 'mkdir loop && for file in in/*.nc; do nccopy -k cdf5 "$file" "loop/${file#in/}" || exit 1; done'


def write_files(folder: Path, count: int) -> None:
    """Write the files: three deflated variables of 4 steps with their coordinates."""
    import netCDF4
    import numpy as np

    pick = np.random.default_rng(3)
    folder.mkdir()
    for number in range(count):
        with netCDF4.Dataset(str(folder / f"{number:04}.nc"), "w") as file:
            file.title = f"file {number}"
            for name, length in (("time", None), ("lat", 40), ("lon", 60)):
                file.createDimension(name, length)
                axis = file.createVariable(name, "f8", (name,))
                axis.units = "1"
                axis[:] = np.arange(length or 4) + (0 if length else 4 * number)
            for name in NAMES:
                variable = file.createVariable(
                    name, "f4", ("time", "lat", "lon"), compression="zlib", shuffle=True, chunksizes=(1, 40, 60)
                )
                variable.units = "m s-1"
                variable[:] = np.round(pick.normal(0, 5, (4, 40, 60)), 2)


def copy_files(source: Path, target: Path) -> None:
    """Copy each file by netCDF4-python to CDF-5: dimensions, attributes, and the values as they are."""
    import netCDF4

    target.mkdir()
    for path in sorted(source.iterdir()):
        with (
            netCDF4.Dataset(str(path)) as old,
            netCDF4.Dataset(str(target / path.name), "w", format="NETCDF3_64BIT_DATA") as new,
        ):
            new.setncatts(old.__dict__)
            for name, dimension in old.dimensions.items():
                new.createDimension(name, None if dimension.isunlimited() else len(dimension))
            for name, variable in old.variables.items():
                variable.set_auto_maskandscale(False)
                made = new.createVariable(name, variable.dtype, variable.dimensions)
                made.set_auto_maskandscale(False)
                made.setncatts(variable.__dict__)
                made[:] = variable[:]


def same_values(one: Path, other: Path) -> str:
    """Compare all variables of all files of two folders. Raises AssertionError."""
    import netCDF4

    compared = 0
    for path in sorted(one.iterdir()):
        with netCDF4.Dataset(str(path)) as left, netCDF4.Dataset(str(other / path.name)) as right:
            assert left.variables.keys() == right.variables.keys(), path.name
            for name, variable in left.variables.items():
                assert variable.__dict__ == right[name].__dict__, (path.name, name)
                assert variable[:].tobytes() == right[name][:].tobytes(), (path.name, name)
                compared += variable.size
    return f"{compared} values equal"


def row(folder: Path, quick: bool) -> bool:
    """All files to CDF-5 beside both peers, and to Zarr v3."""
    need("nccopy", "netCDF4")
    count = 60 if quick else 1000
    apart(lambda: write_files(folder / "in", count) or "")
    ours = Side([*OURS, "convert", *_list_files(folder), "ours", "--kind", "nc5", "-q"], ["ours"])
    loop = Side(["sh", "-c", LOOP], ["loop"])
    single = Side([sys.executable, str(Path(__file__).resolve()), "--copy", "in", "single"], ["single"])
    rounds = 3
    met = [
        measure("M1, nccopy", 0.8, loop, ours, folder, lambda: same_values(folder / "loop", folder / "ours"), rounds),
        measure(
            "M1, netCDF4", 1.2, single, ours, folder, lambda: same_values(folder / "single", folder / "ours"), rounds
        ),
    ]
    for name, words in (
        ("M1, Zarr v3", ["convert", *_list_files(folder), "stores", "--to", "nczarr3", "-q"]),
        ("M1, digest", ["digest", *_list_files(folder)]),
        ("M1, check --data", ["check", "--data", *_list_files(folder), "-q"]),
    ):
        ran = execute([*OURS, *words], folder)
        more = {"our_seconds": round(ran.seconds, 3), "our_peak_mb": round(ran.peak / 1e6, 1)}
        met.append(show(name, [ran.work / count * 1000], WORK, unit="ms of work a file", decimals=3, **more))
    execute([*OURS, "diff", "in/0000.nc", "stores/0000.zarr"], folder)
    return all(met)


def _list_files(folder: Path) -> list[str]:
    """Return the inputs, as words of a command that runs in the folder."""
    return [f"in/{path.name}" for path in sorted((folder / "in").iterdir())]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--copy", source, target]:
            copy_files(Path(source), Path(target))
        case _:
            main(row)
