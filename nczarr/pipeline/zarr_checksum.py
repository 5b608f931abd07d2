"""Checksum of the files of a Zarr store as a tree, as DANDI and zarr_checksum compute it."""

import hashlib
import json
from collections import defaultdict

from nczarr.stores.base import Store


def compute_checksum(store: Store) -> str:
    """Return the checksum of all keys of a store: `MD5-FILES--BYTES`. Raises OSError.

    Each folder has the MD5 of a JSON text with its folders and files, sorted by name,
    each with digest, name and bytes.
    """
    files: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    folders: dict[str, set[str]] = defaultdict(set)
    for key in store.keys(""):
        data = store.get(key)
        if data is None:
            continue
        home, _, name = key.rpartition("/")
        files[home].append((name, hashlib.md5(data, usedforsecurity=False).hexdigest(), len(data)))
        while home:
            above, _, name = home.rpartition("/")
            folders[above].add(name)
            home = above

    def compute(home: str) -> tuple[str, int, int]:
        """Return digest, files and bytes of a folder."""
        listed = []
        number, size = len(files[home]), sum(length for *_, length in files[home])
        for name in sorted(folders[home]):
            digest, count, length = compute(f"{home}/{name}" if home else name)
            listed.append({"digest": digest, "name": name, "size": length})
            number, size = number + count, size + length
        members = [{"digest": digest, "name": name, "size": length} for name, digest, length in sorted(files[home])]
        text = json.dumps({"directories": listed, "files": members}, separators=(",", ":"))
        md5 = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        return f"{md5}-{number}--{size}", number, size

    return compute("")[0]
