"""NWB files of pynwb and hdmf-zarr, and what these read in files, by the interpreter that NCZARR_NWB names.

`nwb.py make FOLDER` writes `a.nwb`, and `a.nwb.zarr` by the export of hdmf-zarr. `nwb.py describe FILE…` prints one
object a line: each container by its identity, with its fields.
"""

import json
import os
import sys
import warnings
from datetime import UTC, datetime
from typing import Any

import h5py
import numpy as np
import zarr
from hdmf.container import AbstractContainer
from hdmf_zarr.nwb import NWBZarrIO
from pynwb import NWBHDF5IO, H5DataIO, NWBFile, TimeSeries
from pynwb.ecephys import ElectricalSeries


def make(folder: str) -> None:
    """Write a file with electrodes, regions, linked time stamps and data, trials with references, and units."""
    nwb = NWBFile("demo", "id1", datetime(2020, 1, 1, tzinfo=UTC))
    group = nwb.create_electrode_group("shank0", "d", "loc", nwb.create_device("probe"))
    for _ in range(4):
        nwb.add_electrode(x=1.0, y=2.0, z=3.0, imp=1.0, location="CA1", filtering="none", group=group)
    region = nwb.create_electrode_table_region([0, 2], "two")
    data = H5DataIO(np.arange(200, dtype="i2").reshape(100, 2), compression="gzip", chunks=(10, 2))
    series = ElectricalSeries("es", data, region, timestamps=np.arange(100) / 10.0)
    nwb.add_acquisition(series)
    linked = TimeSeries("linked", np.arange(100.0), "m", timestamps=series)
    nwb.add_acquisition(linked)
    nwb.add_acquisition(TimeSeries("linkdata", series.data, "m", rate=10.0))
    nwb.add_trial_column("note", "n")
    nwb.add_trial(start_time=0.0, stop_time=1.0, note="a", timeseries=[series])
    nwb.add_trial(start_time=1.0, stop_time=2.0, note="é", timeseries=[series, linked])
    nwb.add_unit(spike_times=[1.0, 2.0], electrodes=[0])
    nwb.add_unit(spike_times=[3.0], electrodes=[1, 2])
    path = os.path.join(folder, "a.nwb")
    with NWBHDF5IO(path, "w") as io:
        io.write(nwb)
    with NWBHDF5IO(path, "r") as source, NWBZarrIO(path + ".zarr", "w") as io:
        io.export(src_io=source, write_args={"link_data": False})


def describe(path: str) -> dict[str, Any]:
    """Return all containers of a file, its tables, and which series have the same object as time stamps."""
    found: dict[str, Any] = {}
    reader = NWBZarrIO if os.path.isdir(path) else NWBHDF5IO
    with reader(path, mode="r", load_namespaces=True) as io:
        file = io.read()
        for container in file.objects.values():
            entry = {"type": type(container).__name__, "name": container.name}
            entry["parent"] = None if container.parent is None else identify(container.parent)
            entry |= {name: plain(value) for name, value in container.fields.items()}
            if hasattr(container, "data") and "data" not in container.fields:
                entry["data"] = plain(container.data)
            if type(container).__name__ == "TimeSeriesReferenceVectorData":
                entry["rows"] = [plain(tuple(row)) for row in container[:]]
            if getattr(container, "timestamps", None) is not None:  # those of a link too
                entry["timestamps"] = plain(container.timestamps)
            found[identify(container)] = entry
        for name in ("electrodes", "trials", "units"):
            table = getattr(file, name, None)
            if table is not None:
                frame = table.to_dataframe()
                found[f"table {name}"] = {str(column): [*map(show_cell, frame[column])] for column in frame.columns}
        found["same time stamps"] = group_timestamps(file)
    return found


def group_timestamps(file: Any) -> list[list[str]]:
    """Return the names of acquired series by the object that is their time stamps, through links."""
    names: dict[int, list[str]] = {}
    for series in file.acquisition.values():
        if getattr(series, "timestamps", None) is not None:
            names.setdefault(id(series.timestamps), []).append(series.name)
    return sorted(map(sorted, names.values()))


def identify(container: AbstractContainer) -> str:
    """Return the identity of a container; roots of old files have none, and get another in each run."""
    return "root" if container.parent is None else container.object_id


def plain(value: Any) -> Any:
    """Return a value as JSON's; containers are their identity. Only arrays of files have a type: JSON has no other."""
    if isinstance(value, AbstractContainer):
        return {"container": identify(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.void):
        return [plain(each) for each in value]
    if isinstance(value, (bytes, np.generic)):
        return value.decode() if isinstance(value, bytes) else plain(value.item())
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=str)
    if getattr(value, "shape", None) == ():
        return plain(value[()])
    if isinstance(value, (h5py.Dataset, zarr.Array)) and value.dtype.kind in "iufb":
        return [value.dtype.name, value[...].tolist()]
    return [plain(value[place]) for place in range(len(value))]


def show_cell(cell: Any) -> Any:
    """Return a cell of a table; a table in it by its rows."""
    if hasattr(cell, "columns"):
        columns = {str(column): [show_cell(each) for each in cell[column]] for column in cell.columns}
        return [[*map(int, cell.index)], columns]
    return plain(cell)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        for path in sys.argv[2:]:
            print(json.dumps(describe(path), sort_keys=True))
