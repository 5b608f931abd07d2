"""Row A3: 18 million values in 217 MB of CDL, with fill marks, NaN, suffixes and comments among them, to an NCZarr
store and to netCDF-4, against ncgen to netCDF-4. Every value of the outputs is compared. Goals: time 0.30, memory
0.35."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness import OURS, Side, main, measure, need
from schema import same_files

MEASURES = ("arrays", "syntax", "link", "formats/cdl", "formats/netcdf3", "formats/netcdf4", "formats/zarr")

KINDS = {"float": "%.7g", "double": "%.12g", "int": "%d", "short": "%d", "int64": "%d", "byte": "%d"}
PER_LINE = 10


def write(path: Path, values: int) -> None:
    """The text, from a seed: one variable a type, each with its peculiarities."""
    import numpy as np

    pick = np.random.default_rng(3)
    count = values // len(KINDS)
    with path.open("w") as out:
        out.write(f"netcdf a3 {{\ndimensions:\n\tx = {count} ;\nvariables:\n")
        for kind in KINDS:
            out.write(f"\t{kind} v_{kind}(x) ;\n")
            if kind == "byte":
                out.write("\t\tv_byte:_FillValue = -127b ;\n")
        out.write("data:\n")
        for kind, form in KINDS.items():
            out.write(f"\n v_{kind} = ")
            out.writelines(_lines(kind, form, count, pick))
        out.write("}\n")


def _lines(kind: str, form: str, count: int, pick: object) -> Iterator[str]:
    import numpy as np

    assert isinstance(pick, np.random.Generator)
    if kind in ("float", "double"):
        numbers = pick.normal(0, 1000, count)
    else:
        limit = {"byte": 120, "short": 32000, "int": 2**31 - 1, "int64": 2**62}[kind]
        numbers = pick.integers(-limit, limit, count)
    for start in range(0, count, 100_000):
        items = (
            ",".join([form] * min(100_000, count - start)) % tuple(numbers[start : start + 100_000].tolist())
        ).split(",")
        items[7::1013] = ["_"] * len(items[7::1013])
        if kind in ("float", "double"):
            items[11::2003] = ["NaN"] * len(items[11::2003])
        if kind == "int64":
            items[13::509] = [f"{item}LL" if item != "_" else item for item in items[13::509]]
        lines = [", ".join(items[i : i + PER_LINE]) for i in range(0, len(items), PER_LINE)]
        lines[50::997] = [f"{line} /* a comment, with a comma */" for line in lines[50::997]]
        last = start + 100_000 >= count
        yield ",\n    ".join(lines) + (" ;\n" if last else ",\n    ")


def row(folder: Path, quick: bool) -> bool:
    """Many values against ncgen."""
    need("ncgen", "netCDF4", "zarr")
    write(folder / "a3.cdl", 400_000 if quick else 18_000_000)
    size = (folder / "a3.cdl").stat().st_size

    def store() -> str:
        import netCDF4
        import numpy as np
        import zarr

        store = zarr.open_group(str(folder / "ours.zarr"), mode="r", zarr_format=2)
        total = 0
        with netCDF4.Dataset(str(folder / "peer.nc")) as dataset:
            dataset.set_auto_mask(False)
            for name, variable in dataset.variables.items():
                theirs, mine = variable[:], store[name][:]
                assert theirs.dtype == mine.dtype, name
                assert np.array_equal(theirs, mine, equal_nan=theirs.dtype.kind == "f"), name
                total += mine.size
        return f"{total} values of {size / 1e6:.0f} MB of text equal"

    def file(target: str) -> str:
        compared = same_files(str(folder / target), str(folder / "peer.nc"), kinds=target == "ours_nc4.nc")
        return f"{compared}; {size / 1e6:.0f} MB of text"

    peer = Side(["ncgen", "-k", "nc4", "-o", "peer.nc", "a3.cdl"], ["peer.nc"])
    ours = Side([*OURS, "compile", "a3.cdl", "-o", "ours.zarr"], ["ours.zarr"])
    met = measure("A3, NCZarr", 0.30, peer, ours, folder, store, memory_goal=0.35)
    for kind, name in (("nc4", "netCDF-4"), ("nc5", "CDF-5")):
        target = f"ours_{kind}.nc"
        ours = Side([*OURS, "compile", "a3.cdl", "-k", kind, "-o", target], [target])
        met &= measure(f"A3, {name}", 0.30, peer, ours, folder, lambda target=target: file(target), memory_goal=0.35)
    return met


if __name__ == "__main__":
    main(row)
