"""Fingerprints of targets: a document beside one has the release, the command line and the inputs of its run.

An input is unchanged if its size and time are, or if its content is: clones of a repository have new times.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import __version__
from nczarr.stores import local_paths

SUFFIX = ".nczarr-inputs.json"
"""End of the name of the document, behind that of the target."""

HASHED = 64 << 20
"""Largest file whose content counts if its time changed; larger ones count as changed."""


UNSETTLED = 2_000_000_000
"""Nanoseconds in which a file may change without another time, on the coarsest of file systems (FAT)."""


def place_of(target: str) -> str:
    """Return the path of the document of a target."""
    return target.rstrip("/") + SUFFIX


def is_current(target: str, words: Sequence[str]) -> bool:
    """Return whether a target was made by this command line, this release and these inputs, and is as it was made."""
    try:
        with open(place_of(target), encoding="utf-8") as file:
            made = json.load(file)
            written = os.fstat(file.fileno()).st_mtime_ns
        return (
            made["release"] == __version__
            and made["words"] == list(words)
            and made["target"] == _state(target)
            and all(_is_same(path, state, written) for path, state in made["inputs"].items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # no document, one of another release, or a file that has gone: the run makes all of it again


def _state(path: str) -> list[int]:
    """Return size and time of a file; of a folder, those of its entries in all."""
    if not local_paths.is_folder(path):
        found = os.stat(path)
        return [found.st_size, found.st_mtime_ns]
    times = [os.stat(local_paths.join(folder, name)) for folder, _, names in local_paths.walk(path) for name in names]
    return [sum(each.st_size for each in times), max((each.st_mtime_ns for each in times), default=0), len(times)]


def _is_same(path: str, state: dict[str, Any], written: int) -> bool:
    """Return whether an input is unchanged. `written`: time of the document, in nanoseconds.

    A file that changed again while the clock of the system stood still has the time that it had: just before the
    document was written, a time says nothing.
    """
    size, time = _state(path)
    if size != state["size"]:
        return False
    is_settled = time == state["time"] and written - time > UNSETTLED
    return is_settled or ("sha256" in state and _hash(path) == state["sha256"])


def _hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_fingerprint(target: str, words: Sequence[str], inputs: Iterable[str]) -> None:
    """Write the document of a target. Raises OSError."""
    states = {}
    for path in inputs:
        size, time = _state(path)
        states[path] = {"size": size, "time": time, **({"sha256": _hash(path)} if size <= HASHED else {})}
    made = {"release": __version__, "words": list(words), "target": _state(target), "inputs": states}
    unfinished = f"{place_of(target)}.partial"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(made, file, indent=1)
        file.write("\n")
    os.replace(unfinished, place_of(target))
