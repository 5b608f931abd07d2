"""Aggregation files of CF, which `aggregation/writer.py` makes. They are written and read as netCDF."""

from nczarr.registry import Capabilities, Display, Format, TargetTraits

FORMAT = Format(
    name="cfa",
    title="CF aggregation: a netCDF file that names the files with its values, by `nczarr combine`",
    suffixes=(".cfa", ".nca"),
    spec="https://cfconventions.org/cf-conventions/cf-conventions.html#aggregation-variables",
    capabilities=Capabilities(anonymous_dimensions=False, axis_names=False, unlimited="none"),
    target=TargetTraits(kinds={"nc4": "netcdf4"}, written_by="combine"),
    display=Display(after="netcdf3"),
)
