"""Takes netCDF files through stores and back with our own code, as a worker: `source, target, folder, route …` a line.

Answer: {"word": "exact"} where a file came back, "refused" or "crashed" with an "error" where none did.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[3])

from tests.support.peers.exactness import SECONDS, through  # noqa: E402
from tests.support.peers.worker import serve  # noqa: E402


def copy(line: str) -> dict[str, Any]:
    source, target, folder, *route = line.split("\t")
    signal.alarm(SECONDS)
    try:
        made, said = through(Path(source), Path(folder), tuple(route))
    except Exception:
        return {"word": "crashed", "error": traceback.format_exc().splitlines()[-1]}
    finally:
        signal.alarm(0)
    if made is None:
        return {"word": "refused", "error": "; ".join(said)}
    os.rename(made, target)
    return {"word": "exact"}


if __name__ == "__main__":
    serve(copy)
