"""netCDF files of any kind: the dataset's own kind, else the smallest that holds the whole model."""

from nczarr.registry import Capabilities, Format, TargetTraits

FORMAT = Format(
    name="netcdf",
    title="netCDF, of the kind asked for or the smallest that holds the dataset",
    suffixes=(".nc", ".nc4"),
    spec="https://docs.unidata.ucar.edu/nug/current/",
    capabilities=Capabilities(anonymous_dimensions=False, axis_names=False),
    target=TargetTraits(
        kinds={"nc3": "netcdf3", "nc6": "netcdf3", "nc5": "netcdf3", "nc4": "netcdf4", "nc7": "netcdf4"}
    ),
)
