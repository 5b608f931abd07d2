"""Row D2: the metadata of 10,000 arrays as the files of an NCZarr store, against `cp -r` of the same files.

Ours is the back end and the store: from a plan to files in their place. The tree and the plan are made before the
clock starts (rows A1 and E2 measure whole compilations), and in a process of its own, whose time of writing is what
counts. The two are run in turn, into fresh folders, because the file system's mood changes from minute to minute.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from pathlib import Path
from subprocess import run

from harness import ROOT, Run, execute, main, need, set_aside, show

MEASURES = ("link", "stores", "formats/zarr")

GROUPS = 100
GOAL = 1.3


def dataset(count: int, seed: int):
    """`count` variables in 100 groups, with attributes of several types and storage of several kinds."""
    from nczarr.ast import Attribute, Codec, Constant, Dataset, Dimension, Group, Storage, Variable

    rng = random.Random(seed)
    types = ("byte", "short", "int", "int64", "float", "double", "char")

    def variable(number: int) -> Variable:
        chunked = Storage(chunks=(1, 20), codecs=(Codec(id=2), Codec(id=1, parameters=(rng.randint(1, 9),))))
        attributes = (
            Attribute(name="units", value=Constant.text(rng.choice((b"K", b"m s-1", b"1", b"kg m-3")))),
            Attribute(name="long_name", value=Constant.text(b"variable number %d" % number)),
            Attribute(name="scale", value=Constant.numbers("double", [rng.random()])),
            Attribute(name="range", value=Constant.numbers("float", [-rng.random(), rng.random()])),
        )
        storage = chunked if number % 2 else Storage()
        name = f"v{number:05}"
        return Variable(
            name=name, type=rng.choice(types), dimensions=("/time", "/x"), attributes=attributes, storage=storage
        )

    size = count // GROUPS
    groups = tuple(
        Group(name=f"g{group:02}", variables=tuple(variable(group * size + number) for number in range(size)))
        for group in range(GROUPS)
    )
    dimensions = (Dimension(name="time", size=10, unlimited=True), Dimension(name="x", size=20))
    return Dataset(name="many", dimensions=dimensions, groups=groups)


def ours(path: str, count: int) -> None:
    """Write the store; print the seconds from the plan to the finished folder."""
    from nczarr.diagnostics.report import Report
    from nczarr.link.target import fill
    from nczarr.options import Options
    from nczarr.plan.planner import plan_target
    from nczarr.registry import find_format
    from nczarr.semantics import check
    from nczarr.semantics.checked import Unchecked
    from nczarr.stores.directory import DirectoryTarget

    report = Report()
    checked = check(Unchecked(dataset(count, seed=2)), report)
    form = find_format("nczarr")
    assert checked is not None
    assert form is not None
    planned = plan_target(checked, form, Options(), report)
    assert planned is not None
    assert not report.errors
    start = time.perf_counter()
    target = DirectoryTarget(path)
    fill(planned, target, report)
    target.finish()
    print(time.perf_counter() - start)


def compare(folder: Path, count: int) -> str:
    """Every file of both trees is equal, and the documents say what the dataset says."""
    first = {path.relative_to(folder / "ours"): path.read_bytes() for path in (folder / "ours").rglob(".z*")}
    second = {path.relative_to(folder / "peer"): path.read_bytes() for path in (folder / "peer").rglob(".z*")}
    assert first == second
    for group in dataset(count, seed=2).groups:
        for variable in group.variables:
            array = json.loads(first[Path(group.name, variable.name, ".zarray")])
            attributes = json.loads(first[Path(group.name, variable.name, ".zattrs")])
            assert array["shape"] == [10, 20]
            assert array["chunks"] == list(variable.storage.chunks or (10, 20))
            assert attributes["scale"] == variable.attributes[2].value.as_numbers()[0]
            assert attributes["long_name"] == variable.attributes[1].value.data.decode()
            assert attributes["_nczarr_array"]["dimension_references"] == ["/time", "/x"]
    return f"{len(first)} documents equal, {count} arrays say what the dataset says"


def row(folder: Path, quick: bool) -> bool:
    """Many small files."""
    need("cp")
    count = 1000 if quick else 10_000
    command = [sys.executable, __file__, "--ours", str(folder / "ours"), str(count)]
    environment = {"PYTHONPATH": str(ROOT)}
    pairs: list[tuple[Run, float]] = []
    for _ in range(6):
        set_aside(folder, ["ours", "peer"])
        written = float(run(command, env=environment, check=True, capture_output=True, text=True).stdout)
        pairs.append((execute(["cp", "-r", "ours", "peer"], folder), written))
    counted = pairs[1:]
    return show(
        "D2",
        [mine / theirs.seconds for theirs, mine in counted],
        GOAL,
        peer_seconds=round(statistics.median(theirs.seconds for theirs, _ in counted), 4),
        our_seconds=round(statistics.median(mine for _, mine in counted), 4),
        compared=compare(folder, count),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ours"]:
        ours(sys.argv[2], int(sys.argv[3]))
    else:
        main(row)
