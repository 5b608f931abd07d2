"""xarray: its objects as datasets, and its engine, which it finds by an entry point of its own."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "xarray",
    "engine of xarray, and its objects as datasets",
    names={"from_xarray": "nczarr.plugins.xarray.objects:from_xarray"},
    objects={
        "xarray": "nczarr.plugins.xarray.objects:prepare_dataset",
        "pandas": "nczarr.plugins.xarray.objects:prepare_dataset",
    },
    arrays={
        "pandas": "nczarr.plugins.xarray.objects.pandas_columns:convert_array",
        "pint": "nczarr.plugins.xarray.objects.pandas_columns:refuse_quantity",
        "pyarrow": "nczarr.plugins.xarray.objects.pandas_columns:convert_arrow",
        "xarray": "nczarr.plugins.xarray.objects.pandas_columns:convert_array",
    },
    codes=__file__.removesuffix("plugin.py") + "codes",
    extras={"xarray": "xarray"},
)
