"""Row D1: open a consolidated store of 2,000 variables to a typed AST, against libnetcdf and xarray.

Two stores with consolidated metadata, which all three open: NCZarr whose variables share two dimensions, and pure
Zarr v2 whose variables have two dimensions of their own each. Whole processes: each opens the store and writes
what it found, every variable with its type, shape, dimensions and attributes, as JSON. xarray opens without dask
and without decoding, which is its quickest way; libnetcdf is asked through netCDF4-python.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path

from harness import ROOT, Side, main, measure, need

MEASURES = ("pipeline", "semantics", "stores", "formats/zarr")

GOALS = {"shared dimensions": {"libnetcdf": 0.45, "xarray": 0.2}, "own dimensions": {"libnetcdf": 0.25, "xarray": 0.2}}
STORES = {"shared dimensions": ("nczarr", "shared.zarr"), "own dimensions": ("zarr2", "own.zarr")}
"""The format and the name of each store."""


def dataset(count: int, *, own: bool = False):
    """`count` variables along two dimensions, which all share or each has of its own; each with five attributes."""
    from nczarr.ast import Attribute, Codec, Constant, Dataset, Dimension, Storage, Variable

    rng = random.Random(1)
    types = ("byte", "short", "int", "int64", "float", "double", "uint")
    storage = Storage(chunks=(5, 20), codecs=(Codec(id=2), Codec(id=1, parameters=(4,))))

    def variable(number: int) -> Variable:
        attributes = (
            Attribute(name="units", value=Constant.text(rng.choice((b"K", b"m s-1", b"1", b"kg m-3")))),
            Attribute(name="long_name", value=Constant.text(b"variable number %d" % number)),
            Attribute(name="scale", value=Constant.numbers("double", [rng.random()])),
            Attribute(name="range", value=Constant.numbers("float", [-rng.random(), rng.random()])),
            Attribute(name="flags", value=Constant.numbers("short", [number % 7, 2, 3])),
        )
        return Variable(
            name=f"v{number:05}",
            type=types[number % len(types)],
            dimensions=(f"/a{number}", f"/b{number}") if own else ("/time", "/x"),
            attributes=attributes,
            storage=storage,
        )

    pairs = [(f"a{number}", f"b{number}") for number in range(count)] if own else [("time", "x")]
    dimensions = tuple(
        Dimension(name=name, size=size) for pair in pairs for name, size in zip(pair, (10, 20), strict=True)
    )
    variables = tuple(variable(number) for number in range(count))
    title = Attribute(name="title", value=Constant.text(b"many"))
    return Dataset(name="many", dimensions=dimensions, variables=variables, attributes=(title,))


def make(path: Path, count: int, form_name: str) -> None:
    """Write a store of one of the two formats."""
    sys.path.insert(0, str(ROOT))
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.pipeline import phases
    from nczarr.registry import find_format
    from nczarr.semantics import check
    from nczarr.semantics.checked import Unchecked

    checked = check(Unchecked(dataset(count, own=form_name == "zarr2")), Report())
    form = find_format(form_name)
    assert checked is not None
    assert form is not None
    assert phases.write(checked, str(path), form, Report(), Options.of(consolidated=True))


OURS = """
import json, sys
from nczarr.pipeline import phases
from nczarr.diagnostics import Report
from nczarr.options import Options
from nczarr.stores.open import open_path
report = Report()
dataset = phases.read(open_path(sys.argv[1]), report, Options())
assert dataset is not None and not report.list_sorted(), report.list_sorted()
def value(constant):
    if constant.type == "char":
        return constant.data.decode()
    return list(constant.as_numbers())
names = {"byte": "int8", "short": "int16", "int": "int32", "uint": "uint32", "float": "float32", "double": "float64"}
found = {each.name: [names.get(each.type, each.type), list(dataset.shapes[path]),
               [name.rpartition("/")[2] for name in each.dimensions],
               {item.name: value(item.value) for item in each.attributes}]
         for path, each in dataset.variables.items()}
open(sys.argv[2], "w").write(json.dumps(found))
"""
LIBNETCDF = """
import json, sys
import netCDF4
import numpy as np
def value(given):
    return given if isinstance(given, str) else np.atleast_1d(given).tolist()
mode = "zarr" if sys.argv[1].endswith("own.zarr") else "nczarr"
with netCDF4.Dataset(f"file://{sys.argv[1]}#mode={mode},file") as file:
    found = {name: [str(each.dtype), list(each.shape), list(each.dimensions),
              {item: value(each.getncattr(item)) for item in each.ncattrs() if item != "_FillValue"}]
             for name, each in file.variables.items()}
open(sys.argv[2], "w").write(json.dumps(found))
"""
XARRAY = """
import json, sys
import numpy as np
import xarray
def value(given):
    return given if isinstance(given, str) else np.atleast_1d(given).tolist()
with xarray.open_zarr(sys.argv[1], chunks=None, consolidated=True, decode_cf=False) as file:
    found = {name: [str(each.dtype), list(each.shape), list(each.dims),
              {item: value(given) for item, given in each.attrs.items() if item != "_FillValue"}]
             for name, each in file.variables.items()}
open(sys.argv[2], "w").write(json.dumps(found))
"""


def compare(folder: Path, peer: str) -> str:
    """Every variable is equal in both listings."""
    mine, theirs = (_rounded(json.loads((folder / f"{name}.json").read_text())) for name in ("ours", peer))
    assert mine == theirs
    return f"{len(mine)} variables equal, with types, shapes, dimensions and attributes"


def _rounded(found):
    """The listing with reals as floats: to xarray every real of JSON is a double."""
    if isinstance(found, float):
        return struct.unpack("<f", struct.pack("<f", found))[0]
    if isinstance(found, dict):
        return {name: _rounded(each) for name, each in found.items()}
    return [_rounded(each) for each in found] if isinstance(found, list) else found


def row(folder: Path, quick: bool) -> bool:
    """Open many variables."""
    need("netCDF4", "xarray", "zarr")
    scripts = {"ours": OURS, "libnetcdf": LIBNETCDF, "xarray": XARRAY}
    for name, text in scripts.items():
        (folder / f"open_{name}.py").write_text(text)
    met = []
    for what, (form_name, store_name) in STORES.items():
        store = folder / store_name
        make(store, 200 if quick else 2000, form_name)
        sides = {
            name: Side(
                [sys.executable, "-W", "ignore", f"open_{name}.py", str(store), f"{name}.json"], [f"{name}.json"]
            )
            for name in scripts
        }
        for peer, goal in GOALS[what].items():
            row = f"D1, {what}: {peer}"
            met.append(measure(row, goal, sides[peer], sides["ours"], folder, lambda peer=peer: compare(folder, peer)))
    return all(met)


if __name__ == "__main__":
    main(row)
