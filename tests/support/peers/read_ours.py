"""Reads a dataset through `nczarr.open`: a worker that answers JSON lines as `read_references.py` does.

Asked: {"document": path, "names": [variable without its first slash]}, "folder" where relative URLs start. Answer:
{"values": {name: values}, "said": [texts]}.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from worker import serve

import nczarr


def read(line: str) -> dict[str, Any]:
    """What our own front end sees."""
    asked = json.loads(line)
    if "folder" in asked:
        os.chdir(asked["folder"])
    found = nczarr.open(asked["document"])
    values = {name: _values(found, name) for name in asked["names"]}
    return {"values": values, "said": [f"{each.message} {each.primary.key}" for each in found.diagnostics]}


def _values(found: Any, name: str) -> Any:
    if f"/{name}" not in found or not hasattr(found[f"/{name}"], "dtype"):  # a group has the parts of a list
        return {"absent": True}
    try:
        return found[f"/{name}"][...]
    except (OSError, nczarr.CompileError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    serve(read)
