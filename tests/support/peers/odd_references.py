"""netCDF and HDF5 files whose chunks lie in every way that a reference has to tell: one function a file.

Each takes the path to write to; what belongs to it (external storage, sources of virtual datasets) lies beside.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from .odd_files import Maker, _h5, _nc

NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def user_block(path: Path) -> None:
    """HDF5 behind 512 bytes that are not its own: all addresses count from there."""
    with _h5(path, userblock_size=512) as file:
        file["contiguous"] = np.arange(7, dtype="<i4")
        file.create_dataset("chunked", data=np.arange(20.0), chunks=(8,), compression="gzip")
        file.create_dataset("checked", data=np.arange(20, dtype="<i2"), chunks=(8,), fletcher32=True)


def orders(path: Path) -> None:
    """Every number in both byte orders, plain and behind filters."""
    with _h5(path) as file:
        for order in "<>":
            for kind in NUMBERS:
                name = f"{'little' if order == '<' else 'big'}_{kind}"
                values = np.arange(-3, 9).astype(order + kind).reshape(3, 4)
                file[name] = values
                file.create_dataset(f"{name}_chunked", data=values, chunks=(2, 3), compression="gzip", shuffle=True)


def edges(path: Path) -> None:
    """Chunks longer than their array, chunks that overhang, lengths of 0 and 1, unlimited and not."""
    with _h5(path) as file:
        file.create_dataset("longer", data=np.arange(5, dtype="<i4"), chunks=(512,), maxshape=(None,))
        file.create_dataset("over", data=np.arange(77.0).reshape(7, 11), chunks=(3, 4))
        file.create_dataset("over_deflated", data=np.arange(77.0).reshape(7, 11), chunks=(3, 4), compression="gzip")
        file.create_dataset("nothing", (0,), "<f4", chunks=(4,), maxshape=(None,))
        file.create_dataset("nothing_fixed", (3, 0, 2), "<i2")
        file.create_dataset("one", data=np.array([7], "<u2"), chunks=(1,), maxshape=(None,))
        file.create_dataset("ones", data=np.ones((1, 1, 1), "<f4"), chunks=(1, 1, 1), compression="gzip")
        file.create_dataset("shrunk", data=np.arange(20), chunks=(4,), maxshape=(None,))
        file["shrunk"].resize((9,))


def masks(path: Path) -> None:
    """Chunks of one array that skip each set of its filters, with the checksum in front and behind."""
    import h5py

    plain = np.arange(64, dtype="<i4").reshape(8, 8)
    with _h5(path) as file:
        for name, front in (("front", True), ("behind", False)):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((8,))
            if front:
                plist.set_fletcher32()
            plist.set_shuffle()
            plist.set_deflate(4)
            if not front:
                plist.set_fletcher32()
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((64,)), plist)
            steps = ["sum", "shuffle", "deflate"] if front else ["shuffle", "deflate", "sum"]
            for mask in range(8):
                data = plain[mask].tobytes()
                for place, step in enumerate(steps):
                    if not mask >> place & 1:
                        data = _filtered(step, data)
                made.write_direct_chunk((mask * 8,), data, mask)


def _filtered(step: str, data: bytes) -> bytes:
    if step == "deflate":
        return zlib.compress(data)
    if step == "sum":
        from numcodecs.fletcher32 import Fletcher32

        return bytes(Fletcher32().encode(np.frombuffer(data, "u1")))
    whole = len(data) // 4 * 4
    return np.frombuffer(data[:whole], "u1").reshape(-1, 4).T.tobytes() + data[whole:]


def layouts(path: Path) -> None:
    """Compact data of every kind, external files, a virtual dataset, early allocation."""
    import h5py

    with _h5(path) as file:
        for kind in ("<i4", ">f8", "S1", "S5"):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_layout(h5py.h5d.COMPACT)
            values = np.arange(6).astype(kind).reshape(2, 3)
            space = h5py.h5s.create_simple((2, 3))
            made = h5py.h5d.create(file.id, f"compact_{kind}".encode(), h5py.h5t.py_create(kind), space, plist)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        early.set_fill_value(np.array(5, "<i4"))
        h5py.h5d.create(file.id, b"early", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((4,)), early)


def external(path: Path) -> None:
    """Data in two other files, from an offset of one of them."""
    raw = path.with_suffix(".raw")
    raw.write_bytes(b"junk" + np.arange(4, dtype="<i4").tobytes())
    path.with_suffix(".raw2").write_bytes(np.arange(4, 10, dtype="<i4").tobytes())
    with _h5(path) as file:
        file.create_dataset("out", (10,), "<i4", external=[(raw.name, 4, 16), (path.with_suffix(".raw2").name, 0, 24)])
        file["inside"] = np.arange(3)


def virtual(path: Path) -> None:
    """An array that is put together from others, with a part that none gives."""
    import h5py

    source = path.with_suffix(".part.h5")
    with _h5(source) as file:
        file["data"] = np.arange(4, dtype="<i4")
    layout = h5py.VirtualLayout((3, 4), "<i4")
    layout[0] = h5py.VirtualSource(source.name, "data", (4,))
    with _h5(path) as file:
        file.create_virtual_dataset("put_together", layout, fillvalue=-1)
        file["plain"] = np.arange(3)


def indices(path: Path) -> None:
    """Each index of chunks of the newest file format: single chunk, implicit, fixed and extensible array, B-tree."""
    import h5py

    values = np.arange(120, dtype="<i4").reshape(10, 12)
    with _h5(path, libver="latest") as file:
        file.create_dataset("single", data=values, chunks=(10, 12))
        file.create_dataset("single_deflated", data=values, chunks=(10, 12), compression="gzip")
        file.create_dataset("fixed_array", data=values, chunks=(3, 5), compression="gzip")
        file.create_dataset("extensible", data=values, chunks=(3, 5), maxshape=(None, 12))
        file.create_dataset("tree", data=values, chunks=(3, 5), maxshape=(None, None), fletcher32=True)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((3, 5))
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made = h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((10, 12)), plist)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)


def filters(path: Path) -> None:
    """Every filter that the library has, alone and with others, over sizes of elements that do not fit."""
    with _h5(path) as file:
        values = np.arange(90, dtype="<i4").reshape(9, 10)
        for name, options in {
            "shuffle": {"shuffle": True},
            "lzf": {"compression": "lzf"},
            "lzf_all": {"compression": "lzf", "shuffle": True, "fletcher32": True},
            "szip": {"compression": "szip"},
            "gzip_sum": {"compression": "gzip", "fletcher32": True},
            "gzip_shuffle_sum": {"compression": "gzip", "shuffle": True, "fletcher32": True},
            "sum": {"fletcher32": True},
            "shuffle_sum": {"shuffle": True, "fletcher32": True},
            "offset": {"scaleoffset": 0},
            "gzip0": {"compression": "gzip", "compression_opts": 0},
        }.items():
            try:
                file.create_dataset(name, data=values, chunks=(4, 7), **options)
            except ValueError:  # szip: some builds have no encoder
                continue
        file.create_dataset("odd", data=np.arange(5, dtype="u1"), chunks=(5,), shuffle=True, compression="gzip")
        file.create_dataset("odd_sum", data=np.arange(7, dtype="u1"), chunks=(7,), fletcher32=True)
        kind = np.dtype([("a", "i1"), ("b", "<i4")])
        made = np.zeros(6, kind)
        made["b"] = range(6)
        file.create_dataset("records", data=made, chunks=(4,), shuffle=True, compression="gzip", fletcher32=True)


def sums(path: Path) -> None:
    """netCDF's order of filters over every number, written in part."""
    with _nc(path) as file:
        file.createDimension("t", None)
        file.createDimension("x", 5)
        for kind in NUMBERS:
            made = file.createVariable(
                kind, kind, ("t", "x"), zlib=True, shuffle=True, fletcher32=True, chunksizes=(2, 3)
            )
            made[:5] = np.arange(25).reshape(5, 5)
        file.createVariable("later", "f4", ("t",), fletcher32=True, chunksizes=(2,))[3:5] = 1
        file.createVariable("letters", "S1", ("t", "x"), fletcher32=True, zlib=True)[0] = list("abcde")


def fills(path: Path) -> None:
    """Defaults of every type where nothing was written, NaN and infinite fill values, `_FillValue` of a char."""
    with _nc(path) as file:
        file.createDimension("x", 6)
        file.createDimension("u", None)
        for kind in (*NUMBERS, "S1"):
            file.createVariable(f"never_{kind}", kind, ("x",))
            file.createVariable(f"partly_{kind}", kind, ("u",), chunksizes=(2,))
        file["partly_i1"][5] = 1
        for name, value in {"nan": np.nan, "inf": -np.inf, "tiny": 1e-320}.items():
            file.createVariable(name, "f8", ("x",), fill_value=value)
            file.createVariable(f"chunked_{name}", "f8", ("u",), fill_value=value, chunksizes=(2,))[:2] = 1
        odd = np.array([0x7FC00123], "u4").view("f4")[0]
        file.createVariable("payload", "f4", ("x",), fill_value=odd)
        file.createVariable("letter", "S1", ("x",), fill_value="-")[:2] = [b"a", b"b"]
        file.createVariable("far", "i8", ("x",), fill_value=-(2**63))
        file.createVariable("top", "u8", ("x",), fill_value=2**64 - 1)
        file.createVariable("scalar_never", "f4")
        file.createVariable("text_never", str, ("x",))
        file.createVariable("text_filled", str, ("x",), fill_value="none")[2] = "word"


def scalars(path: Path) -> None:
    """Single values of every type."""
    with _nc(path) as file:
        for kind in (*NUMBERS, "S1"):
            file.createVariable(f"s_{kind}", kind)[...] = 7 if kind != "S1" else "q"
        file.createVariable("s_text", str)[...] = "some words"
        file.createVariable("s_empty", str)[...] = ""
        pair = file.createCompoundType(np.dtype([("a", "<i4"), ("b", "<f8")]), "pair")
        file.createVariable("s_pair", pair)[...] = np.array((1, 2.5), pair.dtype)
        colour = file.createEnumType(np.int64, "colour", {"none": -(2**40), "red": 2**40})
        file.createVariable("s_colour", colour)[...] = 2**40


def texts(path: Path) -> None:
    """Texts in several axes and chunks, empty, long, not ASCII, deflated, with a checksum; of fixed length as well."""
    import h5py

    words = np.array(["", "a", "größer", "日本", "x" * 300, "base64:AAAA", "tab\there", '"quoted"'], object).reshape(
        2, 4
    )
    text = h5py.string_dtype()
    with _h5(path) as file:
        file.create_dataset("contiguous", data=words, dtype=text)
        file.create_dataset("chunked", data=words, dtype=text, chunks=(1, 3))
        file.create_dataset("deflated", data=words, dtype=text, chunks=(2, 2), compression="gzip")
        file.create_dataset("partly", (4, 4), text, chunks=(2, 2))[:2, :2] = "there"
        file.create_dataset("ascii", data=np.array([b"abc", b""], object), dtype=h5py.string_dtype("ascii"))
        file.create_dataset("fixed", data=np.array([b"abc", b"", b"abcdef"], "S6"), chunks=(2,), compression="gzip")
        file.create_dataset("fixed_utf8", data=np.array(["é".encode(), b"b"], h5py.string_dtype("utf-8", 4)))


def records(path: Path) -> None:
    """Records with gaps, arrays, other records and big-endian members; chunked and filtered; in two axes."""
    inner = np.dtype([("x", ">i2"), ("y", "<f4", (2,))])
    gaps = np.dtype({"names": ["a", "b"], "formats": ["<i1", "<f8"], "offsets": [2, 16], "itemsize": 32})
    outer = np.dtype([("id", "<u2"), ("in", inner), ("many", inner, (2,)), ("c", "S1")], align=True)
    made = np.zeros((3, 4), outer)
    made["id"] = np.arange(12).reshape(3, 4)
    made["in"]["y"] = -0.0
    made["many"]["x"] = 513
    made["c"] = b"z"
    with _h5(path) as file:
        file["nested"] = made
        file.create_dataset("chunked", data=made, chunks=(2, 3), compression="gzip", shuffle=True)
        file.create_dataset("gaps", data=np.ones(5, gaps), chunks=(2,))
        file.create_dataset("gaps_whole", data=np.ones(5, gaps))
        file.create_dataset("never", (5,), outer, chunks=(2,))


def user_types(path: Path) -> None:
    """Enums over each integer, opaque values with a fill value, lists of numbers and of records."""
    import h5py

    with _h5(path) as file:
        for base in ("i1", "u2", ">i4", "i8"):
            kind = h5py.enum_dtype({"A": 0, "B": 100}, basetype=base)
            made = file.create_dataset(f"enum_{base.strip('>')}", (5,), kind, chunks=(2,))
            made[...] = np.array([0, 100, 0, 100, 100], kind)
        file.create_dataset("opaque", data=np.array([b"\0\1\2\3", b"\xff\0\0\0"], "V4"), chunks=(1,))
        filled = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        kind = h5py.h5t.py_create(np.dtype("V3"))
        filled.set_fill_value(np.array(b"\1\2\3", "V3"))
        h5py.h5d.create(file.id, b"opaque_never", kind, h5py.h5s.create_simple((3,)), filled)
        ragged = h5py.vlen_dtype(np.dtype("<i2"))
        made = file.create_dataset("lists", (2, 3), ragged, chunks=(1, 2), compression="gzip")
        made[0, 0], made[1, 2] = [1, 2, 3], [4]
        file.create_dataset("lists_never", (3,), ragged)
        pairs = file.create_dataset("lists_of_records", (2,), h5py.vlen_dtype(np.dtype([("a", "<i4"), ("b", "<f4")])))
        pairs[0] = np.array([(1, 2), (3, 4)], [("a", "<i4"), ("b", "<f4")])
        file.create_dataset("empty_lists", (0,), ragged, maxshape=(None,), chunks=(2,))


def odd_names(path: Path) -> None:
    """Names with blanks, dots, signs of URLs and templates, not ASCII; deep groups; names of keys of stores."""
    with _nc(path) as file:
        file.createDimension("x", 3)
        for name in (
            "two words", "dots.in.it", "per%20cent", "hash#mark", "ques?tion", "größe", "日本", "a{{braces}}", "a+b",
            "c0", "0", "0.0", "counts", "star*", "q'uote", "am&per", "at@", "co:lon", "semi;colon", "x[0]",
        ):  # fmt: skip
            file.createVariable(name, "i4", ("x",), chunksizes=(2,))[:] = [1, 2, 3]
        group = file
        for depth in range(12):
            group = group.createGroup(f"level {depth}")
        group.createVariable("deep.est", "f4", ("x",))[:] = 1


def groups(path: Path) -> None:
    """Dimensions of one name and several lengths across groups, inherited and hidden; groups without anything."""
    with _nc(path) as file:
        file.createDimension("x", 2)
        file.createDimension("y", 2)
        file.createVariable("v", "i4", ("x", "y"))[:] = 1
        for name, size in (("a", 3), ("b", 4)):
            group = file.createGroup(name)
            group.createDimension("x", size)
            group.createVariable("v", "i4", ("x", "y"), chunksizes=(2, 2))[:] = 2
            group.createVariable("x", "f8", ("x",))[:] = range(size)
            below = group.createGroup("below")
            below.createVariable("v", "i2", ("x", "x"), zlib=True)[:] = 3
            below.createVariable("up", "i2", ("y",))[:] = 3
        file.createGroup("empty").createGroup("emptier")
        file.createDimension("unused", 9)
        file.createDimension("coordinate", 3)
        other = file.createGroup("other")
        other.createVariable("coordinate", "f4", ("coordinate", "x"))[:] = 5


def large(path: Path) -> None:
    """Contiguous values of some megabytes, whose chunks a target may choose; a small array beside them."""
    with _nc(path) as file:
        file.createDimension("t", 30)
        file.createDimension("y", 200)
        file.createDimension("x", 301)
        made = file.createVariable("field", "f8", ("t", "y", "x"), contiguous=True)
        made[:] = np.arange(30 * 200 * 301, dtype="f8").reshape(30, 200, 301)
        file.createVariable("t", "i4", ("t",))[:] = range(30)


def _classic(path: Path, kind: str, names: tuple[str, ...], rows: int) -> None:
    with _nc(path, kind) as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        file.createDimension("y", 5)
        file.createVariable("fixed", "f4", ("y", "x"))[:] = np.arange(15).reshape(5, 3)
        file.createVariable("scalar", "f8")[...] = -0.0
        file.createVariable("letters", "S1", ("y",))[:] = list("abcde")
        file.createVariable("unwritten", "i2", ("x",))
        for number, name in enumerate(names):
            made = file.createVariable(f"rec_{name}", name, ("t", "x"))
            if name == "S1":
                made[:rows] = np.full((rows, 3), b"c")
            else:
                made[:rows] = np.arange(rows * 3).reshape(rows, 3) + number
        if len(names) > 1:
            file.createVariable("t", "f8", ("t",))[: rows - 1] = range(rows - 1)


def records_classic(path: Path) -> None:
    """CDF-1 with records of every type."""
    _classic(path, "NETCDF3_CLASSIC", ("i1", "S1", "i2", "i4", "f4", "f8"), 4)


def records_offset(path: Path) -> None:
    """CDF-2 with records of odd sizes."""
    _classic(path, "NETCDF3_64BIT_OFFSET", ("i1", "i2", "S1"), 5)


def records_data(path: Path) -> None:
    """CDF-5 with records of its own types."""
    _classic(path, "NETCDF3_64BIT_DATA", ("u1", "u2", "u4", "i8", "u8", "f8"), 3)


def lone_bytes(path: Path) -> None:
    """One record variable of three bytes a record: nothing is padded."""
    _classic(path, "NETCDF3_CLASSIC", ("i1",), 5)


def lone_shorts(path: Path) -> None:
    """One record variable of six bytes a record, CDF-5."""
    _classic(path, "NETCDF3_64BIT_DATA", ("u2",), 4)


def no_records(path: Path) -> None:
    """Record variables without a record."""
    _classic(path, "NETCDF3_CLASSIC", ("i1", "f8"), 0)


def streaming(path: Path) -> None:
    """A header that does not tell the number of records, which then follows from the length of the file."""
    _classic(path, "NETCDF3_CLASSIC", ("i1", "f8"), 4)
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack(">I", 0xFFFFFFFF)
    path.write_bytes(data)


def truncated(path: Path) -> None:
    """The last record cut short: what is not there is no value."""
    _classic(path, "NETCDF3_CLASSIC", ("f8", "i4"), 4)
    data = path.read_bytes()
    path.write_bytes(data[:-10])


FILES: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        user_block, orders, edges, masks, layouts, external, virtual, indices, filters, sums, fills, scalars, texts,
        records, user_types, odd_names, groups, large, records_classic, records_offset, records_data, lone_bytes,
        lone_shorts, no_records, streaming, truncated,
    )
}  # fmt: skip
"""Every file by name."""

NOT_THEIRS = {"streaming": "libnetcdf reads 4,294,967,295 records"}
"""Files that libnetcdf reads otherwise than it should."""

UNREADABLE = {"external": "libnetcdf looks for the other files where the program runs"}
"""Files with a variable that libnetcdf does not read."""
