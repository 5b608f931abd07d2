"""Numbers in the texts of all protocols read back to their exact value, in their own type and as doubles."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import struct
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

import nczarr
from nczarr import DatasetBuilder
from tests.support.serving import Served, serving

COUNT = 1_000_000 if os.environ.get("NCZARR_RANDOM") else 4000
"""Numbers of each type."""


def draw_numbers(bits: int) -> NDArray[Any]:
    """Finite numbers: those that are nearest to short decimals, and any patterns of bits."""
    kind = np.dtype(f"f{bits // 8}")
    draw = np.random.default_rng(bits)
    digits = draw.integers(1, 10 ** draw.integers(1, 8, COUNT // 2))
    powers = draw.integers(-44, 31, COUNT // 2) if bits == 32 else draw.integers(-300, 300, COUNT // 2)
    decimals = np.array([float(f"{digit}e{power}") for digit, power in zip(digits, powers, strict=True)])
    with np.errstate(over="ignore"):
        near = decimals.astype(kind)
    patterns = draw.integers(0, 2**bits, COUNT, dtype=f"u{bits // 8}").view(kind)
    found = np.concatenate([np.array([1e20, 0.1, 1e-45, -0.0, 16777216, 3.4e38], kind), near, patterns])
    return found[np.isfinite(found)][:COUNT]


FLOATS, DOUBLES = draw_numbers(32), draw_numbers(64)


def same(texts: list[str], values: NDArray[Any]) -> bool:
    """Whether each text is the value, read as a double and rounded to the type, signs of zeros too."""
    doubles = np.array([float(text) for text in texts])
    code = f"<{values.dtype.char}"
    own = b"".join(struct.pack(code, number) for number in doubles.tolist())
    return doubles.tobytes() == values.astype("f8").tobytes() and own == values.tobytes()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("numbers")
    for name, values in (("f", FLOATS), ("d", DOUBLES)):
        made = DatasetBuilder(name)
        made.dimension("x", len(values))
        made.variable("x", "int", ["x"])
        made.variable("v", values.dtype, ["x"]).attribute("all", values)
        data = {"x": np.arange(len(values), dtype="i4"), "v": values}
        nczarr.write(made.finish(data), folder / f"{name}.nc")
    with serving(folder) as found:
        yield found


CASES = pytest.mark.parametrize(("name", "values"), [("f", FLOATS), ("d", DOUBLES)])


@CASES
def test_das(served: Served, name: str, values: NDArray[Any]) -> None:
    found = re.search(r"Float\d\d all ([^;]*);", served.get(f"/dap2/{name}.nc.das").text)
    assert found is not None
    assert same(found[1].split(", "), values)


@CASES
def test_ascii(served: Served, name: str, values: NDArray[Any]) -> None:
    text = served.get(f"/dap2/{name}.nc.ascii?v").text
    rows = text.partition(f"v[{len(values)}]\n")[2]
    assert same(rows.partition("\n\n")[0].strip().split(", "), values)


@CASES
def test_dmr(served: Served, name: str, values: NDArray[Any]) -> None:
    tree = ElementTree.fromstring(served.get(f"/dap4/{name}.nc.dmr").text)
    (attribute,) = [each for each in tree.iter() if each.get("name") == "all"]
    assert same([each.get("value") or each.text or "" for each in attribute], values)


@CASES
def test_ncml(served: Served, name: str, values: NDArray[Any]) -> None:
    tree = ElementTree.fromstring(served.get(f"/erddap/griddap/{name}.nc.ncml").text)
    (attribute,) = [each for each in tree.iter() if each.get("name") == "all"]
    assert same((attribute.get("value") or "").split(), values)


@CASES
def test_erddap(served: Served, name: str, values: NDArray[Any]) -> None:
    rows = list(csv.reader(io.StringIO(served.get(f"/erddap/griddap/{name}.nc.csv?v").text)))[2:]
    assert same([row[1] for row in rows], values)
    table = json.loads(served.get(f"/erddap/griddap/{name}.nc.json?v").text, parse_float=str, parse_int=str)["table"]
    assert same([row[1] for row in table["rows"]], values)


SLICE = 4000
"""Numbers of a dataset that peers read: some read an attribute in a time that grows with its square."""


@pytest.fixture(scope="module")
def sliced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("slices")
    for name, values in (("f", FLOATS), ("d", DOUBLES)):
        for place, start in enumerate(range(0, len(values), SLICE)):
            part = values[start : start + SLICE]
            made = DatasetBuilder(name)
            made.dimension("x", len(part))
            made.variable("x", "int", ["x"])
            made.variable("v", part.dtype, ["x"]).attribute("all", part)
            nczarr.write(made.finish({"x": np.arange(len(part), dtype="i4"), "v": part}), folder / f"{name}{place}.nc")
    with serving(folder) as found:
        yield found


def read_by_pydap(served: Served, name: str) -> list[Any]:
    """Return the numbers of the attribute, and of the variable."""
    from pydap.client import open_url
    from pydap.parsers.das import parse_das

    opened = open_url(f"{served.url}dap2/{name}", protocol="dap2")
    return [parse_das(served.get(f"/dap2/{name}.das").text)["v"]["all"], opened["v"].array[:].data]


def read_by_netcdf_c(served: Served, name: str) -> list[Any]:
    import netCDF4

    with netCDF4.Dataset(f"{served.url}dap2/{name}") as opened:
        return [opened["v"].getncattr("all"), opened["v"][:]]


def read_by_xarray(served: Served, name: str) -> list[Any]:
    import xarray

    with xarray.open_dataset(f"{served.url}dap2/{name}", engine="netcdf4", decode_cf=False) as opened:
        return [opened["v"].attrs["all"], opened["v"].values]


def read_by_siphon(served: Served, name: str) -> list[Any]:
    from siphon.cdmr import Dataset

    variable = Dataset(f"{served.url}cdmremote/{name}").variables["v"]
    return [variable.all, variable[:]]


def read_by_erddapy(served: Served, name: str) -> list[Any]:
    from erddapy import ERDDAP

    grid = ERDDAP(server=f"{served.url}erddap", protocol="griddap")
    grid.dataset_id = name
    grid.griddap_initialize()
    return [grid.to_pandas()["v"]]


@pytest.mark.peer
@pytest.mark.parametrize("reader", ["pydap", "netCDF4", "xarray", "siphon", "erddapy"])
@pytest.mark.parametrize(("name", "values"), [("f", FLOATS), ("d", DOUBLES)])
def test_peers_read_the_same(
    sliced: Served, peer: Callable[[str], ModuleType], reader: str, name: str, values: NDArray[Any]
) -> None:
    peer(reader)
    read = READERS[reader]
    for place, start in enumerate(range(0, len(values), SLICE)):
        wanted = values[start : start + SLICE]
        for found in read(sliced, f"{name}{place}.nc"):
            numbers = np.asarray(found)
            assert numbers.astype("f8").tobytes() == wanted.astype("f8").tobytes()
            assert numbers.astype(wanted.dtype).tobytes() == wanted.tobytes()


READERS = {
    "pydap": read_by_pydap,
    "netCDF4": read_by_netcdf_c,
    "xarray": read_by_xarray,
    "siphon": read_by_siphon,
    "erddapy": read_by_erddapy,
}
"""Readers of the attribute with all numbers of a dataset, and of its variable."""
