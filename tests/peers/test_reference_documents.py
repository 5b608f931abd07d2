"""Documents that kerchunk and VirtualiZarr made, read by us and by fsspec with zarr-python: what is right for them is
right for us, and what they fail at is never wrong without a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import shared_folder
from tests.support.peers import references

pytestmark = pytest.mark.peer

SHARED = shared_folder()


def recorded() -> Iterator[tuple[str, str]]:
    """Every sample file with every document that was recorded of it."""
    if SHARED is not None:
        for entry in json.loads((SHARED / "data/references/index.json").read_text())["files"]:
            for one in entry["references"]:
                if "references" in one:
                    yield entry["file"], one["references"]


@pytest.fixture(autouse=True)
def libraries(peer: Callable[[str], object]) -> None:
    for name in ("netCDF4", "h5py", "zarr", "fsspec"):
        peer(name)


@pytest.mark.sampled(3)
@pytest.mark.skipif(SHARED is None, reason="shared data are not beside the clone")
@pytest.mark.parametrize(("file", "name"), list(recorded()), ids=lambda given: given if given.endswith("json") else "")
def test_a_recorded_document(file: str, name: str, shared: Path) -> None:
    folder = shared / "data/references"
    found = references.truth(folder / file)
    theirs = references.judge(found, references.read(folder / name, found, "zarr", folder=folder), [])
    seen = references.read(folder / name, found, "ours", folder=folder)
    ours = references.judge(found, seen, seen.said)
    for variable, word in theirs.items():
        if word == "right":
            assert ours[variable] == "right", (variable, seen.said)
        elif word != "wrong":
            assert ours[variable] != "wrong", variable
