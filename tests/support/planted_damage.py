"""Sixty damages in data: ten kinds, six files or stores of each, all written by other libraries."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SHAPE, CHUNKS = (6, 8), (2, 4)
"""Shape of `temp` and of its chunks."""

TIMES = np.arange(6.0)

Change = Callable[[Path], None]


class Planted(NamedTuple):
    """One damaged file or store."""

    kind: str
    """Kind of damage."""
    form: str
    """Format: netcdf3, netcdf4, zarr2, zarr3, nczarr or reference."""
    path: Path
    code: str
    """Code with which it must be reported."""
    places: tuple[str, ...]
    """Texts of the report: variable and chunk, or key."""


def _values() -> Any:
    return np.random.default_rng(7).random(SHAPE).astype("f4")


def _make_netcdf(path: Path, form: str, temp: Any, time: Any, attributes: dict[str, Any], **storage: Any) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w", format=form) as dataset:
        dataset.createDimension("time", None if form == "NETCDF3_CLASSIC" else SHAPE[0])
        dataset.createDimension("x", SHAPE[1])
        fill = attributes.pop("_FillValue", None)
        coordinate = dataset.createVariable("time", "f8", ("time",))
        coordinate.units = "days since 2000-01-01"
        variable = dataset.createVariable("temp", "f4", ("time", "x"), fill_value=fill, **storage)
        variable.setncatts(attributes)
        dataset.set_auto_mask(False)
        coordinate[:], variable[:] = time, temp


def _make_zarr(path: Path, version: int, temp: Any, time: Any, attributes: dict[str, Any], codec: str) -> None:
    import numcodecs
    import zarr

    fill = attributes.pop("_FillValue", None)
    if version == 2 and fill is not None:
        attributes["_FillValue"] = float(fill)
    group = zarr.create_group(store=str(path), zarr_format=version)
    own: dict[str, Any] = {"none": {"compressors": None}}.get(codec, {})
    if version == 2:
        own = own or {
            "zlib": {"compressors": numcodecs.Zlib(1)},
            "checksum": {"filters": [numcodecs.CRC32()], "compressors": None},
        }.get(codec, {})
    else:
        from zarr.codecs import Crc32cCodec, GzipCodec

        own = own or {"zlib": {"compressors": [GzipCodec()]}, "checksum": {"compressors": [Crc32cCodec()]}}[codec]
        if fill is not None:
            attributes["_FillValue"] = float(fill)
    named = {"dimension_names": ["time", "x"]} if version == 3 else {}
    array = group.create_array("temp", shape=SHAPE, chunks=CHUNKS, dtype="f4", fill_value=0.0, **own, **named)
    named = {"dimension_names": ["time"]} if version == 3 else {}
    axis = group.create_array(
        "time", shape=SHAPE[:1], chunks=SHAPE[:1], dtype="f8", fill_value=-1.0, compressors=None, **named
    )
    array.attrs.update(attributes)
    axis.attrs["units"] = "days since 2000-01-01"
    if version == 2:
        array.attrs["_ARRAY_DIMENSIONS"], axis.attrs["_ARRAY_DIMENSIONS"] = ["time", "x"], ["time"]
    array[...], axis[...] = temp, time


def make(path: Path, form: str, codec: str, temp: Any = None, time: Any = None, **attributes: Any) -> Path:
    """Write a sound dataset and return its path. `codec`: none, zlib or checksum."""
    temp, time = _values() if temp is None else temp, TIMES if time is None else time
    if form == "netcdf3":
        _make_netcdf(path, "NETCDF3_CLASSIC", temp, time, attributes)
    elif form in ("netcdf4", "reference"):
        storage: dict[str, Any] = {"zlib": {"zlib": True, "shuffle": False}, "checksum": {"fletcher32": True}}.get(
            codec, {}
        )
        target = path if form == "netcdf4" else path.with_suffix(".nc")
        _make_netcdf(target, "NETCDF4", temp, time, attributes, chunksizes=CHUNKS, **storage)
        if form == "reference":
            _refer(target, path)
    else:
        _make_zarr(path, 3 if form == "zarr3" else 2, temp, time, attributes, codec)
        if form == "nczarr":
            _declare_nczarr(path)
    return path


def _declare_nczarr(path: Path) -> None:
    """Add what the netCDF library writes beside the documents of Zarr v2."""
    document = json.loads((path / ".zgroup").read_text())
    dims = {"time": SHAPE[0], "x": SHAPE[1]}
    document["_nczarr_group"] = {"dims": dims, "vars": ["time", "temp"], "groups": []}
    document["_nczarr_superblock"] = {"version": "2.0.0"}
    (path / ".zgroup").write_text(json.dumps(document))
    for name, axes in (("time", ["/time"]), ("temp", ["/time", "/x"])):
        place = path / name / ".zarray"
        array = json.loads(place.read_text())
        array["_nczarr_array"] = {"dimrefs": axes, "storage": "chunked"}
        place.write_text(json.dumps(array))


def _refer(target: Path, path: Path) -> None:
    """Write a reference document of version 1 by kerchunk's form, with places that h5py tells."""
    import h5py

    refs: dict[str, Any] = {".zgroup": json.dumps({"zarr_format": 2})}
    with h5py.File(target) as file:
        for name, axes in (("time", ["time"]), ("temp", ["time", "x"])):
            data = file[name]
            filters = [{"id": "fletcher32"}] if data.fletcher32 else []
            document = {"zarr_format": 2, "shape": data.shape, "chunks": data.chunks or data.shape, "order": "C",
                        "dtype": data.dtype.str, "fill_value": None, "filters": filters or None,
                        "compressor": {"id": "zlib", "level": 4} if data.compression else None}  # fmt: skip
            refs[f"{name}/.zarray"] = json.dumps(document)
            known = {key: _plain(data.attrs[key]) for key in ("units", "valid_range") if key in data.attrs}
            if "_FillValue" in data.attrs:
                known["_FillValue"] = float(data.attrs["_FillValue"][0])
            refs[f"{name}/.zattrs"] = json.dumps({**known, "_ARRAY_DIMENSIONS": axes})
            if data.chunks is None:
                refs[f"{name}/0"] = [target.name, data.id.get_offset(), data.id.get_storage_size()]
            for number in range(data.id.get_num_chunks() if data.chunks else 0):
                place = data.id.get_chunk_info(number)
                index = ".".join(str(at // length) for at, length in zip(place.chunk_offset, data.chunks, strict=True))
                refs[f"{name}/{index}"] = [target.name, place.byte_offset, place.size]
    path.write_text(json.dumps({"version": 1, "refs": refs}))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else value.decode() if isinstance(value, bytes) else value.tolist()


def key_of(path: Path, index: tuple[int, int]) -> Path:
    """Return the chunk file of `temp`."""
    if (path / "zarr.json").exists():
        return path / "temp" / "c" / str(index[0]) / str(index[1])
    return path / "temp" / f"{index[0]}.{index[1]}"


def _chunk_place(path: Path, index: tuple[int, int]) -> tuple[Path, int, int]:
    """Return file, offset and length of a chunk of `temp`."""
    if path.is_dir():
        file = key_of(path, index)
        return file, 0, file.stat().st_size
    import h5py

    target = path.with_suffix(".nc")
    with h5py.File(target) as file_object:
        start = tuple(number * length for number, length in zip(index, CHUNKS, strict=True))
        place = file_object["temp"].id.get_chunk_info_by_coord(start)
        return target, int(place.byte_offset), int(place.size)


def _flip(path: Path, index: tuple[int, int]) -> None:
    """Change a byte in the middle of a chunk."""
    file, offset, length = _chunk_place(path, index)
    data = bytearray(file.read_bytes())
    data[offset + length // 2] ^= 0x55
    file.write_bytes(data)


def _truncate(file: Path, part: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * part)])


def _change_references(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text())
    change(document["refs"])
    path.write_text(json.dumps(document))


def _list_files(folder: Path) -> Iterator[Planted]:
    """Yield truncated files."""
    for number, part in enumerate((0.95, 0.8, 0.6)):
        path = make(folder / f"cut{number}.nc", "netcdf3", "none")
        _truncate(path, part)
        row = {0: 5, 1: 4, 2: 2}[number]
        yield Planted("truncated file", "netcdf3", path, "truncated-chunk", (f"chunk ({row}, 0) of `/temp`",))
    for number, index in enumerate(((2, 1), (1, 0))):
        path = make(folder / f"cut4{number}.nc", "netcdf4", "zlib" if number else "none")
        file, offset, length = _chunk_place(path, index)
        file.write_bytes(file.read_bytes()[: offset + length // 2])
        yield Planted("truncated file", "netcdf4", path, "", (path.name,))
    path = make(folder / "cut.json", "reference", "zlib")
    file, offset, length = _chunk_place(path, (2, 1))
    file.write_bytes(file.read_bytes()[: offset + length // 2])
    yield Planted("truncated file", "reference", path, "truncated-chunk", ("chunk (2, 1) of `/temp`",))


def _list_flipped(folder: Path) -> Iterator[Planted]:
    """Yield chunks with a changed byte, under compression and under a checksum."""
    for kind, codec, code in (
        ("byte of a compressed stream", "zlib", ""),
        ("byte under a checksum", "checksum", "failed-checksum"),
    ):
        for number, form in enumerate(("netcdf4", "netcdf4", "zarr2", "zarr3", "nczarr", "reference")):
            index = (number % 3, number % 2)
            suffix = {"netcdf4": ".nc", "reference": ".json"}.get(form, ".zarr")
            path = make(folder / f"{codec}{number}{suffix}", form, codec)
            _flip(path, index)
            yield Planted(kind, form, path, code, (f"chunk {index} of `/temp`",))


def _list_sizes(folder: Path) -> Iterator[Planted]:
    """Yield chunk files that are cut, of another size, or missing."""
    for number, (form, codec) in enumerate(
        [(form, codec) for form in ("zarr2", "zarr3", "nczarr") for codec in ("none", "zlib")]
    ):
        index = (number % 3, number % 2)
        path = make(folder / f"short{number}.zarr", form, codec)
        _truncate(key_of(path, index), 0.6)
        yield Planted("cut chunk file", form, path, "truncated-chunk", (f"chunk {index} of `/temp`",))
        path = make(folder / f"size{number}.zarr", form, codec)
        other = make(folder / f"other{number}.zarr", form, codec)
        _resize(path, other, index, form, codec)
        yield Planted("chunk of another size", form, path, "misfit-chunk", (f"chunk {index} of `/temp`",))
    for form in ("zarr2", "zarr3", "nczarr"):
        path = make(folder / f"gone-{form}.zarr", form, "zlib")
        key_of(path, (1, 1)).unlink()
        yield Planted("missing chunk", form, path, "unwritten-chunks", ("`/temp`", "(1, 1)"))
    path = make(folder / "absent.json", "reference", "zlib")
    _change_references(path, lambda refs: refs["temp/1.1"].__setitem__(0, "nowhere.nc"))
    yield Planted("missing chunk", "reference", path, "missing-chunk", ("chunk (1, 1) of `/temp`", "nowhere.nc"))
    path = make(folder / "beyond.json", "reference", "zlib")
    _change_references(path, lambda refs: refs["temp/0.1"].__setitem__(1, 10**9))
    yield Planted("missing chunk", "reference", path, "truncated-chunk", ("chunk (0, 1) of `/temp`",))
    path = make(folder / "renamed.json", "reference", "none")
    path.with_suffix(".nc").rename(folder / "elsewhere.nc")
    yield Planted("missing chunk", "reference", path, "missing-chunk", ("chunk (0, 0) of `/temp`",))


def _resize(path: Path, other: Path, index: tuple[int, int], form: str, codec: str) -> None:
    """Replace a chunk by one of a larger shape, encoded as the others."""
    import zarr

    shutil.rmtree(other)
    _make_wide(other, 3 if form == "zarr3" else 2, codec)
    shutil.copy(key_of(other, (0, 0)), key_of(path, index))
    assert zarr.open_group(str(other), mode="r")["temp"].chunks != CHUNKS


def _make_wide(path: Path, version: int, codec: str) -> None:
    global CHUNKS
    before, CHUNKS = CHUNKS, (3, 8)
    try:
        _make_zarr(path, version, _values(), TIMES, {}, codec)
    finally:
        CHUNKS = before


def _list_documents(folder: Path) -> Iterator[Planted]:
    """Yield stores with a damaged document."""
    for number, form in enumerate(("zarr2", "zarr3", "nczarr") * 2):
        path = make(folder / f"document{number}.zarr", form, "zlib")
        document = path / "temp" / ("zarr.json" if form == "zarr3" else ".zarray")
        if number < 3:
            _truncate(document, 0.5)
        else:
            document.write_text(document.read_text().replace("[", "[-", 1))
        yield Planted("damaged document", form, path, "", (f"temp/{document.name}",))


def _list_values(folder: Path) -> Iterator[Planted]:
    """Yield sound chunks with wrong values."""
    for form in ("netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr", "reference"):
        suffix = {"netcdf3": ".nc", "netcdf4": ".nc", "reference": ".json"}.get(form, ".zarr")
        temp = _values()
        temp[3, 5] = 7
        path = make(folder / f"{form}-range{suffix}", form, "zlib", temp, valid_range=_floats(0, 1, form))
        yield Planted("value out of valid_range", form, path, "excluded-value", ("at (3, 5) of `/temp`", "7.0"))
        temp = _values()
        temp[4, 2] = np.nan
        path = make(folder / f"{form}-nan{suffix}", form, "zlib", temp, _FillValue=np.float32(-9))
        yield Planted("NaN beside a fill value", form, path, "odd-number", ("at (4, 2) of `/temp`", "nan"))
        time = TIMES.copy()
        time[4] = 2.5
        path = make(folder / f"{form}-order{suffix}", form, "zlib", None, time)
        yield Planted("coordinate out of order", form, path, "disordered-coordinate", ("at (4) of `/time`",))


def _floats(low: float, high: float, form: str) -> Any:
    return np.array([low, high], "f4") if form in ("netcdf3", "netcdf4", "reference") else [low, high]


def list_planted(folder: Path) -> Iterator[Planted]:
    """Yield all damages, made in an empty folder."""
    for make_some in (_list_files, _list_flipped, _list_sizes, _list_documents, _list_values):
        place = folder / make_some.__name__.removeprefix("_list_")
        place.mkdir()
        yield from make_some(place)
