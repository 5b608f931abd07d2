"""Integers of each type with each `_Unsigned`, by DAP2: all clients decode what they decode from the file."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.__main__ import main
from tests.support.serving import Served, Shelf, serving

pytestmark = [pytest.mark.peer, pytest.mark.usefixtures("plain_http")]

TYPES = {
    "byte": "i1",
    "ubyte": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "int64": "i8",
    "uint64": "u8",
}
SIGNS = ("", "true", "false")
FILLS = (None, -56, 5)
PACKINGS = ("", "scale_factor = 0.5 ; {0}:add_offset = 1.")

CLIENTS = ("xarray netcdf4", "xarray pydap", "xarray nczarr", "xarray griddap", "netCDF4")


def write_schema() -> str:
    """Return a dataset with a variable for each case; DAP2 has no integers of 64 bits, so these are positive."""
    variables, values = ["double x(x) ;"], ["x = 0, 1, 2, 3 ;"]
    for number, case in enumerate(itertools.product(TYPES, SIGNS, FILLS, PACKINGS)):
        kind, sign, fill, packing = case
        name, is_wide = f"v{number}_{kind}_{sign}", kind.endswith("64")

        def spell(*numbers: int, dtype: str = TYPES[kind]) -> str:
            return ", ".join(map(str, np.array(numbers).astype(dtype)))

        variables.append(f"{kind} {name}(x) ;")
        signed = sign == "false" or (not sign and not kind.startswith("u"))
        limits = (0, 100) if is_wide else (-60, 100) if signed else (0, -2)
        for attribute, numbers in {"valid_range": limits, "flag_values": (5, 100 if is_wide else -3)}.items():
            variables.append(f"{kind} {name}:{attribute} = {spell(*numbers)} ;")
        if sign:
            variables.append(f'{name}:_Unsigned = "{sign}" ;')
        if fill is not None:
            variables.append(f"{name}:_FillValue = {spell(fill)} ;")
        if packing:
            variables.append(f"{name}:{packing.format(name)} ;")
        values.append(f"{name} = {spell(*(1, 5, 7, 100) if is_wide else (-56, 5, -3, 100))} ;")
    return "\n".join(["netcdf s { dimensions: x = 4 ; variables:", *variables, "data:", *values, "}"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    peer("netCDF4")
    made = tmp_path_factory.mktemp("signs")
    nczarr.write(nczarr.from_cdl(write_schema()), made / "s.nc")
    return made


@pytest.fixture(scope="module")
def served(folder: Path, peer: Callable[[str], ModuleType]) -> Iterator[Served]:
    peer("uvicorn")
    with serving(folder) as found:
        yield found


def decode(client: str, path: str, library: ModuleType) -> dict[str, np.ndarray[Any, Any]]:
    """Return the values of all variables as a client decodes them, NaN where they are missing."""
    if client == "netCDF4":
        with library.Dataset(path) as found:
            return {name: np.ma.filled(each[...].astype("f8"), np.nan) for name, each in found.variables.items()}
    engine = client.partition(" ")[2].replace("griddap", "netcdf4")
    with (
        warnings.catch_warnings(action="ignore"),  # `_Unsigned` of doubles
        library.open_dataset(path, engine=engine) as found,
    ):
        return {name: each.values for name, each in found.variables.items()}


@pytest.mark.parametrize("client", CLIENTS)
def test_numbers_are_those_of_the_file(
    client: str, folder: Path, served: Served, peer: Callable[[str], ModuleType]
) -> None:
    library = peer(client.partition(" ")[0])
    if "pydap" in client:
        peer("pydap")
    url = f"{served.url}dap2/s.nc"
    url = {
        "xarray pydap": url.replace("http:", "dap2:", 1),
        "xarray nczarr": f"dap2:{url}",
        "xarray griddap": f"{served.url}erddap/griddap/s.nc",
    }.get(client, url)
    local = "netCDF4" if client == "netCDF4" else "xarray netcdf4"
    expected, found = decode(local, str(folder / "s.nc"), library), decode(client, url, library)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if client == "netCDF4" and name.endswith("_false") and "_u" in name:
            continue  # of the file it ignores "false"
        assert np.array_equal(values.astype("f8"), found[name].astype("f8"), equal_nan=True), name
        exact = client == "xarray nczarr" and "64" not in name and "_byte_" not in name
        assert not exact or values.dtype == found[name].dtype, name


def test_our_client_restores_what_is_stored(
    folder: Path, served: Served, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Apart from the types that DAP2 lacks."""
    main(["diff", str(folder / "s.nc"), f"dap2:{served.url}dap2/s.nc"])
    place, odd = "", []
    for line in capfdbinary.readouterr().out.decode().splitlines():
        place = line.split()[0] if not line.startswith(" ") else place
        is_told = "attribute `_Unsigned` only in the second" in line and place.endswith("_")  # for libnetcdf
        if place != "/" and "64" not in place and not place.endswith(("_byte_", "_byte_false")) and not is_told:
            odd.append(line)
    assert odd == []


def test_64_bits_beyond_doubles_are_refused(shelf: Shelf) -> None:
    (shelf.folder / "a.cdl").write_text('netcdf a { variables: int64 v ; v:_Unsigned = "true" ; data: v = -1 ; }')
    replies = [shelf.get(f"/dap2/a.cdl.{form}?v") for form in ("dods", "ascii")]
    told = [(reply.status, "the uint64 value 18446744073709551615" in reply.text) for reply in replies]
    assert told == [(400, True)] * 2
