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


@pytest.mark.peer
@CASES
def test_pydap_reads_the_same(
    served: Served, peer: Callable[[str], ModuleType], name: str, values: NDArray[Any]
) -> None:
    parse = peer("pydap.parsers.das").parse_das
    found = parse(served.get(f"/dap2/{name}.nc.das").text)["v"]["all"]
    assert np.array(found, "f8").tobytes() == values.astype("f8").tobytes()


@pytest.mark.peer
@CASES
def test_netcdf_c_reads_the_same(
    served: Served, peer: Callable[[str], ModuleType], name: str, values: NDArray[Any]
) -> None:
    with peer("netCDF4").Dataset(f"{served.url}dap2/{name}.nc") as opened:
        found = np.array(opened["v"].getncattr("all"))
    assert found.astype("f8").tobytes() == values.astype("f8").tobytes()
