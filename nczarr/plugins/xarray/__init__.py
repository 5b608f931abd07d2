"""The xarray engine `nczarr`: datasets of every readable format as xarray objects.

`engine` is the entry point, which xarray loads by the name of the engine. It makes
a `DataStore` for each group; decoding stays xarray's. Modules here may import
xarray; the package below never does.
"""
