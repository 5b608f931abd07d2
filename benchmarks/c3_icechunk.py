"""Row C3: 200,000 chunks of one netCDF-4 file as virtual chunks of an icechunk repository, beside VirtualiZarr.

Goals: 0.5 of VirtualiZarr's time and of its work, from the file to the commit in a new repository, whole processes. The
references alone, from memory into a session, are measured as `to_icechunk` in one process: icechunk's calls are the
same on both sides. NCZARR_KERCHUNK names an interpreter that has VirtualiZarr, icechunk 2 and our dependencies; it runs
both. Compared: the values of 1,000 chunks through zarr-python, and the number of chunks.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

from c1_references import COLUMNS, MAKE
from harness import Side, apart, execute, main, need_beside, seconds_and_peaks, show

MEASURES = ("arrays/chunks", "plan", "link", "formats/netcdf4", "plugins/icechunk")

LEAVE = """
import os, sys
def leave(text):  # icechunk 2.3 sometimes crashes while the interpreter ends
    with open(sys.argv[2], "w") as file:
        file.write(text)
    os._exit(0)
"""
OPEN = """
import sys, os, icechunk
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser
icechunk.set_logs_filter("error")
here = os.getcwd() + "/"
def repository(name):
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(here)
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer("file://" + here, store))
    return icechunk.Repository.create(icechunk.local_filesystem_storage(name), config=config)
def opened(name):
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    return open_virtual_dataset("file://" + here + name, registry=registry, parser=HDFParser(), loadable_variables=[])
"""
THEIRS = (
    OPEN
    + """
dataset = opened(sys.argv[1])
session = repository(sys.argv[2]).writable_session("main")
dataset.vz.to_icechunk(session.store)
session.commit("all")
"""
)
SESSIONS = (
    LEAVE
    + OPEN
    + """
import json, time, numpy as np, zarr
from nczarr import registry
from nczarr.pipeline import phases
from nczarr.api.options import options_from
from nczarr.plan.reference_layout import refer_chunks
from nczarr.diagnostics.report import Report
from nczarr.plugins.icechunk.target import VirtualTarget
from nczarr.link.target import emit
from nczarr.link.tasks import arrays
from nczarr.arrays.regions import grid_of
from nczarr.arrays.chunks.manifest import Referred
from nczarr.stores.url import Repository
report = Report()
options = options_from(virtual=True).change(source=sys.argv[1])
checked = phases.read_path(sys.argv[1], report, options)
plan = phases.plan(checked, registry.find_format("icechunk"), report, options)
(array,) = [each for each in arrays(plan) if each.route == "reference"]
columns = refer_chunks(array.source, array.target.layout)
found = Referred(array.chunk_keys, grid_of(array.target.layout.shape, array.unit), columns)
documents = list(emit(plan, report))
dataset = opened(sys.argv[1])
times = {"theirs": [], "ours": []}
def measured(side, call):
    wall, work = time.perf_counter(), time.process_time()
    call()
    times[side].append((time.perf_counter() - wall, time.process_time() - work))
for number in range(8):
    session = repository(f"sessions-theirs{number}").writable_session("main")
    measured("theirs", lambda: dataset.vz.to_icechunk(session.store))
    target = VirtualTarget(Repository(here + f"sessions-ours{number}"), plan.options)
    def ours():
        for key, document in documents:
            target.put(key, document)
        assert target.accepts(columns.sources)
        target.add(found)
        target.set_references()
    measured("ours", ours)
    target.abort()
leave(json.dumps(times))
"""
)
READ = (
    LEAVE
    + """
import json, icechunk, zarr, hashlib, numpy as np, asyncio
icechunk.set_logs_filter("error")
storage = icechunk.local_filesystem_storage(sys.argv[1])
prefixes = icechunk.Repository.fetch_config(storage).virtual_chunk_containers
access = {prefix: icechunk.credentials.LocalFileSystemAccess for prefix in prefixes}
session = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access).readonly_session("main")
async def count():
    return sum([1 async for _ in session.chunk_coordinates("/v")])
array = zarr.open_group(session.store, mode="r")["v"]
rows = np.random.default_rng(1).integers(0, array.shape[0] // 4, 5)
digest = hashlib.sha256(b"".join(np.asarray(array[4 * row : 4 * row + 4]).tobytes() for row in rows)).hexdigest()
leave(json.dumps([asyncio.run(count()), digest]))
"""
)
GOAL = 0.5


def row(folder: Path, quick: bool) -> bool:
    """Whole processes in turn, then the references alone."""
    interpreter = need_beside("NCZARR_KERCHUNK", "virtualizarr", "icechunk")
    rows = 100 if quick else 1000
    execute([sys.executable, "-c", MAKE, "c3.nc", str(rows)], folder)
    theirs = Side([interpreter, "-c", THEIRS, "c3.nc", "theirs"], ["theirs"])
    command = ["convert", "-q", "c3.nc", "icechunk:ours", "--virtual", "--inline", "0", "--metadata", "zarr3"]
    ours = Side([interpreter, "-m", "nczarr", *command], ["ours"])
    pairs = [(theirs.run(folder), ours.run(folder)) for _ in range(6)][1:]
    compared = apart(functools.partial(_compare, folder, interpreter, rows * COLUMNS))
    execute([interpreter, "-c", SESSIONS, "c3.nc", "times.json"], folder)
    times = json.loads((folder / "times.json").read_text())
    met = show(
        "C3",
        [mine.seconds / peer.seconds for peer, mine in pairs],
        GOAL,
        **seconds_and_peaks(pairs),
        compared=compared,
    )
    met &= show("C3, work", [mine.work / peer.work for peer, mine in pairs], GOAL)
    for which, name in enumerate(("C3, references", "C3, work of references")):
        alone = zip(times["theirs"], times["ours"], strict=True)
        show(name, [mine[which] / peer[which] for peer, mine in alone], GOAL)
    return met


def _compare(folder: Path, interpreter: str, entries: int) -> str:
    """Number of chunks and values of five rows of chunks, read by zarr-python from both repositories."""
    found = []
    for name in ("theirs", "ours"):
        execute([interpreter, "-c", READ, name, f"{name}.json"], folder)
        found.append(json.loads((folder / f"{name}.json").read_text()))
    if found[0] != found[1] or found[0][0] != entries:
        raise AssertionError(f"{found[0]} and {found[1]}, not {entries} chunks")
    return f"{entries} references, {5 * COLUMNS} chunks"


if __name__ == "__main__":
    main(row)
