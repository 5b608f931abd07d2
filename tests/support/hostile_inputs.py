"""Small inputs that declare enormous sizes: stores (`hostile_stores.py`), files, texts and streams."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import run_command
from tests.support import hostile_stores, opendap_responses, ragged
from tests.support.classic_bytes import Made
from tests.support.damaged_hdf5 import SIGNATURES, write_every_structure
from tests.support.dmrpp_documents import array as dmrpp_array
from tests.support.dmrpp_documents import document as dmrpp_document
from tests.support.hostile_stores import BOMB, LARGE, Files, squeeze, zip_file
from tests.support.ncml_files import NAMESPACE

CDL = """netcdf t { dimensions: t = UNLIMITED; x = 3; variables: int v(t, x); v:units = "K"; double t(t); :title = "a";
data: v = 1, 2, 3, 4, 5, 6; t = 0, 1; }"""


class Input(NamedTuple):
    """One source."""

    kind: str
    name: str
    """Name in the folder of all inputs."""


def write_inputs(folder: Path) -> list[Input]:
    """Write all inputs into a folder; return them."""
    good = folder / "good"
    good.mkdir(parents=True)
    (good / "a.cdl").write_text(CDL)
    for name in ("a.nc", "a3.nc", "a.ncs", "a.awkd", "a.ncz", "a.ast.json", "a.parq", "a.json", "a.dmrpp"):
        options = ["--kind", "nc3" if name == "a3.nc" else "nc4"] if name.endswith(".nc") else []
        source = "a.nc" if name in ("a.parq", "a.json", "a.dmrpp") else "a.cdl"
        done = run_command("convert", str(good / source), str(good / name), *options, "--allow-loss", "all")
        assert done.status == 0, done
    (folder / "a.nc").write_bytes((good / "a.nc").read_bytes())
    return [source for function in (*hostile_stores.KINDS, *KINDS) for source in write_kind(function, good, folder)]


def write_kind(
    function: Callable[[Path], Iterator[Files]], good: Path, folder: Path, most: int | None = None
) -> Iterator[Input]:
    """Write the first inputs of a kind, and yield them."""
    for number, files in enumerate(islice(function(good), most)):
        suffix = next(iter(files)).partition("!")[0]
        source = f"{function.__name__}-{number}{suffix}"
        for path, data in files.items():
            target = folder / f"{source}{path.removeprefix(suffix).removeprefix('!')}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        yield Input(function.__name__, source)


def _inflate(text: str, suffix: str, *, step: int = 1) -> Iterator[Files]:
    """Return texts of which one number is large."""
    for number, found in enumerate(list(re.finditer(r"(?<![\w.])\d+(?![\w.])", text))[::step]):
        large = LARGE[number % len(LARGE)]
        yield {suffix: f"{text[: found.start()]}{large}{text[found.end() :]}".encode()}


def dmrpp(good: Path) -> Iterator[Files]:
    yield from _inflate((good / "a.dmrpp").read_text().replace("a.nc", "good/a.nc"), ".dmrpp", step=4)
    chunk = '<dmrpp:chunk offset="8" nBytes="{}" chunkPositionInArray="[{}]"/>'
    for size, place, shape, given in (
        (2**62, 0, 4, ""),
        (16, 10**18, 4, ""),
        (16, 0, 10**18, 'compressionType="deflate"'),
    ):
        made = dmrpp_array(f"<dmrpp:chunkDimensionSizes>{shape}</dmrpp:chunkDimensionSizes>{chunk.format(size, place)}",
                           shape=(shape,), given=given)  # fmt: skip
        yield {".dmrpp": dmrpp_document(made).replace(b"t.h5", b"a.nc")}
    made = dmrpp_array("<dmrpp:chunkDimensionSizes>1</dmrpp:chunkDimensionSizes>", shape=(10**18,))
    yield {".dmrpp": dmrpp_document(made).replace(b"t.h5", b"a.nc")}
    yield {".dmrpp": dmrpp_document('<Group name="g">' * 20000 + "</Group>" * 20000)}
    yield {".dmrpp": _entities("a", dmrpp_document("<Attribute name='a'><Value>&a0;</Value></Attribute>"))}


def _entities(name: str, document: bytes) -> bytes:
    """Return a document whose entity stands for 10¹² letters."""
    lines = [f'<!ENTITY {name}{n} "{f"&{name}{n + 1};" * 100}">' for n in range(6)]
    head = f'<!DOCTYPE x [{"".join(lines)}<!ENTITY {name}6 "a">]>'
    return head.encode() + document


def ncml(good: Path) -> Iterator[Files]:
    def document(content: str, attributes: str = "") -> Files:
        return {".ncml": f'<netcdf xmlns="{NAMESPACE}" {attributes}>{content}</netcdf>'.encode()}

    for length in (*LARGE, 10**400):
        axis, values = f'<dimension name="x" length="{length}"/>', '<values start="0" increment="1" {}/></variable>'
        counted = values.format(f'npts="{length}"')
        yield document(f'{axis}<variable name="v" type="int" shape="x"/>')
        yield document(f'{axis}<variable name="v" type="int" shape="x">{values.format("")}')
        yield document(f'<variable name="v" type="int" shape="{length}">{counted}')
    yield document("<netcdf>" * 20000 + "</netcdf>" * 20000)
    yield document('<group name="g">' * 20000 + "</group>" * 20000)
    nested = '<aggregation type="union">' + '<netcdf><aggregation type="union">' * 500
    yield document(nested + "</aggregation></netcdf>" * 500 + "</aggregation>")
    joined = '<netcdf location="good/a.nc" ncoords="{}"/>'
    for count in (10**9, 10**18):
        yield document(f'<aggregation type="joinExisting" dimName="t">{joined.format(count) * 2}</aggregation>')
    yield document(
        '<aggregation type="joinNew" dimName="n"><scan location="/proc" suffix=".nc" subdirs="true"/></aggregation>'
    )
    yield {".ncml": _entities("a", document("<attribute name='a' value='&a0;'/>")[".ncml"])}
    yield document('<attribute name="a" type="int" value="' + "9 " * 500_000 + '"/>')
    yield document("", 'location="/dev/zero"')


def cfa(good: Path) -> Iterator[Files]:
    import netCDF4

    def aggregation(length: int, fragments: int, path: str) -> Files:
        file = good / f"c{length}-{fragments}.nc"
        with netCDF4.Dataset(file, "w") as dataset:
            for name, size in (("t", length), ("f", fragments), ("j", 1)):
                dataset.createDimension(name, size)
            variable = dataset.createVariable("v", "i4")
            variable.aggregated_dimensions, variable.aggregated_data = "t", "map: m uris: u identifiers: w"
            dataset.createVariable("m", "i8", ("j", "f"), chunksizes=(1, 1))[0, 0] = length
            dataset.createVariable("u", str, ("f",), chunksizes=(1,))[0] = path
            dataset.createVariable("w", str, ())[...] = "v"
        return {".nc": file.read_bytes()}

    for length in (10**9, 2**31 - 1, 10**12, 10**15):
        yield aggregation(length, 1, "good/a.nc")
        yield aggregation(9, length, "good/a.nc")
    yield aggregation(9, 1, "/dev/zero")
    yield aggregation(9, 1, "good/../c.nc")


def hdf5(good: Path) -> Iterator[Files]:
    import h5py

    for version in ("earliest", "latest"):
        path = good / f"{version}.h5"
        write_every_structure(h5py, path, version)
        data = path.read_bytes()
        for signature in SIGNATURES:
            at = data.find(signature, 1 if signature.startswith(b"\x89") else 0)
            for offset in (8, 16) if at >= 0 else ():
                yield {".h5": data[: at + offset] + struct.pack("<Q", 2**40) + data[at + offset + 8 :]}
    shapes: list[tuple[Any, ...]] = [
        ((2**62,), "u1", (1000,)), ((10**9,), "u1", (10**9,)), ((2**40,), "i4", (1,)), ((2**31,) * 2, "u1", (1, 1)),
        ((3,), "S2000000000", None), ((2**40,), "u1", None), ((10**6,), "S100000", None),
    ]  # fmt: skip
    for number, (shape, dtype, chunks) in enumerate(shapes):
        with h5py.File(good / f"s{number}.h5", "w") as file:
            file.create_dataset(
                "v", shape, dtype, chunks=chunks, maxshape=None if chunks is None else (None,) * len(shape)
            )
        yield {".h5": (good / f"s{number}.h5").read_bytes()}
    with h5py.File(good / "chunk.h5", "w") as file:
        made = file.create_dataset("v", (BOMB,), "u1", chunks=(BOMB,), compression="gzip")
        made.id.write_direct_chunk((0,), squeeze("zlib"))
        small = file.create_dataset("w", (9,), "u1", chunks=(9,), compression="gzip")
        small.id.write_direct_chunk((0,), squeeze("zlib"))
    yield {".h5": (good / "chunk.h5").read_bytes()}


def netcdf3(good: Path) -> Iterator[Files]:
    for version in (1, 2, 5):
        made = Made(version)
        most = 2**31 - 1 if version < 5 else 2**62
        dimension, variable = made.things(10, made.dimension(b"x", 3)), made.variable(b"v", (0,), 4, 12, 200)
        yield {".nc": made.file(made.tag(10) + made.count(most))}
        yield {".nc": made.file(made.things(10, made.count(most) + b"x"))}
        yield {".nc": made.file(dimension, made.things(12, made.attribute(b"a", 2, most, b"a")))}
        yield {".nc": made.file(dimension, made.tag(12) + made.count(most))}
        yield {".nc": made.file(dimension, None, made.tag(11) + made.count(most))}
        yield {".nc": made.file(dimension, None, made.things(11, made.name(b"v") + made.count(most)))}
        yield {
            ".nc": made.file(
                made.things(10, made.dimension(b"x", most)), None, made.things(11, variable), data=bytes(99)
            )
        }
        records = made.things(10, made.dimension(b"x", 0))
        yield {".nc": made.file(records, None, made.things(11, variable), records=most, data=bytes(99))}
    data = (good / "a3.nc").read_bytes()
    yield from ({".nc": data[:at]} for at in range(10, len(data), len(data) // 6))


def cdl(good: Path) -> Iterator[Files]:
    char = "dimensions: n = UNLIMITED; w = {}; variables: char c(n, w); data: c = 'a', 'b';".replace("'", '"')
    number = "dimensions: w = {}; variables: int c(w); data: c = 1;"
    long = " ".join(f"d{n} = 1000000;" for n in range(40))
    texts = (
        *(each.format(width) for each in (char, number) for width in (10**8, 10**11, 10**18)),
        "group: g {" * 50000,
        f":a = {'9' * 1_000_000};",
        ':a = "' + "\\x41" * 500_000 + '";',
        f":a = 1e999999999; :b = 1.e-999999999; :c = 0x{'f' * 1_000_000};",
        "types: opaque(2000000000) o; variables: o v; data: v = 0X01;",
        "types: compound c { int a(100000, 100000); }; variables: c v; data: v = {{1}};",
        f"data: v = {'{' * 100_000}",
        f"dimensions: x = {'9' * 23}; variables: int v(x);",
        f"dimensions: {long} variables: int v({','.join(f'd{n}' for n in range(40))});",
        f"variables: int v; v:_ChunkSizes = 2147483647; data: v = {'1,' * 300_000} 1;",
    )
    yield from ({".cdl": f"netcdf a {{ {text} }}".encode()} for text in texts)


def notation_and_ast(good: Path) -> Iterator[Files]:
    yield from _inflate((good / "a.ncz").read_text(), ".ncz")
    yield from _inflate((good / "a.ast.json").read_text(), ".ast.json", step=2)
    yield {".ncz": b"(" * 200_000}


def awkward0(good: Path) -> Iterator[Files]:
    def archive(schema: Any, **blobs: bytes) -> Files:
        entries = [("schema.json", ragged.document(schema)), *blobs.items()]
        return {".awkd": zip_file((name, 0, data, len(data)) for name, data in entries)}

    for count in LARGE:
        yield archive(ragged.buffer("b", "<i8", count), b=bytes(16))
        yield archive(ragged.call("numpy", "zeros", shape=count, dtype="<i8"))
    yield archive(ragged.buffer("b", "|S2000000000", 1), b=bytes(16))
    schema: Any = ragged.buffer("b", "<i8", 2)
    for _ in range(300):
        schema = {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [ragged.buffer("b", "<i8", 2), schema]}
    yield archive(schema, b=bytes(16))
    bomb = [("schema.json", 0, ragged.document(ragged.buffer("b", "<i8", 2)), 0), ("b", 8, squeeze("raw"), BOMB)]
    yield {".awkd": zip_file((name, method, data, size or len(data)) for name, method, data, size in bomb)}


def streams(good: Path) -> Iterator[Files]:
    data = (good / "a.ncs").read_bytes()
    huge = b"\xff\xff\xff\xff\xff\xff\xff\x3f"
    yield from ({".ncs": data[:at] + huge + data[at + 8 :]} for at in range(4, len(data) - 8, len(data) // 16))
    for count in (2**31 - 1, 10**9):
        units = opendap_responses.units(count, count, 1, 2)
        yield {".dods": opendap_responses.dods(f"Int32 v[x = {count}];", units)}
        yield {".dods": opendap_responses.dods("String v[x = 1];", opendap_responses.units(1, 1, count))}
        yield {".dods": opendap_responses.dods(f"Byte v[x = {count}][y = {count}];", units)}
        inner = f'<Int32 name="v"><Dim size="{count}"/></Int32>'
        document = opendap_responses.dmr(inner)
        yield {".dap": opendap_responses.chunk(document, 4) + opendap_responses.chunk(bytes(16), 1 | 4)}
    for size in (10**18, 2**62):
        document = opendap_responses.dmr(f'<String name="v"><Dim size="{size}"/></String>')
        yield {".dap": opendap_responses.chunk(document, 4) + struct.pack("<Q", size) * 2}


KINDS = (dmrpp, ncml, cfa, hdf5, netcdf3, cdl, notation_and_ast, awkward0, streams)
