"""Seams: the smallest sources whose values change where two parts meet, and what each format makes of them.

`python docs/_tools/seams.py` writes the table of docs/reference/seams.md, and `test_seams.py` holds every cell of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.conftest import run_command

from .conversions import Judges, Trial
from .elements import Source
from .operations import Operation

Oracle = Callable[[Path, Path], list[str]]
"""Compares two netCDF files through the C library, storage aside: one line a difference."""

FORMATS = {
    "nc4": "netCDF-4",
    "nc3": "netCDF-3",
    "nczarr": "nczarr",
    "nczarr3": "nczarr3",
    "zarr2": "zarr2",
    "zarr3": "zarr3",
    "draft": "zarr3-2019",
    "refs2": "reference",
    "ncs": "ncstream",
    "awkd": "awkward0",
    "cdl": "cdl",
}
"""Columns of the table: kinds of target, and their titles."""


def _h5(*lines: str, undefined: bool = False) -> Source:
    script = "\n".join(["import h5py", "f = h5py.File(path, 'w')", *lines, "f.close()"])
    mask = {"v": np.array([False, False, True, True])} if undefined else {}
    return Source("hdf5", "hdf5", ".h5", script, mask)


def _nc(*lines: str) -> Source:
    script = "\n".join(["import netCDF4", "f = netCDF4.Dataset(path, 'w')", *lines, "f.close()"])
    return Source("old", "netcdf", ".nc", script, {})


def _zarr(*lines: str) -> Source:
    script = "\n".join(["import zarr, os", *lines])
    return Source("old", "zarr", ".zarr", script, {})


PAYLOAD = "np.uint32(0x7fc12345).view('f4')"
CHUNKS = (
    "g = zarr.open_group(path, mode='w', zarr_format=2)",
    "a = g.create_array('v', shape=4, chunks=2, dtype='<i4', compressors=None)",
    "a[:] = [1, 2, 3, 4]",
)

SEAMS: dict[str, tuple[str, Source]] = {
    "never-written": (
        "Chunks that were never written, filled with 7 by HDF5 and without `_FillValue`",
        _h5("d = f.create_dataset('v', (4,), '<i4', chunks=(2,), fillvalue=7)", "d[:2] = [1, 2]"),
    ),
    "undefined": (
        "Chunks that were never written in a dataset that is never filled",
        _h5(
            "p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)",
            "p.set_fill_time(h5py.h5d.FILL_TIME_NEVER)",
            "d = f.create_dataset('v', (4,), '<i4', chunks=(2,), dcpl=p)",
            "d[:2] = [1, 2]",
            undefined=True,
        ),
    ),
    "shorter": (
        "A variable that is shorter than its unlimited dimension",
        _nc(
            "f.createDimension('t', None)",
            "f.createVariable('v', 'i4', ('t',))[:3] = 7",
            "f.createVariable('w', 'i4', ('t',))[:6] = 8",
        ),
    ),
    "no-elements": (
        "An unlimited dimension of length 0",
        _nc("f.createDimension('t', None)", "f.createVariable('v', 'i4', ('t',))"),
    ),
    "short-chunk": (
        "A chunk with fewer bytes than its shape",
        _zarr(*CHUNKS, "os.truncate(path + '/v/1', 7)"),
    ),
    "long-chunk": (
        "A chunk with more bytes than its shape",
        _zarr(*CHUNKS, "open(path + '/v/1', 'ab').write(b'1234')"),
    ),
    "equal-names": (
        "Two names that are equal after NFC",
        _h5("f['\\xe9'] = np.int32(1)", "f['e\\u0301'] = np.int32(2)"),
    ),
    "nan-payload": (
        "NaNs of other bits than the usual ones, as values",
        _nc("f.createDimension('x', 2)", f"f.createVariable('v', 'f4', ('x',))[:] = np.array([{PAYLOAD}, 1], 'f4')"),
    ),
    "nan-fill": (
        "A NaN of other bits as `_FillValue`",
        _nc(
            "f.createDimension('x', 2)",
            f"d = f.createVariable('v', 'f4', ('x',), fill_value={PAYLOAD})",
            "d.set_auto_mask(False); d[0] = 1",
        ),
    ),
    "negative-zero": (
        "Zeros with a sign",
        _nc("f.createDimension('x', 2)", "f.createVariable('v', 'f8', ('x',))[:] = np.array([-0.0, 0.0])"),
    ),
    "float-attribute": (
        "Floats as attributes: `0.1f`, `1e20f`",
        _nc("d = f.createVariable('v', 'f4', ())", "d[...] = 1", "d.att = np.array([0.1, 1e20], 'f4')"),
    ),
    "nan-attribute": (
        "NaN as an attribute",
        _nc("d = f.createVariable('v', 'f4', ())", "d[...] = 1", "d.att = np.float32(np.nan)"),
    ),
    "long-attribute": (
        "An integer beyond 2^53 as an attribute",
        _nc("d = f.createVariable('v', 'i4', ())", "d[...] = 1", "d.att = np.int64(2**53 + 1)"),
    ),
    "char": (
        "Chars, NUL and bytes beyond ASCII among them",
        _nc("f.createDimension('x', 3)", "f.createVariable('v', 'S1', ('x',))[:] = np.array([b'a', b'\\0', b'\\xff'])"),
    ),
    "shuffled-char": (
        "Chars behind shuffle and deflate",
        _nc(
            "f.createDimension('x', 6)",
            "d = f.createVariable('v', 'S1', ('x',), zlib=True, shuffle=True, chunksizes=(3,))",
            "d[:] = np.array(list('abcdef'), 'S1')",
        ),
    ),
    "nil": (
        "Texts that are NIL beside empty ones",
        _h5(
            "f.create_dataset('v', (3,), h5py.string_dtype())[1:] = ['', 'a']",
        ),
    ),
    "inner-nul": (
        "HDF5 texts of fixed length with a NUL inside",
        _h5("f['v'] = np.array([b'a\\0b', b'abc'], 'S3')"),
    ),
    "no-member": (
        "Values of an enum that are no member of it",
        _h5("f.create_dataset('v', data=np.array([0, 3], 'i2'), dtype=h5py.enum_dtype({'a': 0, 'b': 1}, 'i2'))"),
    ),
    "big-endian": (
        "Big-endian values behind deflate",
        _h5("f.create_dataset('v', data=np.array([1, -2, 3], '>i4'), chunks=(2,), compression='gzip')"),
    ),
    "null-fill": (
        "A Zarr array whose fill value is null, never written",
        _zarr(
            "g = zarr.open_group(path, mode='w', zarr_format=2)",
            "g.create_array('v', shape=4, chunks=2, dtype='<i4', fill_value=None)",
        ),
    ),
    "scalar": ("A scalar", _nc("f.createVariable('v', 'i2', ())[...] = -3")),
}
"""By name: what is in the source, and the source."""


def outcome(seam: str, target: str, judges: Judges, oracle: Oracle) -> str:
    """What becomes of a seam in a target: `exact`, `kept`, or the codes with which it is refused.

    Exact: converted to netCDF-4, it is the source again for the netCDF library, storage aside. Kept: other libraries
    read the same values and numbers. Raises DifferenceError where a value changes without a word.
    """
    counts: Counter[str] = Counter()
    trial = Trial(SEAMS[seam][1], judges, counts, announced=None)
    try:
        assert trial.make(), (seam, counts)
        trial.run(Operation((target,), (), (), None, None))
        refused = [text.removeprefix("refused: ") for text in counts if text.startswith("refused: ")]
        if refused:
            return ", ".join(f"`{code}`" for code in refused[0].split(", "))
        unreadable = [name for name, each in trial.truth["arrays"].items() if isinstance(each, str)]
        if unreadable:
            return "**changed**"
        if trial.source.suffix == ".zarr":
            return "kept"
        back = trial.folder / "back.nc"
        done = run_command("convert", str(trial.last), str(back), "--to", "netcdf4", "--no-progress")
        if done.status:  # netCDF-4 does not hold what the target holds
            return "kept"
        found = oracle(trial.path, back)
        return "kept" if [line for line in found if not _is_allowed(seam, line)] else "exact"
    finally:
        trial.close()


def _is_allowed(seam: str, line: str) -> bool:
    """Whether a line of the oracle is of a cell that no library defines."""
    return seam == "undefined" and re.search(r"/v\b.*(value|data)", line) is not None


def table(judges: Judges, oracle: Oracle) -> list[str]:
    """The lines of the table of docs/reference/seams.md."""
    lines = [f"| seam | {' | '.join(FORMATS.values())} |", "|---" * (len(FORMATS) + 1) + "|"]
    for seam in SEAMS:
        cells = [outcome(seam, target, judges, oracle) for target in FORMATS]
        lines.append(f"| {seam} | {' | '.join(cells)} |")
    return lines
