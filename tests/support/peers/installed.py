"""Installed versions of peers."""

from __future__ import annotations

import re
from importlib.metadata import version

from nczarr.plugins.readers import peer as peers
from nczarr.plugins.readers.rule import number


def installed(reader: str) -> str:
    """The reader with the release of the library that it reads with here, the newest known up to the installed one."""
    peer = peers.find_peer(reader)
    if peer is None or not peer.releases:
        return reader
    if reader == "netcdf-c":
        import netCDF4

        release = netCDF4.__netcdf4libversion__
    else:
        release = version("zarr")
    here = number(".".join(re.findall("[0-9]+", release)[:2]))
    return f"{reader}@{[each for each in peer.releases if number(each) <= here][-1]}"
