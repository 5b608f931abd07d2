"""Parse reference documents with VirtualiZarr, in an interpreter that has it.

Standard input: a path of a document on each line. Standard output: for each a line of JSON, the sizes of its
variables' dimensions and their dtypes, or `{"error": …}`.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import KerchunkJSONParser


def parsed(path: Path) -> dict[str, Any]:
    """One document, opened with all variables virtual."""
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = KerchunkJSONParser()
    found = open_virtual_dataset(
        path.as_uri(), registry=registry, parser=parser, loadable_variables=[], decode_times=False
    )
    return {name: [list(each.shape), str(each.dtype)] for name, each in found.variables.items()}


def main() -> None:
    """Answer each line."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            answer = parsed(Path(line.strip()))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
