"""Write a pyramid of a Zarr store by ndpyramid or topozarr, with dask's threads and the chunks of the source.

Arguments: SOURCE TARGET LEVELS SIDE, and `ndpyramid` or `topozarr`.
"""

from __future__ import annotations

import sys
from typing import Any

import xarray as xr


def write_by_ndpyramid(dataset: Any, target: str, levels: int, side: int) -> None:
    """Every level by `coarsen` of the source at once, of a factor of 1 for level 0."""
    from ndpyramid import pyramid_coarsen

    factors = [2**level for level in range(levels + 1)]
    tree = pyramid_coarsen(dataset, factors=factors, dims=["y", "x"], boundary="pad")
    nodes = {name: node.to_dataset().chunk({"y": side, "x": side}) for name, node in tree.children.items()}
    write(nodes, target)


def write_by_topozarr(dataset: Any, target: str, levels: int, side: int) -> None:
    """Each level from the one below."""
    import xproj  # noqa: F401
    from topozarr.coarsen import create_pyramid

    dataset = dataset.proj.assign_crs({"EPSG": 4326}, allow_override=True)
    tree = create_pyramid(dataset, levels=levels + 1, x_dim="x", y_dim="y").dt
    nodes = {
        name: node.to_dataset().drop_vars("EPSG").chunk({"y": side, "x": side}) for name, node in tree.children.items()
    }
    write(nodes, target)


def write(nodes: dict[str, Any], target: str) -> None:
    for node in nodes.values():
        for variable in node.variables.values():
            variable.encoding = {}
    xr.DataTree.from_dict({f"/{name}": node for name, node in nodes.items()}).to_zarr(
        target, zarr_format=3, consolidated=False
    )


if __name__ == "__main__":
    source, target, levels, side, peer = sys.argv[1:]
    opened = xr.open_zarr(source, chunks={}, consolidated=False)
    (write_by_ndpyramid if peer == "ndpyramid" else write_by_topozarr)(opened, target, int(levels), int(side))
