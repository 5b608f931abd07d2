"""Repositories that icechunk itself makes, for the tests of our reader."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def icechunk() -> Any:
    """Return the library, which logs errors alone; without it a visible skip."""
    found = pytest.importorskip("icechunk", reason="icechunk is not installed: nczarr[icechunk]")
    found.set_logs_filter("error")
    return found


def make_repository(folder: Path, name: str = "repo") -> tuple[Path, list[str]]:
    """Make a repository with two commits, and return its path and their snapshots.

    `a` is int32 of shape (10,) in chunks of 5: the first is native, the second bytes 4 to 24 of `data.bin`. The tag
    `v1` is the first commit, in which the first chunk is 7, and 8 in the second.
    """
    import zarr

    ice = icechunk()
    (folder / "data.bin").write_bytes(np.arange(100, dtype="<i4").tobytes())
    prefix = f"{folder.as_uri()}/"
    config = ice.RepositoryConfig.default()
    config.set_virtual_chunk_container(ice.VirtualChunkContainer(prefix, ice.local_filesystem_store(str(folder))))
    repository = ice.Repository.create(ice.local_filesystem_storage(str(folder / name)), config=config)
    session = repository.writable_session("main")
    root = zarr.create_group(session.store, overwrite=True)
    array = root.create_array(
        "a", shape=(10,), chunks=(5,), dtype="i4", compressors=None, fill_value=-1, dimension_names=["x"]
    )
    array[:5] = 7
    session.store.set_virtual_ref("a/c/1", f"{prefix}data.bin", offset=4, length=20)
    first = session.commit("first")
    repository.create_tag("v1", first)
    session = repository.writable_session("main")
    zarr.open_group(session.store)["a"][:5] = 8
    return folder / name, [first, session.commit("second")]


def commit_attribute(path: Path) -> None:
    """Make a commit with another program: the main branch gets an attribute."""
    import zarr

    ice = icechunk()
    session = ice.Repository.open(ice.local_filesystem_storage(str(path))).writable_session("main")
    zarr.open_group(session.store).attrs["note"] = "of another program"
    session.commit("By another program")


TELLS_PLACES = find_spec("icechunk") is not None and hasattr(
    __import__("icechunk").IcechunkStore, "array_chunk_iterator"
)
"""True for releases that tell where virtual chunks are."""

FIRST, SECOND = [7] * 5 + [1, 2, 3, 4, 5], [8] * 5 + [1, 2, 3, 4, 5]
"""Values of `a` in both commits."""
