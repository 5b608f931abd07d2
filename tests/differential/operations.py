"""What a draw asks of `nczarr`: a target, a part of the source, and how the target is stored."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

Draw = Any


class Target(NamedTuple):
    """One kind of target: arguments, the suffix of its path, and the readers that judge it.

    No readers: no other library reads it, so it is converted to netCDF-4 by `nczarr`, which is then judged.
    """

    arguments: tuple[str, ...]
    suffix: str
    readers: tuple[tuple[str, str], ...] = ()


ZARR = (("old", "zarr"), ("new", "zarr"))
TARGETS = {
    "nc4": Target(("--to", "netcdf4"), ".nc", (("old", "netcdf"), ("hdf5", "hdf5"))),
    "nc7": Target(("--kind", "nc7"), ".nc", (("old", "netcdf"),)),
    "nc3": Target(("--kind", "nc3"), ".nc", (("old", "netcdf"),)),
    "nc5": Target(("--kind", "nc5"), ".nc", (("old", "netcdf"),)),
    "nczarr": Target(("--to", "nczarr"), ".zarr", (*ZARR, ("old", "netcdf"))),
    "zip": Target(("--to", "nczarr"), ".zip", ZARR),
    "nczarr3": Target(("--to", "nczarr3"), ".zarr", ZARR),
    "zarr2": Target(("--to", "zarr2"), ".zarr", ZARR),
    "zarr3": Target(("--to", "zarr3"), ".zarr", ZARR),
    "draft": Target(("--to", "zarr3-2019"), ".zarr"),
    "refs2": Target(("--to", "reference"), ".json", (("old", "references"),)),
    "refs3": Target(("--to", "reference", "--metadata", "zarr3"), ".json", (("old", "references"),)),
    "parquet": Target(("--to", "reference"), ".parq"),
    "ncs": Target(("--to", "ncstream"), ".ncs"),
    "awkd": Target(("--to", "awkward0"), ".awkd"),
    "cdl": Target(("--to", "cdl"), ".cdl"),
}

CODECS = ("none", "zlib:1", "zstd:3", "shuffle+zlib:1", "bz2:1", "fletcher32", "shuffle+zlib:1+fletcher32")


class Operation(NamedTuple):
    """One way through `nczarr`: kinds of target one after the other, the last of which is judged."""

    hops: tuple[str, ...]
    arguments: tuple[str, ...]
    """Of the last conversion."""
    part: tuple[str, ...]
    """Arguments of the first conversion: variables and sections."""
    only: str | None
    """The variable that is asked for, None: all."""
    region: tuple[slice, ...] | None
    """Its region."""
    reader: int | None = None
    """Which of the target's readers judges it, None: all."""
    joined: int | None = None
    """A second source is joined behind the first: the number of the write that its script leaves out."""


@st.composite
def operations(draw: Draw, shapes: dict[str, tuple[int, ...]], *, joins: bool = False) -> Operation:
    """A way to some target."""
    hops = [draw(st.sampled_from(list(TARGETS)))]
    if draw(st.integers(0, 3)) == 3:
        hops.append(draw(st.sampled_from(list(TARGETS))))
    only, region, part = None, None, []
    joined = draw(st.integers(0, 6)) if joins and draw(st.integers(0, 2)) == 2 else None
    candidates = sorted(name for name, shape in shapes.items() if 0 not in shape)
    if joined is None and candidates and draw(st.integers(0, 2)) == 2:
        only = draw(st.sampled_from(candidates))
        part += ["--var", f"/{only}"]
        if shapes[only] and draw(st.booleans()):
            region = tuple(draw(_ranges(length)) for length in shapes[only])
            texts = [f"{one.start}:{one.stop - 1}:{one.step}" for one in region]
            part += ["--section", f"/{only}({', '.join(texts)})"]
    arguments: list[str] = []
    last = hops[-1]
    if draw(st.booleans()):
        arguments += ["--codec", draw(st.sampled_from(CODECS))]
    shaped = sorted(name for name, shape in shapes.items() if shape and 0 not in shape)
    if shaped and joined is None and only is None and draw(st.booleans()):
        name = draw(st.sampled_from(shaped))
        lengths = ",".join(str(draw(st.integers(1, length))) for length in shapes[name])
        arguments += ["--chunks", f"/{name}={lengths}"]
    if last in ("zarr3", "nczarr3") and draw(st.booleans()):
        arguments += ["--shards", "auto"]
    if last == "draft" and draw(st.integers(0, 3)) == 3:
        arguments += ["--order", draw(st.sampled_from("CF"))]
    if last == "draft" and draw(st.integers(0, 3)) == 3:
        arguments += ["--separator", draw(st.sampled_from("./"))]
    if draw(st.integers(0, 3)) == 3:
        arguments += ["--memory", draw(st.sampled_from(["64KiB", "1MiB"]))]
    if draw(st.integers(0, 3)) == 3:
        arguments += ["--workers", draw(st.sampled_from(["1", "2"]))]
    if draw(st.integers(0, 63)) == 63:  # starts a process that imports the library of the target
        arguments.append("--verify")
    if draw(st.integers(0, 7)) == 7:
        arguments.append("--consolidated")
    return Operation(tuple(hops), tuple(arguments), tuple(part), only, region, draw(st.integers(0, 2)), joined)


@st.composite
def _ranges(draw: Draw, length: int) -> slice:
    """Some of the indices of a dimension, with a step; the last one of the slice is met."""
    start = draw(st.integers(0, length - 1))
    last = draw(st.integers(start, length - 1))
    step = draw(st.integers(1, 3))
    return slice(start, last - (last - start) % step + 1, step)
