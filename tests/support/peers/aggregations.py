"""Aggregation variables written and read by cfdm and cf-python, by the interpreter that NCZARR_CFA names.

`write cfdm|cf FOLDER` makes fragments and aggregation files. Without arguments it is a reader (`worker.py`): asked for
`cfdm PATH` or `cf PATH`, it answers with the data of all constructs of the file by name of the netCDF variable.
"""

from __future__ import annotations

import os
import sys


def load(library):
    """A library that does not ask the network for the table of standard names, each time that it reads a file."""
    from importlib import import_module
    from urllib import request

    def refuse(*_, **__):
        raise OSError("no network")

    request.urlopen = refuse
    return import_module(library)


def write(library, folder):
    """Make the files, each as the library's own tests do."""
    import netCDF4
    import numpy as np

    cfdm = load(library)  # cf-python has the same functions
    os.chdir(folder)
    field = cfdm.example_field(0)
    cfdm.write(field[:2], "a.nc")
    cfdm.write(field[2:], "b.nc")
    pieces = [cfdm.read(name, cfa_write="field")[0] for name in ("a.nc", "b.nc")]
    joined = cfdm.Field.concatenate(pieces, axis=0)
    for kind in ("NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        cfdm.write(joined, f"all-{kind}.nc", cfa="field", fmt=kind)
    for uri in ("relative", "absolute"):
        cfdm.write(joined, f"all-{uri}.nc", cfa={"constructs": "field", "uri": uri})
    cfdm.write(field[0, 0].squeeze(), "one.nc")
    cfdm.write(cfdm.read("one.nc", cfa_write="field")[0], "all-scalar.nc", cfa="field")
    cfdm.write(cfdm.example_field(1), "many.nc")
    kinds = [
        "field",
        "auxiliary_coordinate",
        "dimension_coordinate",
        "cell_measure",
        "field_ancillary",
        "domain_ancillary",
    ]
    cfdm.write(
        cfdm.read("many.nc", cfa_write="all")[0], "all-constructs.nc", cfa={"constructs": kinds, "strict": False}
    )
    with netCDF4.Dataset("packed.nc", "w") as file:
        file.Conventions = "CF-1.13"
        file.createDimension("x", 4)
        packed = file.createVariable("v", "i2", ("x",), fill_value=-99)
        packed.setncatts({"scale_factor": 0.25, "add_offset": 5.0, "units": "degC", "standard_name": "air_temperature"})
        packed[:] = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 0])
    cfdm.write(cfdm.read("packed.nc", cfa_write="field")[0], "all-packed.nc", cfa="field")
    with netCDF4.Dataset("all-packed.nc", "a") as file:
        file["v"].units = "K"
    cfdm.write(cfdm.example_field(0), "group.nc")
    grouped = cfdm.read("group.nc", cfa_write="field")[0]
    grouped.nc_set_variable_groups(["forecast"])
    cfdm.write(grouped, "all-groups.nc", cfa="field")
    ancillary = cfdm.FieldAncillary(data=cfdm.Data.zeros((field.shape[0],), chunks=-1))
    ancillary.nc_set_variable("zero")
    ancillary.data._nc_set_aggregation_write_status(True)
    unique = cfdm.read("group.nc", cfa_write="field")[0]
    unique.set_construct(ancillary, axes=[next(iter(unique.get_data_axes()))])
    cfdm.write(unique, "all-unique.nc", cfa={"constructs": ("field", "field_ancillary")})


def read(library, path):
    """Data of all constructs of a file, by name of the variable."""
    os.chdir(os.path.dirname(path))  # from which cfdm 1.13.3 counts relative names, instead of the folder of the file
    found = {}
    for field in load(library).read(path):
        for construct in (field, *field.constructs.filter_by_data().values()):
            name = construct.nc_get_variable(None)
            if name is not None:
                found[name.split("/")[-1].removeprefix("_nc4_non_coord_")] = [
                    list(construct.shape),
                    construct.array.reshape(-1).tolist(),
                ]
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(*sys.argv[2:4])
    else:
        from worker import serve

        serve(lambda request: read(*request.split(" ", 1)))
