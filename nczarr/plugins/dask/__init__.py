"""dask: its arrays as values of variables, and its clusters as executors of `--dask`."""
