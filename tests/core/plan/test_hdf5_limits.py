"""What the HDF5 library would fail on, or crash of, is found before there is a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plan.file import MAX_ATTRIBUTES, MESSAGE_BYTES, datatype_message_size

Peer = Callable[[str], ModuleType]
Builder = nczarr.DatasetBuilder


def refused(ds: nczarr.DatasetHandle, folder: Path) -> list[tuple[str, str]]:
    """What writing netCDF-4 reports; nothing may be left in the folder."""
    with pytest.raises(CompileError) as error:
        nczarr.write(ds, folder / "t.nc", "netcdf4")
    assert list(folder.iterdir()) == []
    return [(found.code, found.message) for found in error.value.diagnostics]


def filtered(type_name: str, *codecs: tuple[int, ...], size: int = 64) -> nczarr.DatasetHandle:
    b = Builder("t")
    b.variable("v", type_name, [b.dimension("x", size)], codecs=list(codecs))
    return b.finish()


def test_ranks(tmp_path: Path) -> None:
    b = Builder("t")
    x = b.dimension("x", 1)
    b.variable("v", "int", [x] * 33)
    b.compound("c", {"a": ("int", *[1] * 33)})
    found = refused(b.finish(), tmp_path)
    assert [code for code, _ in found] == ["rank-limit", "rank-limit"]
    assert "33 dimensions; HDF5 files have at most 32" in found[0][1]


def test_types_with_many_members(tmp_path: Path) -> None:
    b = Builder("t")
    b.enum("e", "int", {f"member_{i}": i for i in range(10_000)})
    assert refused(b.finish(), tmp_path)[0][0] == "format-conflict"


@pytest.mark.slow
@pytest.mark.parametrize(("count", "fits"), [(1771, True), (1772, False)])
def test_the_length_of_a_types_description(count: int, fits: bool, tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")
    b = Builder("t")
    b.compound("c", {f"{i:5}".replace(" ", "m"): ("int", 3, 1) for i in range(count)})
    ds = b.finish()
    assert (datatype_message_size("/c", ds.checked.types) <= MESSAGE_BYTES) == fits
    if fits:
        nczarr.write(ds, tmp_path / "t.nc", "netcdf4")
    else:
        refused(ds, tmp_path)


def test_the_fill_value_of_a_large_record(tmp_path: Path, peer: Peer) -> None:
    peer("netCDF4")

    def dataset(no_fill: bool) -> nczarr.DatasetHandle:
        b = Builder("t")
        c = b.compound("c", {"a": ("int", 20_000)})
        b.variable("v", c, [b.dimension("x", 2)], no_fill=no_fill)
        return b.finish()

    (found,) = refused(dataset(no_fill=False), tmp_path)
    assert found == ("format-conflict", "the fill value of `/v` has 80000 bytes; the limit of HDF5 files is 65529")
    nczarr.write(dataset(no_fill=True), tmp_path / "t.nc", "netcdf4")


@pytest.mark.slow
def test_the_number_of_attributes(tmp_path: Path) -> None:
    b = Builder("t")
    for number in range(MAX_ATTRIBUTES + 1):
        b.attribute(f"a{number}", 1)
    (found,) = refused(b.finish(), tmp_path)
    assert found[0] == "format-conflict"


@pytest.mark.parametrize(
    ("type_name", "codecs", "message"),
    [
        ("int", [(4, 32, 0)], "2 to 32 pixels per block, not 0"),  # the library divides by it
        ("int", [(4, 32, 7)], "2 to 32 pixels per block, not 7"),
        ("int", [(4, 32)], "szip has two parameters"),
        ("char", [(4, 32, 8)], "szip is for numbers, not for char"),
        ("int", [(4, 32, 8), (1, 5)], "szip and deflate exclude each other"),
        ("string", [(6, 2, 0)], "the scale-offset filter is for numbers, not for string"),
        ("int", [(1, 10)], "deflate has the levels 0 to 9, not 10"),
        ("int", [(33000, *range(257))], "filter 33000 has 257 parameters"),
        ("int", [(33000 + number,) for number in range(32)], "32 filters; the limit is 31"),  # a double free
    ],
)
def test_filters(type_name: str, codecs: list[tuple[int, ...]], message: str, tmp_path: Path) -> None:
    (found,) = refused(filtered(type_name, *codecs), tmp_path)
    assert found[0] == "refused-storage"
    assert message in found[1]


def test_szip_with_chunks_smaller_than_a_block(tmp_path: Path) -> None:
    (found,) = refused(filtered("int", (4, 32, 8), size=4), tmp_path)
    assert "blocks of 8 pixels, but a chunk has 4" in found[1]


def test_digits_of_a_float(tmp_path: Path) -> None:
    b = Builder("t")
    b.variable("v", "float", [b.dimension("x", 2)], quantize=("bitgroom", 7))
    (found,) = refused(b.finish(), tmp_path)
    assert found[0] == "refused-storage"
    assert "the netCDF library supports 1 to 6" in found[1]


def test_what_is_set_aside_with_a_warning(tmp_path: Path, peer: Peer) -> None:
    """The byte order of an enum, a filter given twice, compact storage a few bytes too large."""
    peer("netCDF4")
    b = Builder("t")
    x = b.dimension("x", 65_532)
    b.variable("e", b.enum("sky", "short", {"clear": 0}), [x], endian="big")
    b.variable("f", "int", [x], codecs=[("deflate", 1), ("deflate", 5)])
    b.variable("c", "byte", [x], layout="compact")
    b.variable("s", "string", [b.dimension("y", 4096)], layout="compact")
    (found,) = nczarr.write(b.finish(), tmp_path / "t.nc", "netcdf4")
    assert (found.code, found.message) == ("lost-annotations", "netcdf4 does not keep storage hints (4)")


def test_types_too_large_to_work_with() -> None:
    """A value of terabytes, and a type that doubles its members at every level: neither takes memory or time."""
    levels = "".join(f"compound c{i + 1} {{ c{i} a ; c{i} b ; }} ;\n" for i in range(40))
    with pytest.raises(CompileError) as error:
        nczarr.from_cdl(
            "netcdf t {\ntypes:\nopaque(1000000000000) o ;\ncompound c0 { byte a ; } ;\n"
            f"{levels}variables: o v ; c40 w ;\n}}\n"
        )
    found = [(each.code, each.message) for each in error.value.diagnostics]
    assert found == [
        ("oversized-type", "a value of type `o` has 1000000000000 bytes; the limit is 134217728"),
        (
            "oversized-type",
            "a value of type `c17` has 131072 members, nested members included; the limit is 65536",
        ),
    ]
