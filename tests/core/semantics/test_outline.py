from __future__ import annotations

from nczarr.arrays.chunks.manifest import Affine
from nczarr.arrays.regions import Region
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout
from nczarr.ast import Attribute, Codec, Constant, Dataset, Dimension, Group, OpaqueType, Storage, Variable
from nczarr.semantics import outline
from nczarr.semantics.checked import Checked


class Stored(ArrayInMemory):
    def manifest(self, region: Region | None = None) -> Affine:
        return Affine("x.nc", 0, 6, 6, 1)


def test_types_shapes_chunks_codecs_and_sizes_are_drawn() -> None:
    import numpy as np

    storage = Storage(layout="chunked", chunks=(1, 4), codecs=(Codec(id=2), Codec(id=1, parameters=(5,))))
    units = Attribute(name="units", value=Constant.text(b"K"))
    temp = Variable(name="temp", type="float", dimensions=("/time", 4), attributes=(units,), storage=storage)
    inner = Group(name="s\x1b", variables=(Variable(name="k", type="/key"),))
    dataset = Dataset(
        name="ocean",
        kind="nc4",
        types=(OpaqueType(name="key", size=1),),
        dimensions=(Dimension(name="time", size=3, unlimited=True),),
        variables=(temp,),
        groups=(inner,),
    )
    source = Stored(Layout("<f4", (3, 4), (3, 4)), np.zeros((3, 4), "<f4"))
    checked = Checked(
        dataset,
        {"/": dataset, "/s\x1b": inner},
        {"/key": dataset.types[0]},
        {"/time": dataset.dimensions[0]},
        {"/temp": temp, "/s\x1b/k": inner.variables[0]},
        {"/temp": (3, 4), "/s\x1b/k": ()},
        {},
        {"/temp": {"": source}},
    )
    assert "".join(outline.lines(checked)).splitlines() == [
        "ocean  (nc4)",
        "├─ type key: opaque, 1 byte",
        "├─ time = unlimited (3)",
        "├─ temp  float (time 3, 4)  chunks 1×4  shuffle deflate(5)  1 attribute  6 B of 48 B (8.0:1)",
        "└─ s\\x1b/",
        "   └─ k  /key  1 B",
    ]


def test_sizes_have_units() -> None:
    assert [outline.bytes_text(count) for count in (0, 999, 1000, 4_800, 123_456, 7 * 10**18)] == [
        "0 B", "999 B", "1.0 kB", "4.8 kB", "123 kB", "7000 PB",
    ]  # fmt: skip
