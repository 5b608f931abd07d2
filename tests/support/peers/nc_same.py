"""`nc-same` as a worker: each line is the path of the program and its arguments, tabs between them.

Answer: {"status": its exit status, "text": what it printed}. A process of its own per file would load the netCDF
library each time.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
from typing import Any

import netCDF4  # noqa: F401  (loaded before the program forks)
from worker import serve

_known: dict[str, Any] = {}


def compare(line: str) -> dict[str, Any]:
    program, *arguments = line.split("\t")
    if program not in _known:
        loader = importlib.machinery.SourceFileLoader("nc_same", program)
        spec = importlib.util.spec_from_loader("nc_same", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        _known[program] = module
    with tempfile.TemporaryFile() as out:
        kept = [os.dup(number) for number in (1, 2)]
        for number in (1, 2):  # the program compares in a child, which writes to these
            os.dup2(out.fileno(), number)
        sys.argv = [program, *arguments]
        try:
            status = _known[program].main()
        finally:
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
        out.seek(0)
        return {"status": status, "text": out.read().decode("utf-8", "replace")}


if __name__ == "__main__":
    serve(compare)
