"""Lines that open a dataset in other programs, with its URLs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.serve.protocols.zarr import VERSIONS

BY_DAP2 = "By DAP2: libnetcdf, which this program uses, damages attributes of type float that it reads by DAP4."
BY_DAP4 = (
    "By DAP4: DAP2 lacks groups or types of this dataset. libnetcdf, which this program uses, damages a _FillValue of "
    "type float; missing_value repeats it, other attributes of type float are doubles."
)


class Snippet(NamedTuple):
    """One way to open a dataset."""

    title: str
    """Name of the program or language."""
    text: str
    """Lines to copy."""
    note: str = ""
    """Reason for the choice of the lines."""


def commands(links: Mapping[str, str], name: str, *, dap2: bool) -> Iterator[Snippet]:
    """Yield the ways to open a dataset.

    `links`: absolute URLs by kind; `name`: the dataset's file name; `dap2`:
    True if DAP2 holds the dataset.
    """
    zarr, remote = links[VERSIONS[-1]], f"cdmremote:{links['cdmremote']}"
    target = shlex.quote(f"{names.stem(name) or 'data'}.nc")
    yield Snippet("xarray, as Zarr", f"import xarray as xr\nds = xr.open_zarr({json.dumps(zarr)})")
    dap, note = (links["dap2"], BY_DAP2) if dap2 else (links["dap4"] + "#dap4", BY_DAP4)
    yield Snippet(
        "xarray, by OPeNDAP", f'import xarray as xr\nds = xr.open_dataset({json.dumps(dap)}, engine="netcdf4")', note
    )
    yield Snippet(
        "xarray, by nczarr", f'import xarray as xr\nds = xr.open_dataset({json.dumps(remote)}, engine="nczarr")'
    )
    yield Snippet("ncdump", f"ncdump -h {shlex.quote(dap)}", note)
    yield Snippet("nczarr convert", f"nczarr convert {shlex.quote(remote)} {target}")
    yield Snippet("curl", f"curl -o {target} {shlex.quote(links['download'] + '?format=nc')}")
    yield Snippet("R", f"library(ncdf4)\nnc <- nc_open({json.dumps(dap)})", note)
    yield Snippet("Julia", f"using NCDatasets\nds = NCDataset({_julia(dap)})", note)
    yield Snippet("Julia, as Zarr", f"using Zarr\ng = zopen({_julia(links[VERSIONS[0]])}, consolidated=true)")


def _julia(text: str) -> str:
    """Return a string of Julia; URLs have no other special characters."""
    return json.dumps(text).replace("$", "\\$")
