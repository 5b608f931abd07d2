"""Classic netCDF formats: CDF-1 (nc3), CDF-2 (64-bit offset, nc6) and CDF-5 (nc5)."""

from nczarr.registry import NETCDF_KINDS, Display, Format, ReadingTraits, TargetTraits

FORMAT = Format(
    name="netcdf3",
    title="netCDF classic, 64-bit offset and CDF-5",
    suffixes=(".cdf", ".nc3"),
    spec="https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html",
    capabilities=NETCDF_KINDS["nc5"],
    detects=r"CDF[\x00-\x1f]",
    read="nczarr.formats.netcdf3.frontend:read",
    write="nczarr.formats.netcdf3.backend:write",
    reading=ReadingTraits(ranged=True),
    target=TargetTraits(kinds={"nc3": "netcdf3", "nc6": "netcdf3", "nc5": "netcdf3"}, second_reader="libnetcdf"),
    display=Display(binary=True),
)
