"""netCDF-C: faults with Zarr stores (nczarr-storage).

Observed with 4.9.3, 4.10.1 and the development version of August 2026, called
4.10.2 here. Where they differ, the predicates say so. Releases before 4.9.3 use
other layouts and are not judged: 4.9.0 sees any current store as pure Zarr.
"""

from __future__ import annotations

from nczarr.plugins.readers.netcdf_c import arrays, attributes, hidden, stores
from nczarr.plugins.readers.netcdf_c.stores import NetcdfView
from nczarr.plugins.readers.peer import Peer

PEER = Peer(
    "netcdf-c",
    "netCDF-C",
    "4.9.3, 4.10.1, and the development head of August 2026 (4.10.2)",
    (*stores.FAULTS, *arrays.FAULTS, *attributes.FAULTS),
    (*hidden.FIND, hidden.find_hidden_members),
    NetcdfView,
    (),
    releases=("4.9", "4.10"),
)
