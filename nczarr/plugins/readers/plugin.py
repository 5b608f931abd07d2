"""Faults of other readers, and demands of conventions and layouts: what `check --for` asks."""

from nczarr.names.plugin_index import DeclarationRow, Plugin

PLUGIN = Plugin(
    "readers",
    "faults of other readers, and demands of conventions",
    checks={
        "netcdf-c": "nczarr.plugins.readers.netcdf_c:PEER",
        "zarr-python": "nczarr.plugins.readers.zarr_python:PEER",
        "xarray": "nczarr.plugins.readers.xarray:PEER",
        "tensorstore": "nczarr.plugins.readers.array_libraries:TENSORSTORE_PEER",
        "zarrs": "nczarr.plugins.readers.array_libraries:ZARRS_PEER",
        "xarray-tensorstore": "nczarr.plugins.readers.array_libraries:XARRAY_TENSORSTORE_PEER",
        "gdal": "nczarr.plugins.readers.array_libraries:GDAL_PEER",
        "nz": "nczarr.plugins.readers.nz:PEER",
        "geo": "nczarr.plugins.readers.geo:PEER",
        "cloud": "nczarr.plugins.readers.layouts:CLOUD",
        "cmip7": "nczarr.plugins.readers.layouts:CMIP7",
    },
    declarations={
        "nz": DeclarationRow(
            "nczarr.plugins.readers.nz_declaration:NZ",
            "nczarr.plugins.readers.nz_attributes:declare",
            "nczarr.plugins.readers.nz_attributes:undeclare",
        )
    },
    demands={"cmip7": "nczarr.plugins.readers.cmip7:report_unmet"},
    codes=__file__.removesuffix("plugin.py") + "codes",
)
