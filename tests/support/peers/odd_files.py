"""netCDF and HDF5 files of unusual shapes, as radars, instruments and h5py make them: one function a file.

Each takes the path to write to, and uses h5py where netCDF4-python cannot make such a thing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Maker = Callable[[Path], None]


def _h5(path: Path, **options: Any) -> Any:
    import h5py

    return h5py.File(path, "w", **options)


def _nc(path: Path, kind: str = "NETCDF4") -> Any:
    import netCDF4

    return netCDF4.Dataset(path, "w", format=kind)


def odim(path: Path) -> None:
    """ODIM polar volume: groups full of attributes, data without dimension scales, an image of bytes."""
    with _h5(path) as file:
        file.attrs["Conventions"] = np.bytes_("ODIM_H5/V2_2")
        what = file.create_group("what")
        for name, text in {"object": "PVOL", "version": "H5rad 2.2", "date": "20240102", "source": "NOD:xx"}.items():
            what.attrs[name] = np.bytes_(text)
        where = file.create_group("where")
        where.attrs["lat"], where.attrs["height"] = 56.4, np.float64(127)
        for sweep in range(1, 4):
            group = file.create_group(f"dataset{sweep}")
            group.create_group("where").attrs.update({"elangle": 0.5 * sweep, "nbins": np.int64(40), "a1gate": 3})
            group.create_group("how").attrs["startazA"] = np.linspace(0, 359, 36)
            for moment in range(1, 3):
                data = group.create_group(f"data{moment}")
                data.create_group("what").attrs.update({"gain": 0.5, "offset": -32.0, "nodata": 255.0, "undetect": 0.0})
                values = np.arange(36 * 40, dtype="u1").reshape(36, 40)
                made = data.create_dataset("data", data=values, chunks=(36, 40), compression="gzip", compression_opts=6)
                made.attrs["CLASS"] = np.bytes_("IMAGE")
                made.attrs["IMAGE_VERSION"] = np.bytes_("1.2")


def cfradial(path: Path) -> None:
    """CfRadial: sweeps, chars of fixed length, unsigned by attribute, several unlimited dimensions in groups."""
    with _nc(path) as file:
        file.Conventions = "CF/Radial instrument_parameters"
        for name, size in {"time": None, "range": 20, "sweep": 2, "string_length_8": 8}.items():
            file.createDimension(name, size)
        file.createVariable("volume_number", "i4").assignValue(7)
        mode = file.createVariable("sweep_mode", "S1", ("sweep", "string_length_8"))
        mode[:] = np.array([list("ppi".ljust(8, "\0")), list("azimuth_")], "S1")
        moment = file.createVariable("DBZH", "i2", ("time", "range"), zlib=True, shuffle=True, fill_value=-32768)
        moment.scale_factor, moment.add_offset = np.float32(0.01), np.float32(0)
        moment.set_auto_maskandscale(False)
        moment[:] = np.arange(100, dtype="i2").reshape(5, 20)
        start = file.createVariable("sweep_start", "i4", ("sweep",))
        start.missing = np.array([], "f4")
        group = file.createGroup("sweep_0001")
        group.createDimension("pulse", None)
        group.createVariable("phase", "f4", ("pulse", "time"), chunksizes=(4, 4))[:3, :2] = 1.5


def nexrad_level3(path: Path) -> None:
    """NEXRAD level 3 as netCDF-3: bytes meant unsigned, NaN attributes, records of odd sizes."""
    with _nc(path, "NETCDF3_CLASSIC") as file:
        file.createDimension("azimuth", 5)
        file.createDimension("gate", 7)
        file.createDimension("record", None)
        file.history = ""
        file.keywords_vocab = "a\0b\0\0"
        variable = file.createVariable("BaseReflectivity", "i1", ("azimuth", "gate"))
        variable._Unsigned = "true"
        variable.setncattr("valid", np.array([np.nan, np.inf, -0.0], "f4"))
        variable[:] = np.arange(35).reshape(5, 7)
        for name, kind in (("a", "i1"), ("b", "i2"), ("c", "S1")):
            file.createVariable(name, kind, ("record", "gate"))
        file["a"][:3] = 1


def ocean_atlas(path: Path) -> None:
    """World ocean atlas: bounds, a scalar grid mapping, classic model in HDF5, filters."""
    with _nc(path, "NETCDF4_CLASSIC") as file:
        for name, size in {"time": 1, "depth": 3, "lat": 4, "lon": 5, "nbounds": 2}.items():
            file.createDimension(name, size)
        file.createVariable("crs", "i4").grid_mapping_name = "latitude_longitude"
        file.createVariable("lat", "f4", ("lat",))[:] = np.arange(4)
        file.createVariable("depth_bnds", "f4", ("depth", "nbounds"))[:] = 1
        file.createVariable(
            "t_an",
            "f4",
            ("time", "depth", "lat", "lon"),
            fill_value=9.96921e36,
            zlib=True,
            fletcher32=True,
            chunksizes=(1, 1, 4, 5),
        )[:] = np.ma.masked_less(np.arange(60).reshape(1, 3, 4, 5), 20)
        file.id = "woa18.nc"


def coastline(path: Path) -> None:
    """GSHHG: flat arrays, big-endian values, int and short, one dimension a table."""
    with _nc(path) as file:
        for name, size in {"Dimension_of_integers": 9, "Dimension_of_points": 30}.items():
            file.createDimension(name, size)
        file.createVariable("Id", ">i4", ("Dimension_of_integers",), endian="big")[:] = np.arange(9) << 20
        file.createVariable("x", ">i2", ("Dimension_of_points",), endian="big", zlib=True, complevel=9)[:] = range(30)
        file.createVariable("area", "f8", ("Dimension_of_integers",), endian="little", contiguous=True)[:] = 1e-300
        file.title = "Derived from GSHHG"


def no_scales(path: Path) -> None:
    """Datasets of every number type and byte order without dimension scales, some of one length."""
    with _h5(path) as file:
        for code in ("<i1", "<u2", ">i4", ">f4", "<f8", ">u8", ">i2"):
            file[f"v_{code[1:]}{'b' if code[0] == '>' else 'l'}"] = np.arange(6).reshape(2, 3).astype(code)
        file["square"] = np.zeros((3, 3), "<f4")
        file["empty"] = np.zeros((0, 3), "<i4")
        file.create_dataset("grows", (2, 4), "<i4", maxshape=(None, 4), chunks=(1, 4), data=np.arange(8).reshape(2, 4))


def spaces(path: Path) -> None:
    """Scalar and null dataspaces, in datasets and attributes; empty and fixed texts."""
    import h5py

    with _h5(path) as file:
        file["scalar"] = np.float32(2.5)
        file["nothing"] = h5py.Empty("<f4")
        file["fixed"] = np.array([b"ab", b"cde", b""], "S3")
        file["text"] = "é"
        file["texts"] = np.array(["", "long enough", "x"], dtype=h5py.string_dtype())
        file.attrs["null"] = h5py.Empty("<i4")
        file.attrs["null_text"] = h5py.Empty("S1")
        file.attrs["empty"] = ""
        file.attrs["empty_fixed"] = np.bytes_(b"")
        file.attrs["fixed"] = np.bytes_(b"abc")
        file.attrs["fixed_list"] = np.array([b"a", b"bc"])
        file.attrs["texts"] = np.array(["a", "", "ü"], dtype=h5py.string_dtype())
        file.attrs["matrix"] = np.arange(4, dtype="<i2").reshape(2, 2)
        file.attrs["none"] = np.zeros(0, "<f8")


def attributes(path: Path) -> None:
    """Attributes of every type and length, some in dense storage, more than 64 kB, odd names."""
    with _nc(path) as file:
        file.createDimension("x", 2)
        variable = file.createVariable("v", "i2", ("x",))
        for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            low, high = (-1.5, 3e38) if code[0] == "f" else (np.iinfo(code).min, np.iinfo(code).max)
            variable.setncattr(f"a_{code}", np.array([low, high], code))
            file.setncattr(f"one_{code}", np.array(high, code))
        file.setncattr("big", np.arange(20_000, dtype="f8"))
        file.setncattr("long", "é" * 40_000)
        file.setncattr_string("strings", ["", "one", "t\nw\to", "ü"])
        file.setncattr_string("string", "")
        file.setncattr("empty", "")
        file.setncattr("nan", np.array([np.nan, -np.nan, np.inf, -0.0], "f4"))
        file.setncattr("with blank", 1)
        file.setncattr("naïve-ñ.+@", 2)
        for number in range(40):
            variable.setncattr(f"dense_{number}", number)


def many_groups(path: Path) -> None:
    """Hundreds of groups, nested deep, each with an attribute, some with dimensions of the same name."""
    with _nc(path) as file:
        file.createDimension("x", 2)
        for number in range(300):
            group = file.createGroup(f"g{299 - number}")
            group.n = number
            if number % 50 == 0:
                group.createDimension("x", number + 1)
                group.createVariable("v", "i1", ("x",))
        deep = file
        for number in range(20):
            deep = deep.createGroup(f"d{number}")
        deep.createVariable("bottom", "f8", ("x",))[:] = [1, 2]


def long_names(path: Path) -> None:
    """Names of 255 bytes, with blanks, dots, brackets, non-ASCII and what CDL escapes."""
    with _nc(path) as file:
        for name in ("n" * 255, "é" * 100, "with blank", "a.b[c](d)", "1st", "日本", "x-y+z@w", "αβγ", "con:trol"):
            file.createDimension(name, 2)
            file.createVariable(name, "i2", (name,))[:] = 3
            file.createGroup(name + "g" if len(name) < 200 else "g").setncattr(name, 1)


def unlimited_inside(path: Path) -> None:
    """Unlimited dimensions in the middle, two of them, variables that reach less far than their dimension."""
    with _nc(path) as file:
        file.createDimension("a", 2)
        file.createDimension("t", None)
        file.createDimension("u", None)
        file.createVariable("middle", "i4", ("a", "t", "u"))[:, :3, :2] = 7
        file.createVariable("far", "f4", ("t",))[:5] = 1
        file.createVariable("short", "f4", ("t",), chunksizes=(2,), fill_value=-1.0)[:2] = 2
        file.createVariable("never", "S1", ("t", "u"))
        file.createVariable("text", str, ("u",))[0] = "only one"


def enums(path: Path) -> None:
    """Booleans as h5py makes them, enums of several bases, values that no member names."""
    import h5py

    with _h5(path) as file:
        file["flag"] = np.array([True, False, True])
        file.attrs["yes"] = True
        kind = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype="<i2")
        file.create_dataset("colour", (4,), kind, data=[0, 1, 42, 7])
        file["named"] = kind
        file.create_dataset("named_colour", (2,), file["named"], data=[42, 0])


def types(path: Path) -> None:
    """Every user type of netCDF-4, nested, in variables and attributes, used from another group."""
    with _nc(path) as file:
        file.createDimension("x", 3)
        inner = file.createCompoundType(np.dtype([("a", "i1"), ("b", "f8", (2,))], align=True), "inner")
        outer = file.createCompoundType(np.dtype([("i", "i2"), ("c", inner.dtype)], align=True), "outer")
        ragged = file.createVLType(np.int32, "ragged")
        colour = file.createEnumType(np.uint8, "colour", {"red": 0, "blue": 7})
        group = file.createGroup("g")
        data = np.zeros(3, outer.dtype)
        data["i"], data["c"]["b"] = 5, [1.5, -0.0]
        group.createVariable("o", outer, ("x",))[:] = data
        rows = np.empty(3, object)
        rows[:] = [np.arange(2, dtype="i4"), np.zeros(0, "i4"), np.arange(5, dtype="i4")]
        file.createVariable("r", ragged, ("x",))[:] = rows
        file.createVariable("c", colour, ("x",), fill_value=7)[:2] = [0, 7]
        file.createVariable("s", str, ("x",))[:2] = np.array(["", "some"], object)


def compounds(path: Path) -> None:
    """Compounds as h5py makes them: packed, padded, with texts, booleans and arrays inside, as tables are."""
    import h5py

    with _h5(path) as file:
        packed = np.dtype([("t", "<i8"), ("v", "<f4", (3,)), ("name", "S5")])
        file["table"] = np.array([(1, (1, 2, 3), b"abc"), (2, (4, 5, 6), b"")], packed)
        padded = np.dtype({"names": ["a", "b"], "formats": ["<i1", "<f8"], "offsets": [2, 16], "itemsize": 32})
        file["padded"] = np.zeros(4, padded)
        mixed = np.dtype([("flag", "?"), ("big", ">i4"), ("x", "<f8")])
        file["mixed"] = np.ones(2, mixed)
        texts = np.dtype([("id", "<i4"), ("note", h5py.string_dtype())])
        file["texts"] = np.array([(1, "one"), (2, "")], texts)
        file.attrs["record"] = np.array((3, 2.5), np.dtype([("a", "<i2"), ("b", "<f8")]))


def opaques(path: Path) -> None:
    """Opaque values, lists and lists of lists as h5py makes them."""
    import h5py

    with _h5(path) as file:
        file["raw"] = np.array([b"\0\1\2", b"\xff\0\0"], "V3")
        ragged = h5py.vlen_dtype(np.dtype("<f4"))
        made = file.create_dataset("rows", (3,), ragged)
        made[0], made[2] = [1, 2], [3]
        file["opaque_type"] = np.dtype("V7")


def references(path: Path) -> None:
    """Object and region references, in datasets, attributes and compounds, beside ordinary data."""
    import h5py

    with _h5(path) as file:
        file["data"] = np.arange(4)
        file.create_group("g")
        file.create_dataset("refs", (2,), h5py.ref_dtype, data=[file["data"].ref, file["g"].ref])
        file.create_dataset("regions", (1,), h5py.regionref_dtype, data=[file["data"].regionref[1:3]])
        file["data"].attrs["see"] = file["g"].ref
        file["data"].attrs["units"] = "m"


def committed_and_links(path: Path) -> None:
    """Committed types, hard, soft and external links, a dataset under two names."""
    import h5py

    with _h5(path) as file:
        file["type"] = np.dtype([("a", "<i4"), ("b", "<f4")])
        file.create_dataset("records", (2,), file["type"])
        file["data"] = np.arange(3, dtype="<i2")
        file["again"] = file["data"]
        file["g/soft"] = h5py.SoftLink("/data")
        file["g/nowhere"] = h5py.SoftLink("/missing")
        file["g/outside"] = h5py.ExternalLink("none.h5", "/x")


def scales(path: Path) -> None:
    """Dimension scales by h5py: with coordinates, without, of another length order, two axes of one scale."""
    with _h5(path, track_order=True) as file:
        for name, size in (("y", 2), ("x", 3)):
            file[name] = np.arange(size, dtype="<f8")
            file[name].make_scale(name)
        file["v"] = np.arange(6, dtype="<f4").reshape(2, 3)
        file["v"].dims[0].attach_scale(file["y"])
        file["v"].dims[1].attach_scale(file["x"])
        file["partly"] = np.zeros((2, 4), "<i4")
        file["partly"].dims[0].attach_scale(file["y"])
        file["square"] = np.eye(3, dtype="<f4")
        file["square"].dims[0].attach_scale(file["x"])
        file["square"].dims[1].attach_scale(file["x"])


def _order(path: Path, *, tracked: bool) -> None:
    with _h5(path, track_order=tracked) as file:
        for name in ("zebra", "apple", "mango"):
            file.create_dataset(name, data=np.arange(2), track_order=tracked).attrs.update({"z": 1, "a": 2, "m": 3})
            file.create_group("g_" + name, track_order=tracked).attrs.update({"z": 1, "a": 2})


def untracked(path: Path) -> None:
    """Objects and attributes whose order of definition the file does not tell."""
    _order(path, tracked=False)


def tracked(path: Path) -> None:
    """Objects and attributes in their order of definition."""
    _order(path, tracked=True)


def earliest(path: Path) -> None:
    """The oldest format of HDF5 that h5py writes, chunked, compact and contiguous."""
    with _h5(path, libver="earliest") as file:
        _layouts(file)


def latest(path: Path) -> None:
    """The newest format of HDF5 that h5py writes: other indices of chunks."""
    with _h5(path, libver="latest") as file:
        _layouts(file)


def _layouts(file: Any) -> None:
    file.create_dataset("contiguous", data=np.arange(10, dtype="<i4"))
    file.create_dataset("chunked", data=np.arange(100, dtype="<i4").reshape(10, 10), chunks=(3, 4))
    file.create_dataset("filtered", data=np.arange(100), chunks=(30,), compression="gzip", shuffle=True)
    file.create_dataset("checked", data=np.arange(10.0), chunks=(4,), fletcher32=True, compression="gzip")
    file.create_dataset("filled", (4, 4), "<f4", chunks=(2, 2), fillvalue=-5)[0, 0] = 1
    file.create_dataset("single", data=np.arange(6), chunks=(6,), maxshape=(6,))
    file.create_dataset("growing", data=np.arange(6), chunks=(2,), maxshape=(None,))
    file.create_dataset("both", data=np.ones((3, 5), "<u2"), chunks=(2, 2), maxshape=(None, None))


def other_fill(path: Path) -> None:
    """HDF5 fill values that no `_FillValue` tells, and one that contradicts it."""
    with _h5(path) as file:
        file.create_dataset("silent", (6,), "<i4", chunks=(2,), fillvalue=9)[0:2] = 1
        other = file.create_dataset("other", (6,), "<f4", chunks=(2,), fillvalue=-1)
        other[0:2] = 1
        other.attrs["_FillValue"] = np.array([3], "<f4")
        file.create_dataset("whole", (5,), "<i2", fillvalue=4)


def scale_offset(path: Path) -> None:
    """Filters with parameters that HDF5 computes for itself: scale-offset, n-bit, szip if it is there, LZF."""
    with _h5(path) as file:
        file.create_dataset("lzf", data=np.arange(100), chunks=(50,), compression="lzf")
        file.create_dataset("offset", data=np.arange(100), chunks=(50,), scaleoffset=0)
        file.create_dataset("rounded", data=np.linspace(0, 1, 100), chunks=(50,), scaleoffset=3)


def many_filters(path: Path) -> None:
    """Filters in every order that h5py and netCDF make, and masks of chunks that skip them."""
    import h5py

    with _h5(path) as file:
        made = file.create_dataset("masked", (8,), "<i4", chunks=(4,), compression="gzip", shuffle=True)
        made[:4] = 1
        made.id.write_direct_chunk((4,), np.arange(4, dtype="<i4").tobytes(), filter_mask=3)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4,))
        plist.set_deflate(3)
        plist.set_shuffle()
        plist.set_fletcher32()
        space = h5py.h5s.create_simple((8,))
        h5py.h5d.create(file.id, b"turned", h5py.h5t.STD_I32LE, space, plist)
        file["turned"][...] = np.arange(8)


def odd_types(path: Path) -> None:
    """Types that netCDF has no name for, among others that it has: half floats, complex, bit fields, 3-byte texts."""
    with _h5(path) as file:
        file["good"] = np.arange(3)
        file["half"] = np.arange(3, dtype="<f2")
        file["complex"] = np.arange(3).astype("<c8")
        file["array_of_text"] = np.array([[b"ab", b"c"]], "S2")
        file.attrs["half"] = np.float16(1.5)
        file.attrs["complex"] = 1 + 2j


def text_kinds(path: Path) -> None:
    """Texts padded by NUL and by blanks, ASCII and UTF-8, fixed and of any length, as variables and attributes."""
    import h5py

    with _h5(path) as file:
        for pad, name in ((h5py.h5t.STR_NULLPAD, "nullpad"), (h5py.h5t.STR_SPACEPAD, "spacepad"),
                          (h5py.h5t.STR_NULLTERM, "nullterm")):  # fmt: skip
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(4)
            kind.set_strpad(pad)
            space = h5py.h5s.create_simple((2,))
            made = h5py.h5d.create(file.id, name.encode(), kind, space)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"ab", b"xyzw"], "S4"), mtype=kind)
            attribute = h5py.h5a.create(file.id, b"att_" + name.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
            attribute.write(np.array(b"ab", "S4"), mtype=kind)
        file["one"] = np.array([b"a", b"b"], "S1")
        file["latin"] = np.array([b"\xe9a"], "S2")


def unfilled_texts(path: Path) -> None:
    """Texts without a fill value: scales, chunked and partly written, growing, in groups, with many attributes."""
    import h5py

    text = h5py.string_dtype()
    with _h5(path, track_order=True) as file:
        file.create_dataset("station", data=["a", "", "longer"], dtype=text).make_scale("station")
        file.create_dataset("v", data=np.arange(3.0)).dims[0].attach_scale(file["station"])
        labels = file.create_dataset("labels", data=["x", "y", "z"], dtype=text, track_order=True)
        labels.dims[0].attach_scale(file["station"])
        labels.attrs.update({f"a_{number}": "w" * 300 for number in range(20)})
        partly = file.create_dataset("partly", (3,), text, chunks=(2,), track_order=True)
        partly[2] = "some"
        partly.dims[0].attach_scale(file["station"])
        partly.attrs.update({f"a_{number}": number for number in range(7)})
        empty = file.create_dataset("empty", data=["", "", ""], dtype=text, chunks=(1,))
        empty.dims[0].attach_scale(file["station"])
        growing = file.create_dataset("growing", (4,), text, chunks=(2,), maxshape=(None,), compression="gzip")
        growing[:] = "word"
        growing.make_scale("growing")
        file.create_group("g", track_order=True)["one"] = "scalar"


def small_chunks(path: Path) -> None:
    """Many chunks of few bytes."""
    with _nc(path) as file:
        file.createDimension("x", 5_000)
        file.createVariable("v", "i2", ("x",), chunksizes=(2,))[:] = np.arange(5_000)


def _classic(path: Path, kind: str) -> None:
    with _nc(path, kind) as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        file.createVariable("lone", "i2", ("t",))[:5] = range(5)
        if kind != "NETCDF3_64BIT_OFFSET":
            file.createVariable("odd", "i1", ("t", "x"))[:] = 1
        if kind == "NETCDF3_64BIT_DATA":
            file.createVariable("wide", "u8", ("x",))[:] = 2**63
            file.createVariable("small", "u2", ("t",), fill_value=7)
        file.createVariable("text", "S1", ("x",))[:] = "abc"


def classic(path: Path) -> None:
    """Classic records of odd sizes."""
    _classic(path, "NETCDF3_CLASSIC")


def offset64(path: Path) -> None:
    """A lone record variable, which is not padded."""
    _classic(path, "NETCDF3_64BIT_OFFSET")


def cdf5(path: Path) -> None:
    """CDF-5 with its own types."""
    _classic(path, "NETCDF3_64BIT_DATA")


def no_fill(path: Path) -> None:
    """Variables without fill, whole and partly written, scalars of every kind."""
    with _nc(path) as file:
        file.createDimension("x", 6)
        file.createVariable("whole", "f4", ("x",), fill_value=False)[:] = 1
        file.createVariable("compressed", "i4", ("x",), fill_value=False, zlib=True, chunksizes=(2,))[:] = 3
        file.createVariable("number", "f8").assignValue(-0.0)
        file.createVariable("letter", "S1")[...] = "x"
        file.createVariable("text", str)[...] = "word"
        file.createVariable("unset", "i8")


def quantized(path: Path) -> None:
    """Rounded before compression, with the attributes that tell it."""
    with _nc(path) as file:
        file.createDimension("x", 50)
        values = np.linspace(0, 1, 50)
        for mode in ("BitGroom", "GranularBitRound", "BitRound"):
            made = file.createVariable(mode, "f4", ("x",), zlib=True, significant_digits=3, quantize_mode=mode)
            made[:] = values


FILES: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        odim, cfradial, nexrad_level3, ocean_atlas, coastline, no_scales, spaces, attributes, many_groups, long_names,
        unlimited_inside, enums, types, compounds, opaques, references, committed_and_links, scales, untracked, tracked,
        earliest, latest, other_fill, scale_offset, many_filters, odd_types, text_kinds, unfilled_texts, small_chunks,
        classic, offset64, cdf5, no_fill, quantized,
    )
}  # fmt: skip
"""Every file by name."""

UNLIKE = {
    "odim": "attributes `CLASS`, whose name netCDF-4 reserves, get another name",
    "committed_and_links": "a link that leads nowhere is left out, with a message",
    "spaces": "what has no dataspace is left out, with a message",
    "odd_types": "what netCDF has no type for is left out, with a message",
    "compounds": "a compound with a member that the netCDF library does not know is left out, with a message",
    "no_scales": "a dimension of length 0 without a scale is unlimited to the library, which is said",
    "scales": "the netCDF library shows no array with an axis without a scale beside one with a scale",
    "scale_offset": "filters that HDF5 alone knows",
    "text_kinds": "ncdump 4.9.0 reads beyond the end of texts of fixed length",
    "opaques": "ncdump 4.9.0 does not name types that have no name",
    "enums": "ncdump 4.9.0 does not name types that have no name",
}
"""Files that do not come back as they were, and why."""
