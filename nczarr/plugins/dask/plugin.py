"""dask: arrays that are computed block by block, and clusters."""

from nczarr.names.plugin_index import Plugin

PLUGIN = Plugin(
    "dask",
    "arrays and clusters of dask",
    lazy_arrays={"__dask_graph__": "nczarr.plugins.dask.lazy_arrays:LAZY"},
    executors={"dask": "nczarr.plugins.dask.cluster:KIND"},
    extras={"dask": "dask", "distributed": "dask"},
)
