"""Lossy filters and codecs: values are those that were read, whatever becomes of their chunks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nczarr.arrays.codecs import table
from nczarr.ast import Codec
from tests.conftest import run_command
from tests.support.library import library

h5py = library("h5py")
numcodecs = library("numcodecs")
zarr = library("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")

SHAPE, CHUNKS = (24, 5), (6, 5)
NUMBERS = np.random.default_rng(1).normal(280, 15, SHAPE)
LOSSY_OF_HDF5: dict[str, dict[str, Any]] = {
    "scale-offset": {"data": NUMBERS, "scaleoffset": 2},
    "scale-offset of floats": {"data": NUMBERS.astype("f4"), "scaleoffset": 1, "shuffle": True, "compression": "gzip"},
    "scale-offset with a fill value": {"data": NUMBERS, "scaleoffset": 3, "fillvalue": -1.0},
    "few bits": {"data": NUMBERS.astype("i4"), "scaleoffset": 4},
}
LOSSY_OF_ZARR: dict[str, Any] = {
    "fixedscaleoffset": numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="f8", astype="i4"),
    "bitround": numcodecs.BitRound(8),
    "quantize": numcodecs.Quantize(1, "f8"),
    "delta": numcodecs.Delta("f8"),
    "astype": numcodecs.AsType("f4", "f8"),
}


def make_file(path: Path, first: int = 0, **given: Any) -> Path:
    """Make an HDF5 file of `v(t, x)` with a filter, and times that begin with `first`."""
    with h5py.File(path, "w") as file:
        times = file.create_dataset("t", data=first + np.arange(SHAPE[0], dtype="f8"), maxshape=(None,), chunks=(6,))
        times.make_scale("t")
        file["x"] = np.arange(SHAPE[1])
        file["x"].make_scale("x")
        values = file.create_dataset("v", maxshape=(None, SHAPE[1]), chunks=CHUNKS, **given)
        values.dims[0].attach_scale(times)
        values.dims[1].attach_scale(file["x"])
    return path


def make_store(path: Path, codec: Any, first: int = 0) -> Path:
    """Make a store of Zarr v2 of `v(t, x)` with a filter, and times that begin with `first`."""
    group = zarr.open_group(path, mode="w", zarr_format=2)
    times = group.create_array("t", shape=SHAPE[:1], chunks=(6,), dtype="f8", fill_value=None)
    times[:], times.attrs["_ARRAY_DIMENSIONS"] = first + np.arange(SHAPE[0]), ["t"]
    values = group.create_array(
        "v",
        shape=SHAPE,
        chunks=CHUNKS,
        dtype="f8",
        filters=[codec] if codec else None,
        compressors=None,
        fill_value=None,
    )
    values[:], values.attrs["_ARRAY_DIMENSIONS"] = NUMBERS, ["t", "x"]
    return path


def values_of(path: Path) -> Any:
    """Return the values that h5py or zarr-python reads."""
    if path.suffix == ".zarr":
        return zarr.open_group(path, mode="r")["v"][:]
    with h5py.File(path) as file:
        return file["v"][:]


def filters_of(path: Path) -> set[str]:
    with h5py.File(path) as file:
        return set(file["v"]._filters)


@pytest.mark.parametrize("name", [name for name in LOSSY_OF_HDF5 if "shuffle" not in LOSSY_OF_HDF5[name]])
def test_chunks_that_are_copied_keep_the_filter(tmp_path: Path, name: str) -> None:
    source = make_file(tmp_path / "a.h5", **LOSSY_OF_HDF5[name])
    done = run_command("convert", str(source), str(tmp_path / "b.nc"))
    assert (done.status, "dropped-filter" in done.err, "plugin-filter" in done.err) == (0, False, False)
    assert filters_of(tmp_path / "b.nc") == filters_of(source)
    np.testing.assert_array_equal(values_of(tmp_path / "b.nc"), values_of(source))


def test_the_order_of_the_library_is_another_chain(tmp_path: Path) -> None:
    """netCDF-C puts shuffle first, HDF5 behind scale-offset: no chunk can be copied."""
    source = make_file(tmp_path / "a.h5", **LOSSY_OF_HDF5["scale-offset of floats"])
    done = run_command("convert", str(source), str(tmp_path / "b.nc"))
    assert (done.status, "dropped-filter" in done.err) == (0, True)
    assert filters_of(tmp_path / "b.nc") == {"shuffle", "gzip"}
    np.testing.assert_array_equal(values_of(tmp_path / "b.nc"), values_of(source))


def test_a_hidden_filter_is_not_applied_to_values_that_changed(tmp_path: Path) -> None:
    source, store = make_file(tmp_path / "a.h5", data=NUMBERS, scaleoffset=3), tmp_path / "s.zarr"
    assert run_command("convert", str(source), str(store)).status == 0
    array = zarr.open_group(store, mode="r+")["v"]
    array[:] = array[:] * 1.0000123
    done = run_command("convert", str(store), str(tmp_path / "b.nc"))
    assert (done.status, "warning[dropped-filter]: chunks of `/v`" in done.err) == (0, True)
    np.testing.assert_array_equal(values_of(tmp_path / "b.nc"), array[:])


def test_a_text_that_asks_for_the_filter_gets_it(tmp_path: Path) -> None:
    text = tmp_path / "a.cdl"
    text.write_text(
        'netcdf a { dimensions: x = 4 ; variables: double v(x) ; v:_Filter = "6,0,1" ; v:_ChunkSizes = 4 ;\n'
        "data: v = 1.23, 2.34, 3.45, 4.56 ; }"
    )
    done = run_command("compile", str(text), "-o", str(tmp_path / "a.nc"), "--kind", "nc4")
    assert (done.status, done.err) == (0, "")
    np.testing.assert_allclose(values_of(tmp_path / "a.nc"), [1.23, 2.34, 3.45, 4.56], atol=0.06)
    assert "scaleoffset" in filters_of(tmp_path / "a.nc")


def test_appended_values_are_exact(tmp_path: Path) -> None:
    target = make_file(tmp_path / "a.h5", data=NUMBERS, scaleoffset=1)
    source = make_file(tmp_path / "b.h5", SHAPE[0], data=NUMBERS / 7)
    expected = np.concatenate((values_of(target), values_of(source)))
    done = run_command("append", str(source), str(target), "--along", "t")
    assert (done.status, "dropped-filter" in done.err) == (0, True), done.err
    np.testing.assert_array_equal(values_of(target), expected)


@pytest.mark.plugin("rare_codecs")
def test_stores_with_a_lossy_codec_are_not_extended(tmp_path: Path) -> None:
    target = make_store(tmp_path / "a.zarr", LOSSY_OF_ZARR["bitround"])
    source = make_store(tmp_path / "b.zarr", None, SHAPE[0])
    before = values_of(target)
    done = run_command("append", str(source), str(target), "--along", "t")
    assert done.status == 2
    assert "`/v` has the lossy codec bitround, which would change the values" in done.err
    np.testing.assert_array_equal(values_of(target), before)


def test_filters_of_few_bits_are_no_loss(tmp_path: Path) -> None:
    kind = h5py.h5t.STD_I16LE.copy()
    kind.set_precision(12)
    storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    storage.set_chunk((4,))
    storage.set_filter(table.NBIT, 0, ())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = h5py.h5d.create(file.id, b"v", kind, h5py.h5s.create_simple((8,)), storage)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(-4, 4, dtype="<i2"))
    for chunks in ("4", "3"):
        done = run_command(
            "convert", str(tmp_path / "a.h5"), str(tmp_path / f"{chunks}.nc"), "--chunks", f"/v={chunks}"
        )
        assert done.status == 0, done.err
        np.testing.assert_array_equal(values_of(tmp_path / f"{chunks}.nc"), np.arange(-4, 4))


@pytest.mark.parametrize(
    ("number", "parameters", "expected"),
    [(1, (5,), False), (4, (32, 8), False), (5, (), False), (6, (0, 3), True), (6, (2, 4), True), (6, (2, 0), False),
     (32013, (), True), (32015, (3,), False), (60000, (), True)],
)  # fmt: skip
def test_filters_that_may_change_values(number: int, parameters: tuple[int, ...], expected: bool) -> None:
    assert table.is_lossy_filter(Codec(id=number, parameters=parameters)) is expected


@pytest.mark.plugin("rare_codecs")
@pytest.mark.parametrize(
    ("step", "expected"),
    [({"id": "delta", "dtype": "<i4"}, False), ({"id": "delta", "dtype": "<i4", "astype": "<i2"}, True),
     ({"id": "delta", "dtype": "<f8"}, True), ({"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"}, False),
     ({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}, True), ({"id": "packbits"}, False),
     ({"id": "cast_value", "dtype": "<f8", "stored": "<i2", "maps": {}}, True), ({"id": "zlib"}, False),
     ({"id": "scale_offset", "dtype": "<i4", "stored": "<i4"}, False),
     ({"id": "scale_offset", "dtype": "<f4", "stored": "<f4"}, True)],
)  # fmt: skip
def test_codecs_that_may_change_values(step: dict[str, Any], expected: bool) -> None:
    assert bool(table.list_lossy([step])) is expected


@pytest.mark.parametrize("seed", range(24))
def test_drawn_conversions(tmp_path: Path, seed: int) -> None:
    convert_drawn(tmp_path, random.Random(seed))


def convert_drawn(folder: Path, draw: random.Random) -> None:
    """Convert a drawn source once or twice, and compare each result with the values before."""
    makers: list[Callable[[], Path]] = [
        *(lambda given=given: make_file(folder / "a.h5", **given) for given in LOSSY_OF_HDF5.values()),  # type: ignore[misc]
        *(lambda codec=codec: make_store(folder / "a.zarr", codec) for codec in LOSSY_OF_ZARR.values()),  # type: ignore[misc]
    ]
    source = draw.choice(makers)()
    expected = values_of(source)
    for number in range(draw.randint(1, 2)):
        form = draw.choice(("netcdf4", "zarr2", "zarr3", "nczarr"))
        target = folder / f"{number}.{'nc' if form == 'netcdf4' else 'zarr'}"
        options, command = [], draw.choice(("convert", "rechunk"))
        if command == "convert" and draw.random() < 0.5:
            first = draw.randint(0, max(0, len(expected) - 2))
            last = draw.randint(first, len(expected) - 1)
            options += ["--dim", f"t={first}:{last}"]
            expected = expected[first : last + 1]
        if command == "rechunk" or draw.random() < 0.5:
            options += ["--chunks", f"/v={draw.randint(1, 9)},{draw.randint(1, 5)}"]
        done = run_command(command, str(source), str(target), "--to", form, *options)
        assert done.status == 0, done.err
        np.testing.assert_array_equal(values_of(target), expected)
        source = target
