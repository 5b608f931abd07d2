"""Row G1: the digest of 2 GB of values, uncompressed in chunks of (1, 500, 500) in netCDF-4, against `sha256sum` of
the file, and that of the same values in shuffled and deflated chunks of (500, 50, 50), within 256 MiB.

Goals: 1.0 and 3.0 (2.5 and 4.0 for small inputs, where the start of a process counts), a peak of memory of 1.3 times
the limit. Compared: all have one digest.
"""

from __future__ import annotations

from pathlib import Path

from fields import make_file, steps
from harness import OURS, Side, execute, main, measure, need

MEASURES = ("arrays", "pipeline/compare", "formats/netcdf4")

MEMORY = 256 << 20


def row(folder: Path, quick: bool) -> bool:
    """The digest beside a hash of the bytes."""
    need("netCDF4", "sha256sum")
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
    tall = Side([*OURS, "digest", "tall.nc", "--memory", str(MEMORY)])
    return (
        measure("G1, tall chunks", 4.0 if quick else 3.0, peer, tall, folder, compare, 2, peak_goal=1.3 * MEMORY)
        and met
    )


if __name__ == "__main__":
    main(row)
