"""Fingerprints of targets, and the files that a run reads.

A document beside a target has the release, the command line and the inputs of its run.
An input is unchanged if its size and time are, or if its content is: clones of a repository have new times.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
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


_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/")

State = tuple[int, int] | None
"""Size and time of a file in nanoseconds; None of one that is away, as it is while an editor replaces it."""

_recorded: dict[str, State] | None = None
"""Files that the present run opened, as they were then; None between runs."""

_hooked = False


@contextmanager
def recording() -> Iterator[dict[str, State]]:
    """Give the files that this process opens for reading meanwhile, as they are at their first opening.

    Python tells of each file that it opens; that a hook for this cannot be removed is why there is one for all runs.
    """
    global _hooked, _recorded
    if not _hooked:
        sys.addaudithook(_note)
        _hooked = True
    found = _recorded = dict[str, State]()
    try:
        yield found
    finally:
        _recorded = None


def _note(event: str, arguments: tuple[object, ...]) -> None:
    """Record the path of a file that is opened for reading; an audit hook of Python, with its events and arguments."""
    if event != "open" or _recorded is None:
        return
    path, mode, flags = (*arguments, None, None)[:3]
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if isinstance(path, str) and not writes and not (isinstance(mode, str) and set(mode) & set("wax+")):
        _recorded.setdefault(path, look_at(path))


def look_at(path: str) -> State:
    """Return the state of a file; what fails in a hook would fail the call that opens the file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def list_inputs(opened: Iterable[str], sources: Iterable[str], passes: Iterable[str], target: str) -> list[str]:
    """Return the files on which a target depends, sorted: relative ones if they are below the working folder.

    `opened`: files that the run opened. `sources`: its paths, which other processes may have read; a store counts with
    all its files. `passes`: places of passes, `module:function`. URLs have no file.
    """
    own = local_paths.absolute(target)
    found = {path for path in map(local_paths.absolute, opened) if _counts(path)}
    for source in sources:
        found.update(map(local_paths.absolute, list_files(source)))
    for place in passes:
        spec = find_spec(place.partition(":")[0])
        if spec is not None and spec.origin is not None:
            found.add(local_paths.absolute(spec.origin))
    inputs = (path for path in found if path != own and not path.startswith(own + os.sep))
    return sorted(_shorten(path) for path in inputs if os.path.isfile(path))


def _counts(path: str) -> bool:
    """Return whether a file may be an input: not of the system, of Python, or of an installed package."""
    programs = {local_paths.absolute(place) + os.sep for place in (sys.prefix, sys.base_prefix, *_list_packages())}
    return not path.endswith(".pyc") and not path.startswith((*_SYSTEM, *programs))


def _list_packages() -> Iterator[str]:
    import nczarr

    yield local_paths.parent_of(str(nczarr.__file__))
    yield from (place for place in sys.path if place.endswith(("site-packages", "dist-packages")))


def list_files(source: str) -> Iterator[str]:
    """Yield the files of a source: itself, or all in its folder."""
    path = source if os.path.lexists(source) else source.removeprefix("file://").partition("#mode=")[0]
    if not local_paths.is_folder(path):
        yield path
        return
    for folder, _, names in local_paths.walk(path):
        yield from (local_paths.join(folder, name) for name in names)


def _shorten(path: str) -> str:
    here = os.getcwd() + os.sep
    return path.removeprefix(here)


def write_depfile(target: str, inputs: Iterable[str]) -> str:
    """Return a rule of Make that Ninja reads as well: a target and the files on which it depends."""
    lines = [f"{_escape(target)}:", *(f"  {_escape(path)}" for path in inputs)]
    return " \\\n".join(lines) + "\n"


def _escape(path: str) -> str:
    """Return a path as Make reads it."""
    escaped = path.replace("$", "$$").replace("#", "\\#")
    return escaped.replace(" ", "\\ ")
