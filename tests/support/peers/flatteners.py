"""Files flattened by netcdf-flattener, and by cfdm before 1.13.3, in the interpreter that NCZARR_CFA names.

Prints the libraries that are there without arguments; asked for `LIBRARY SOURCE`, the flat dataset as JSON.
"""

import json
import sys
import warnings


def load(library):
    """The function that flattens, of an open file into an open file; ImportError without one."""
    if library == "netcdf_flattener":
        from netcdf_flattener import flatten

        return lambda source, target: flatten(source, target, lax_mode=True)
    from cfdm.read_write.netcdf.flatten import netcdf_flatten

    return lambda source, target: netcdf_flatten(source, target, strict=False, omit_data=True)


def list_libraries():
    found = []
    for library in ("netcdf_flattener", "cfdm"):
        try:
            load(library)
        except ImportError:
            continue
        found.append(library)
    return found


def attributes_of(owner):
    return {name: owner.getncattr(name) for name in owner.ncattrs()}


def describe(library, path):
    import netCDF4

    with netCDF4.Dataset(path) as source, netCDF4.Dataset(f"{path}.flat", "w", diskless=True) as target:
        load(library)(source, target)
        return {
            "dimensions": {name: [len(one), one.isunlimited()] for name, one in target.dimensions.items()},
            "variables": {
                name: [str(one.dtype), list(one.dimensions), attributes_of(one)]
                for name, one in target.variables.items()
            },
            "attributes": attributes_of(target),
        }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answer = describe(*sys.argv[1:]) if sys.argv[1:] else list_libraries()
    print(json.dumps(answer, default=lambda value: value.tolist()))
