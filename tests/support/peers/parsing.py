"""Small files of formats that parsers of VirtualiZarr read, made by the libraries of these formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TIFF, HDF4, FITS = "virtual_tiff:VirtualTIFF", "virtualizarr.parsers:HDF4Parser", "virtualizarr.parsers:FITSParser"

FILES = {
    **dict.fromkeys(
        ("strip.tif", "tiled.tif", "big.tif", "deflate.tif", "predicted.tif", "lzw.tif", "both.tif", "zstd.tif",
         "planes.tif"), TIFF),
    "deflate.hdf": HDF4,
    "a.fits": FITS,
}  # fmt: skip
"""Parsers by name of the file."""


def make_seeds(folder: Path) -> None:
    """Write the files. Raises ImportError without one of the libraries."""
    import tifffile
    from astropy.io import fits
    from pyhdf.SD import SD, SDC

    draw = np.random.default_rng(1)
    floats = (draw.random((60, 80)) * 1000).astype("f4")
    whole = (floats * 10).astype("u2")
    tile = {"tile": (16, 32)}
    for name, values, options in (
        ("strip", floats, {}),
        ("tiled", floats, tile),
        ("big", floats.astype(">f4"), {**tile, "byteorder": ">"}),
        ("deflate", floats, {**tile, "compression": "deflate"}),
        ("predicted", whole, {**tile, "compression": "deflate", "predictor": True}),
        ("lzw", whole, {**tile, "compression": "lzw"}),
        ("both", whole, {**tile, "compression": "lzw", "predictor": True}),
        ("zstd", whole.astype("i4"), {"tile": (32, 32), "compression": "zstd"}),
        ("planes", whole[:48, :64].astype("u1").reshape(3, 16, 64), {"tile": (16, 32)}),
    ):
        tifffile.imwrite(folder / f"{name}.tif", values, **options)
    file = SD(str(folder / "deflate.hdf"), SDC.WRITE | SDC.CREATE | SDC.TRUNC)
    for name, kind, dtype in (("short", SDC.INT16, "i2"), ("ubyte", SDC.UINT8, "u1"), ("int", SDC.INT32, "i4")):
        values = (draw.random((20, 30)) * 100).astype(dtype)
        dataset = file.create(name, kind, values.shape)
        for number, dimension in enumerate("yx"):
            dataset.dim(number).setname(dimension)
        dataset.setcompress(SDC.COMP_DEFLATE, 5)
        dataset.attr("units").set(SDC.CHAR, "K")
        dataset[:] = values
        dataset.endaccess()
    file.end()
    inner = fits.ImageHDU((draw.random((10, 20)) * 100).astype("i2"), name="SCI")
    fits.HDUList([fits.PrimaryHDU(floats[:40, :50]), inner]).writeto(folder / "a.fits")
