"""References by other programs: `make_references.py TOOL FILE DOCUMENT`, run by an interpreter that has them.

TOOL is kerchunk (as it is by default), kerchunk-inline0 or virtualizarr (all variables virtual, and the root group,
which is what it writes). Writes the document, and to standard output one line of JSON: what was said meanwhile.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any


class _Said(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _is_hdf5(path: Path) -> bool:
    import h5py

    return bool(h5py.is_hdf5(path))


def kerchunk(path: Path, **options: Any) -> Any:
    """References by kerchunk."""
    if _is_hdf5(path):
        from kerchunk.hdf import SingleHdf5ToZarr

        return SingleHdf5ToZarr(str(path), **options).translate()
    from kerchunk.netCDF3 import NetCDF3ToZarr

    return NetCDF3ToZarr(str(path), **options).translate()


def virtualizarr(path: Path) -> Any:
    """References by VirtualiZarr."""
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser, NetCDF3Parser

    url = path.as_uri()
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = HDFParser() if _is_hdf5(path) else NetCDF3Parser()
    made = open_virtual_dataset(url, registry=registry, parser=parser, loadable_variables=[], decode_times=False)
    return made.vz.to_kerchunk(format="dict")


def main() -> None:
    """Make one document."""
    tool, source, target = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    said: list[str] = []
    logging.getLogger().addHandler(_Said(said))
    warnings.showwarning = lambda message, *_: said.append(str(message))  # type: ignore[assignment]
    made = {
        "kerchunk": lambda: kerchunk(source),
        "kerchunk-inline0": lambda: kerchunk(source, inline_threshold=0),
        "virtualizarr": lambda: virtualizarr(source),
    }[tool]()
    target.write_text(json.dumps(made))
    print(json.dumps({"said": said}), flush=True)
    os._exit(0)  # threads of obstore may abort a process that ends


if __name__ == "__main__":
    main()
