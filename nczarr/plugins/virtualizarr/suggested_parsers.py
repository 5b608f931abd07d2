"""Parsers of VirtualiZarr for files in formats that the compiler does not read."""

from __future__ import annotations

PARSERS = {
    b"GRIB": "gribberish.virtualizarr:GribberishParser",
    b"II*\0": "virtual_tiff:VirtualTIFF(ifd=0)",
    b"MM\0*": "virtual_tiff:VirtualTIFF(ifd=0)",
    b"II+\0": "virtual_tiff:VirtualTIFF(ifd=0)",  # BigTIFF
    b"MM\0+": "virtual_tiff:VirtualTIFF(ifd=0)",
    b"\x0e\x03\x13\x01": "virtualizarr.parsers:HDF4Parser",
    b"SIMPLE  =": "virtualizarr.parsers:FITSParser",
}
"""Parsers by the first bytes of files that they read."""


def suggest_parser(head: bytes) -> str | None:
    """Return what may help with a file, by its first bytes; None without a parser for it."""
    parser = next((parser for magic, parser in PARSERS.items() if head.startswith(magic)), None)
    if parser is None:
        return None
    return f"a parser of VirtualiZarr may read it, with Python 3.12: `nczarr convert --parser '{parser}' …`"
