"""ERDDAP's `griddap`: datasets as grids, whose parts are selected by values of coordinates."""
