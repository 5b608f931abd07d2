"""Drawn HDF5 files over the creation properties of h5py's low level, with some that h5py lacks by ctypes."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np

TYPES = ["<i1", "<i2", ">i4", "<u8", "<f4", ">f8", "S3", "text"]
"""Types of datasets and attributes."""

SIZES = [(4, 4), (4, 8), (8, 4), (8, 8), (4, 4), (8, 4)]
"""Bytes of addresses and lengths."""

SHARED = [0x01, 0x02, 0x04, 0x08, 0x10, 0x1F]
"""Kinds of messages that objects may share: types, shapes, fill values, filters, attributes."""


def set_property(plist: Any, name: str, *numbers: int) -> None:
    """Set a property that h5py lacks, in the HDF5 library of h5py."""
    words = Path("/proc/self/maps").read_text(errors="replace").split()
    found = next(word for word in words if "h5py" in word and "libhdf5-" in word)  # not that of netCDF4
    status: int = getattr(ctypes.CDLL(found), f"H5Pset_{name}")(ctypes.c_int64(plist.id), *numbers)
    assert status >= 0, (name, numbers)


def set_shared(plist: Any, kinds: list[tuple[int, int]], most: int, least: int) -> None:
    """Set shared messages: flags and least bytes of each index; when an index becomes a tree, and a list again."""
    set_property(plist, "shared_mesg_nindexes", len(kinds))
    for place, (flags, size) in enumerate(kinds):
        set_property(plist, "shared_mesg_index", place, flags, size)
    set_property(plist, "shared_mesg_phase_change", most, least)


def file_properties(h5py: Any, pick: random.Random) -> Any:
    """Return the drawn creation properties of a file."""
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    if pick.random() < 0.4:
        strategy = pick.randrange(4)
        plist.set_file_space_strategy(strategy, pick.random() < 0.5, pick.choice([1, 8, 100]))
        if strategy == 1:
            plist.set_file_space_page_size(pick.choice([512, 1024, 4096]))
    if pick.random() < 0.3:
        plist.set_sizes(*pick.choice(SIZES))
    if pick.random() < 0.3:
        plist.set_userblock(pick.choice([512, 1024, 4096, 65536]))
    if pick.random() < 0.3:
        set_property(plist, "sym_k", pick.choice([1, 4, 16]), pick.choice([1, 4, 8]))
    if pick.random() < 0.3:
        set_property(plist, "istore_k", pick.choice([1, 2, 32]))
    if pick.random() < 0.3:
        plist.set_link_creation_order(pick.choice([1, 3]))
    if pick.random() < 0.3:
        plist.set_attr_creation_order(pick.choice([1, 3]))
    if pick.random() < 0.3:
        plist.set_attr_phase_change(*pick.choice([(0, 0), (2, 1), (20, 3)]))
    if pick.random() < 0.25:
        kinds = pick.choice([[(0x1F, 1)], [(0x1F, 40)], [(0x01, 10), (0x10, 10)], [(pick.choice(SHARED), 5)]])
        set_shared(plist, kinds, *pick.choice([(50, 40), (2, 1), (0, 0)]))
    return plist


def group_properties(h5py: Any, pick: random.Random) -> Any:
    """Return the drawn creation properties of a group."""
    plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    plist.set_link_creation_order(pick.choice([0, 1, 3]))
    plist.set_attr_creation_order(pick.choice([0, 1, 3]))
    if pick.random() < 0.5:
        plist.set_attr_phase_change(*pick.choice([(0, 0), (2, 1), (20, 3)]))
    if pick.random() < 0.5:
        set_property(plist, "link_phase_change", *pick.choice([(0, 0), (2, 1), (20, 3)]))
    if pick.random() < 0.5:
        set_property(plist, "est_link_info", pick.choice([0, 3, 100]), pick.choice([1, 20]))
    if pick.random() < 0.3:
        set_property(plist, "local_heap_size_hint", pick.choice([0, 16, 500]))
    plist.set_obj_track_times(pick.random() < 0.5)
    return plist


def values(pick: random.Random, kind: str, shape: tuple[int, ...]) -> Any:
    """Return drawn values of a type."""
    count = int(np.prod(shape))
    if kind == "text":
        texts = ["x" * pick.randrange(9) + str(number) for number in range(count)]
        return np.array(texts, object).reshape(shape)
    if kind == "S3":
        return np.array([b"%d" % pick.randrange(1000) for _ in range(count)], "S3").reshape(shape)
    return np.array([pick.randrange(100) for _ in range(count)], kind).reshape(shape)


def add_dataset(h5py: Any, parent: Any, name: str, pick: random.Random, folder: Path) -> None:
    """Write a dataset with drawn creation properties and values, some of its chunks unwritten."""
    kind, rank = pick.choice(TYPES), pick.choice([0, 1, 1, 2, 3])
    shape = tuple(pick.choice([1, 3, 4, 7]) for _ in range(rank))
    stored = h5py.string_dtype() if kind == "text" else np.dtype(kind)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout = pick.choice(["compact", "contiguous", "chunked", "chunked", "chunked", "external"]) if rank else "compact"
    most = shape
    if layout == "chunked":
        most = tuple(pick.choice([n, n, None, n + 5]) for n in shape)
        plist.set_chunk(tuple(min(pick.choice([1, 2, 3]), one or 3) for one in most))
        filters = pick.sample(["shuffle", "deflate", "fletcher32"], pick.randrange(4)) if kind != "text" else []
        for one in filters:
            getattr(plist, f"set_{one}")(*([4] if one == "deflate" else []))
        if pick.random() < 0.2 and hasattr(plist, "set_chunk_opts"):
            plist.set_chunk_opts(2)
    elif layout == "external" and kind != "text":
        (folder / f"{name}.raw").write_bytes(bytes(1 << 12))
        plist.set_external(bytes(folder / f"{name}.raw"), 0, h5py.h5f.UNLIMITED)
    elif layout == "compact":
        plist.set_layout(h5py.h5d.COMPACT)
    if pick.random() < 0.5 and layout not in ("compact", "external"):
        plist.set_alloc_time(
            pick.choice([h5py.h5d.ALLOC_TIME_EARLY, h5py.h5d.ALLOC_TIME_LATE, h5py.h5d.ALLOC_TIME_INCR])
        )
    if pick.random() < 0.5:
        plist.set_fill_time(pick.choice([h5py.h5d.FILL_TIME_ALLOC, h5py.h5d.FILL_TIME_IFSET]))
    if pick.random() < 0.4 and kind != "text":
        plist.set_fill_value(values(pick, kind, ()))
    plist.set_obj_track_times(pick.random() < 0.5)
    plist.set_attr_creation_order(pick.choice([0, 1, 3]))
    if pick.random() < 0.5:
        plist.set_attr_phase_change(*pick.choice([(0, 0), (2, 1), (20, 3)]))
    limits = tuple(h5py.h5s.UNLIMITED if n is None else n for n in most)
    space = h5py.h5s.create_simple(shape, limits) if rank else h5py.h5s.create(h5py.h5s.SCALAR)
    number = h5py.h5d.create(parent.id, name.encode(), h5py.h5t.py_create(stored, logical=True), space, plist)
    dataset = h5py.Dataset(number)
    if pick.random() < 0.8:
        first = tuple(slice(pick.choice([0, 0, n // 2]), n) for n in shape)
        dataset[first] = values(pick, kind, dataset[first].shape if rank else ())
    add_attributes(h5py, dataset, pick)


def add_attributes(h5py: Any, owner: Any, pick: random.Random) -> None:
    """Write drawn attributes, sometimes more than a header has."""
    for number in range(pick.choice([0, 1, 2, 12])):
        kind = pick.choice(TYPES)
        shape = pick.choice([(), (1,), (3,)])
        data = values(pick, kind, shape)
        owner.attrs.create(
            f"a{pick.randrange(50)}_{number}", data, dtype=h5py.string_dtype() if kind == "text" else None
        )


def write_drawn(h5py: Any, path: Path, seed: int) -> None:
    """Write a drawn file. Raises ValueError, OSError or RuntimeError for properties that HDF5 does not combine."""
    pick = random.Random(seed)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    bounds = [h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V112,
              h5py.h5f.LIBVER_V114, h5py.h5f.LIBVER_LATEST]  # fmt: skip
    low = pick.randrange(len(bounds))
    access.set_libver_bounds(bounds[low], bounds[max(1, pick.randrange(low, len(bounds)))])
    properties = file_properties(h5py, pick)
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, fcpl=properties, fapl=access)) as file:
        groups = [file]
        for number in range(pick.choice([0, 1, 1, 3])):
            parent = pick.choice(groups)
            made = h5py.h5g.create(parent.id, f"g{number}".encode(), gcpl=group_properties(h5py, pick))
            groups.append(h5py.Group(made))
        for group in groups:
            add_attributes(h5py, group, pick)
            for number in range(pick.choice([0, 1, 2, 2, 12])):
                add_dataset(h5py, group, f"{group.name.replace('/', '_')}d{number}", pick, path.parent)
            if len(groups) > 1 and "_d0" in file and pick.random() < 0.2:
                group["soft"] = h5py.SoftLink("/_d0")
