"""netCDF-4 in HDF5 files, by the netCDF library: full and classic model (nc7)."""

from nczarr.registry import NETCDF_KINDS, Display, Format, ReadingTraits, TargetTraits

FORMAT = Format(
    name="netcdf4",
    title="netCDF-4 in HDF5, the classic model too",
    suffixes=(".h5", ".hdf5"),
    spec="https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html",
    capabilities=NETCDF_KINDS["nc4"],
    detects=r"(?:.{512}|.{1024}|.{2048}|.{4096}|.{8192}|.{16384}|.{32768})?\x89HDF\r\n\x1a\n",  # behind a user block
    read="nczarr.formats.netcdf4.frontend:read",
    reading=ReadingTraits(
        ranged=True, isolates="nczarr.formats.netcdf4.isolation:use", warms="nczarr.formats.netcdf4.isolation:prepare"
    ),
    target=TargetTraits(
        build="nczarr.formats.netcdf4.backend:build",
        steps="nczarr.formats.netcdf4.backend:steps",
        kinds={"nc4": "netcdf4", "nc7": "netcdf4"},
        second_reader="libnetcdf",
    ),
    display=Display(binary=True),
)
