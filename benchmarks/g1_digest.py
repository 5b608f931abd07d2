"""Row G1: the digest of 2 GB of values, uncompressed in chunks of (1, 500, 500) in netCDF-4, against `sha256sum` and
`openssl dgst` of the file, and that of the same values in shuffled and deflated chunks of (500, 50, 50), within
256 MiB. Then the digest of 2 GB deflated in chunks of (1, 500, 500) against zlib-ng inflating all chunks in two threads
and nothing else; and their way to chunk files with `--verify`, where zarr-python cannot be imported against the same
without it and inflating once, and where it is the second reader against its reading all values of the store.

Goals: 1.0 of both hashes, 3.0, and 1.15 of the others (more for small inputs, where the start of a process counts), a
peak of memory of 1.3 times the limit. Compared: all have one digest.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fields import HERE, make_file, steps
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "pipeline/compare", "formats/netcdf4", "plugins/second_reader")

MEMORY = 256 << 20

ALONE = "import sys; sys.modules['zarr'] = None; from nczarr.__main__ import process; process()"
"""Our command where zarr-python is not installed."""

READ = """
import sys, zarr
for _, array in zarr.open_group(sys.argv[1], mode="r").arrays():
    for start in range(0, array.shape[0], 8):
        array[start : start + 8]
"""


def row(folder: Path, quick: bool) -> bool:
    """The digest beside a hash of the bytes."""
    need("netCDF4", "sha256sum", "openssl", "h5py", "zlib_ng")
    make_file(folder / "a.nc", steps(quick))
    execute([*OURS, "convert", "a.nc", "plain.nc", "--codec", "none", "-q"], folder)
    execute(
        [*OURS, "convert", "a.nc", "tall.nc", "--chunks", "/t=500,50,50", "--codec", "shuffle+zlib:1", "-q"], folder
    )
    peer = Side(["sha256sum", "plain.nc"])

    def compare() -> str:
        import nczarr

        found = {nczarr.digest(folder / f"{name}.nc") for name in ("a", "plain", "tall")}
        if len(found) != 1:
            raise AssertionError(f"{len(found)} digests of one dataset")
        return f"one digest: {found.pop()}"

    plain = Side([*OURS, "digest", "plain.nc", "--memory", str(MEMORY)])
    met = measure("G1, uncompressed", 2.5 if quick else 1.0, peer, plain, folder, compare, peak_goal=1.3 * MEMORY)
    openssl = Side(["openssl", "dgst", "-sha256", "plain.nc"])
    met &= measure("G1, openssl", 10.0 if quick else 1.0, openssl, plain, folder, compare, peak_goal=1.3 * MEMORY)
    tall = Side([*OURS, "digest", "tall.nc", "--memory", str(MEMORY)])
    goal = 4.0 if quick else 3.0
    met &= measure("G1, tall chunks", goal, peer, tall, folder, compare, 2, peak_goal=1.3 * MEMORY)
    goal = 4.0 if quick else 1.15
    inflating = Side([sys.executable, str(HERE / "inflate_chunks.py"), "a.nc"])
    met &= measure("G1, deflated", goal, inflating, Side([*OURS, "digest", "a.nc"]), folder, compare, 3)

    def compare_stores() -> str:
        import nczarr

        assert (
            nczarr.digest(folder / "ours.zarr") == nczarr.digest(folder / "peer.zarr") == nczarr.digest(folder / "a.nc")
        )
        return "one digest of the file and both stores"

    words = ["convert", "a.nc", "ours.zarr", "-q", "--verify"]
    convert = f"{' '.join(OURS)} convert a.nc peer.zarr -q"
    once = Side(["sh", "-c", f"{convert} && exec {' '.join(inflating.command)}"], ["peer.zarr"])
    alone = Side([sys.executable, "-c", ALONE, *words], ["ours.zarr"])
    met &= measure("G1, verify", goal, once, alone, folder, compare_stores, 3)
    (folder / "read.py").write_text(READ)
    read = Side(["sh", "-c", f"{convert} && exec {sys.executable} read.py peer.zarr"], ["peer.zarr"])
    both = Side([*OURS, *words], ["ours.zarr"])
    return measure("G1, verify by zarr-python", goal, read, both, folder, compare_stores, 3) and met


if __name__ == "__main__":
    main(row)
