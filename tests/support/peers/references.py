"""References made by us and by others, read through fsspec and zarr-python and held against libnetcdf, variable by
variable: the work of test_references_values.py and of docs/_tools/reference_peers.py.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import plain_values
from .plain_values import Box, Lists, Records, Values
from .worker import MEMORY, Worker

TOOLS = ("kerchunk", "kerchunk-inline0", "virtualizarr")
SECONDS = 30
"""Time that a program has for one file."""

OUR_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}

Word = Literal["right", "wrong", "lost", "named", "unreadable", "no document"]
"""What became of a variable: `wrong` values or shape, nowhere and not mentioned (`lost`), not there and `named` in a
message, there and not readable, or there is no document at all."""


class Truth(NamedTuple):
    """What a file holds: values, cells that nobody defines, and classes by the name of the variable without a slash."""

    values: dict[str, Values]
    undefined: dict[str, list[Box]]
    classes: dict[str, list[str]]
    unread: tuple[str, ...]


def truth(path: Path) -> Truth:
    """What libnetcdf reads, and h5py where netCDF4-python shows nothing; AssertionError if the file does not open."""
    worker = _worker("read_truth.py")
    answer = worker.ask(str(path))
    if str(answer.get("error", "")).startswith("crash"):  # perhaps of what an earlier file has done to its memory
        answer = worker.ask(str(path))
    if "error" in answer and path.read_bytes()[:1] != b"C":  # some types of records crash netCDF4-python
        answer = worker.ask(f"hdf5:{path}")
    assert "error" not in answer, answer["error"]
    values, unread = {}, []
    for name, array in answer["values"].items():
        try:
            assert array is not None
            values[name] = plain_values.plain(array)
        except (AssertionError, TypeError, ValueError):
            unread.append(name)
    return Truth(values, answer["undefined"], answer["classes"], tuple(unread))


class Seen(NamedTuple):
    """What a reader sees of a document: values, or a word where there are none; what it said."""

    values: dict[str, Values | Word]
    said: list[str]


def read(document: Path, found: Truth, reader: str = "zarr", form: int = 2, folder: Path | None = None) -> Seen:
    """Every variable of a file through a document: by `zarr`-python over fsspec, or by `ours`.

    `folder`: where relative URLs start, if it is not where the document lies.
    """
    asked = {"document": str(document), "format": form, "names": list(found.values)}
    if folder is not None:
        asked["folder"] = str(folder)
    answer = _worker("read_references.py" if reader == "zarr" else "read_ours.py").ask(json.dumps(asked))
    if "error" in answer:
        return Seen(dict.fromkeys(found.values, "unreadable"), [answer["error"]])
    trees = answer["values"]
    said = [*answer.get("said", ()), *(each["error"] for each in trees.values() if "error" in _tree(each))]
    return Seen({name: assembled(tree, found.values[name]) for name, tree in trees.items()}, said)


def _tree(answered: Any) -> dict[str, Any]:
    return answered if isinstance(answered, dict) else {}


def assembled(tree: Any, like: Values) -> Values | Word:
    """Values of an array or of a group that stands for a variable."""
    if not isinstance(tree, dict):
        try:
            return plain_values.plain(tree)
        except (TypeError, ValueError):
            return "unreadable"
    if "absent" in tree:
        return "lost"
    if "error" in tree:
        return "unreadable"
    members = tree["members"]
    if {"counts", "content"} == set(members) and not isinstance(like, Records):
        content = assembled(members["content"], _content(like))
        return content if isinstance(content, str) else plain_values.ragged(members["counts"], content)
    if isinstance(like, Records) and set(members) == {name for name, _ in like.members}:
        parts = [(name, assembled(members[name], member)) for name, member in like.members]
        failed = [part for _, part in parts if isinstance(part, str)]
        return failed[0] if failed else Records(like.shape, tuple(parts))
    return "wrong"


def _content(lists: Lists) -> Values:
    """Something of the form of what the lists hold."""
    return lists.items[0] if lists.items else lists


def excused(words: dict[str, Word], allowed: dict[str, Word]) -> dict[str, Word]:
    """What is neither right nor the word that is allowed for it."""
    return {name: word for name, word in words.items() if word not in ("right", allowed.get(name))}


def judge(found: Truth, seen: Seen | None, said: list[str]) -> dict[str, Word]:
    """What became of each variable; `seen` None: there is no document; `said` while it was made."""
    words: dict[str, Word] = {}
    for name, values in found.values.items():
        mine: Values | Word = "no document" if seen is None else seen.values[name]
        if isinstance(mine, str):
            named = re.compile(rf"(?<!\w){re.escape(name.rpartition('/')[2])}(?!\w)")
            words[name] = "named" if mine == "lost" and any(map(named.search, said)) else mine
        else:
            words[name] = "right" if plain_values.same(values, mine, found.undefined.get(name, ())) else "wrong"
    return words


def by_us(path: Path, document: Path, *options: str) -> tuple[bool, list[str]]:
    """Whether we make a document, and what we say; what cannot be a reference is left out."""
    command = [sys.executable, "-m", "nczarr", "convert", str(path), str(document), "--to", "reference", "--overwrite"]
    command += ["--message-format", "json", "--allow-loss", "all", *options]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, env=OUR_ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return False, [f"not done after {SECONDS} seconds"]
    said = [json.loads(line) for line in done.stderr.decode().splitlines() if line.startswith("{")]
    return done.returncode == 0, [" ".join([each["message"], *each["notes"], *each["helps"]]) for each in said]


def others_interpreter() -> str | None:
    """The interpreter that has kerchunk and VirtualiZarr: NCZARR_KERCHUNK names it."""
    return os.environ.get("NCZARR_KERCHUNK")


def by_others(tool: str, interpreter: str, path: Path, document: Path) -> tuple[bool, list[str]]:
    """Whether another program makes a document, and what it says."""
    maker = Path(__file__).with_name("make_references.py")
    command = [interpreter, str(maker), tool, str(path), str(document)]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HDF5_PLUGIN_PATH")}
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        return False, [f"not done after {SECONDS} seconds"]
    if done.returncode:
        return False, done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return True, json.loads(done.stdout.splitlines()[-1])["said"]


@functools.cache
def _worker(script: str) -> Worker:
    worker = Worker(script, 4 * MEMORY)
    atexit.register(worker.close)
    return worker
