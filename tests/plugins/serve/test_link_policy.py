"""Ways out of a root that datasets name themselves: links on the way, places where HDF5 looks as well, pipes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.serving import serving

ARRAY = {
    "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None, "filters": None,
    "fill_value": 0, "order": "C",
}  # fmt: skip
SECRET = b"kept" * 4


@pytest.fixture
def places(tmp_path: Path, peer: Callable[[str], ModuleType]) -> tuple[Path, ModuleType]:
    """A root with links that lead out of it and a hidden folder; what they lead to holds the secret."""
    h5py, numpy = peer("h5py"), peer("numpy")
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "below").mkdir(parents=True)
    (root / ".hidden").mkdir(parents=True)
    for folder in (outside, root / ".hidden"):
        (folder / "raw").write_bytes(SECRET)
        with h5py.File(folder / "data.h5", "w") as file:
            file["v"] = numpy.frombuffer(SECRET, "<i4")
    (root / "to-below").symlink_to(outside / "below")
    (root / "leads-out.h5").symlink_to(outside / "data.h5")
    (root / "piece-0").symlink_to(outside / "data.h5")
    return root, h5py


@pytest.mark.slow
def test_links_on_the_way_and_other_places_where_hdf5_looks(places: tuple[Path, ModuleType]) -> None:
    root, h5py = places
    targets = [
        "to-below/../data.h5",
        f"{root}/to-below/../data.h5",
        f"{root}/nowhere/leads-out.h5",
        "nowhere/leads-out.h5",
        ".hidden/data.h5",
    ]
    for number, target in enumerate(targets):
        with h5py.File(root / f"link-{number}.nc", "w") as file:
            file["l"] = h5py.ExternalLink(target, "/v")
        with h5py.File(root / f"virtual-{number}.nc", "w") as file:
            layout = h5py.VirtualLayout((4,), "<i4")
            layout[:] = h5py.VirtualSource(target, "v", (4,))
            file.create_virtual_dataset("l", layout)
    with serving(root) as served:
        for path in sorted(root.glob("*.nc")):
            for way in (f"/zarr2/{path.name}/l/0", f"/cdmremote/{path.name}?req=data&var=l"):
                reply = served.get(way)
                assert reply.status == 403, (way, reply)
                assert SECRET not in reply.body
                assert str(root) not in reply.text


@pytest.mark.slow
def test_names_of_pieces_that_are_counted(places: tuple[Path, ModuleType]) -> None:
    """`piece-%b` stands for a file for each piece of a virtual dataset."""
    root, h5py = places
    (root.parent / "outside" / "raw0.h5").write_bytes((root / "piece-0").read_bytes())
    for number, name in enumerate((b"piece-%b", b"%b/piece-0", b"to-below/../raw%b.h5")):
        with h5py.File(root / f"counted-{number}.nc", "w") as file:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            space = h5py.h5s.create_simple((4,), (h5py.h5s.UNLIMITED,))
            space.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), (4,), (4,))
            plist.set_virtual(space, name, b"v", h5py.h5s.create_simple((4,)))
            whole = h5py.h5s.create_simple((4,), (h5py.h5s.UNLIMITED,))
            h5py.h5d.create(file.id, b"l", h5py.h5t.STD_I32LE, whole, dcpl=plist)
    with serving(root) as served:
        for number in range(3):
            reply = served.get(f"/zarr2/counted-{number}.nc/l/0")
            assert (reply.status, SECRET in reply.body) == (403, False)


@pytest.mark.slow
def test_references_lead_to_nothing_hidden(places: tuple[Path, ModuleType]) -> None:
    root, _ = places
    document = {".zgroup": '{"zarr_format": 2}', "v/.zarray": json.dumps(ARRAY)}
    (root / "seen").write_bytes(SECRET)
    for name, url in (("hidden", ".hidden/raw"), ("seen", "seen")):
        (root / f"{name}.json").write_text(json.dumps({**document, "v/0": [url, 0, 16]}), encoding="utf-8")
    with serving(root) as served:
        assert served.get("/zarr2/seen.json/v/0").body == SECRET
        reply = served.get("/zarr2/hidden.json/v/0")
        assert (reply.status, SECRET in reply.body) == (403, False)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_pipes_in_stores_hold_nobody_up(tmp_path: Path) -> None:
    """A pipe to which nobody writes would keep a thread for ever."""
    for name in ("attributes", "chunk"):
        store = tmp_path / f"{name}.zarr"
        (store / "v").mkdir(parents=True)
        (store / ".zgroup").write_text('{"zarr_format": 2}', encoding="utf-8")
        (store / "v" / ".zarray").write_text(json.dumps(ARRAY), encoding="utf-8")
        os.mkfifo(store / (".zattrs" if name == "attributes" else "v/0"))
    with serving(tmp_path, "--timeout", "5") as served:
        for name, status in (("attributes", 404), ("chunk", 500)):  # a pipe is listed, but holds no chunk
            for _ in range(3):
                assert served.get(f"/zarr2/{name}.zarr/.zgroup").status == 200
            assert served.get(f"/zarr3/{name}.zarr/v/c/0").status == status


def test_a_chunk_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root" / "a.zarr" / "v").mkdir(parents=True)
    (tmp_path / "root" / "a.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "root" / "a.zarr" / "v" / ".zarray").write_text(json.dumps(ARRAY))
    (tmp_path / "raw").write_bytes(SECRET)
    (tmp_path / "root" / "a.zarr" / "v" / "0").symlink_to(tmp_path / "raw")
    with serving(tmp_path / "root") as served:
        for way in ("/zarr2/a.zarr/v/0", "/dap2/a.zarr.dods?v", "/cdmremote/a.zarr?req=data&var=v", "/view/a.zarr"):
            reply = served.get(way)
            assert (reply.status, "symbolic link" in reply.text, "kept" in reply.text) == (403, True, False), way
