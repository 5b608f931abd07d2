"""Read the array `v` of every store in a folder with zarr-python.

`python read_zarr_arrays.py FOLDER` writes FOLDER/NAME.npy for each FOLDER/NAME.zarr. The last line of the output is a
JSON object: for each name `null` or the error.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import zarr


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    failed: dict[str, str | None] = {}
    for path in sorted(folder.glob("*.zarr")):
        try:
            np.save(path.with_suffix(".npy"), np.asarray(zarr.open_group(str(path), mode="r")["v"][...]))
            failed[path.stem] = None
        except Exception as error:  # reported by the caller
            failed[path.stem] = f"{type(error).__name__}: {error}"
    print(json.dumps(failed))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
