"""`check --data`: what it reads, what it reports, and how much of it."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command


def write_store(folder: Path, chunks: dict[str, bytes], shape: int = 8, compressor: str = "null") -> Path:
    """Write a store of Zarr v2 with the variable `v`, in chunks of four bytes."""
    document = (
        f'{{"zarr_format": 2, "shape": [{shape}], "chunks": [4], "dtype": "|i1", "fill_value": 0, "order": "C",'
        f' "filters": null, "compressor": {compressor}}}'
    )
    texts = {".zgroup": '{"zarr_format": 2}', "v/.zarray": document, "v/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}'}
    for key, data in {**{key: text.encode() for key, text in texts.items()}, **chunks}.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(data)
    return folder


def check(*words: object) -> tuple[int, str]:
    ran = run_command("check", "--data", *map(str, words))
    return ran.status, ran.err


def test_a_bad_chunk_does_not_hide_others(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"v/0": b"ab", "v/1": b"abcdef"})
    status, text = check(store)
    assert status == 1
    assert "error[truncated-chunk]: chunk (0) of `/v`, `v/0`, is cut off" in text
    assert "error[misfit-chunk]: chunk (1) of `/v`, `v/1`, has another size than its shape" in text
    assert "1 variable, 2 chunks read, 0 decoded, 2 damaged, 0 B" in text


def test_from_python(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"v/0": b"ab", "v/1": b"abcd"})
    found = nczarr.check(store, data=True)
    assert [(one.code, str(one.severity)) for one in found] == [
        ("unchecked-chunks", "note"),
        ("truncated-chunk", "error"),
    ]
    found = nczarr.check(store, data=True, select=["truncated-chunk"], readers="xarray")
    assert [one.code for one in found] == ["truncated-chunk"]


def test_many_bad_chunks_are_counted(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {f"v/{number}": b"a" for number in range(50)}, 200)
    status, text = check(store)
    assert status == 1
    assert text.count(", is cut off") == 8
    assert "42 further chunks of `/v` have the same fault" in text
    assert "50 damaged" in text


def test_a_missing_chunk_is_a_note(tmp_path: Path) -> None:
    status, text = check(write_store(tmp_path / "s.zarr", {"v/0": b"abcd"}))
    assert status == 0
    assert "note[unwritten-chunks]: 1 of 2 chunks of `/v` are not stored, first (1)" in text


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--dim", "x=0:3"), 0),
        (("--dim", "x=3:4"), 1),
        (("--section", "v(5:6)"), 1),
        (("--var", "v", "--section", "v(1:2)"), 0),
        (("--var", "v"), 1),
        (("--sample", "100%"), 1),
    ],
)
def test_a_part_is_that_of_its_chunks(words: tuple[str, ...], status: int, tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"v/0": b"abcd", "v/1": b"abc"})
    found, text = check(store, *words)
    assert found == status, text
    assert ("chunk (1) of `/v`" in text) == (status == 1)


def test_a_sample_reads_a_part(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {f"v/{number}": b"abcd" for number in range(40)}, 160)
    assert "10 chunks read" in check(store, "--sample", "25%")[1]
    assert check(store, "--sample", "25%") == check(store, "--sample", "25%")


@pytest.mark.parametrize(
    "words",
    [("--sample", "0%"), ("--sample", "x"), ("--for", "xarray"), ("--data", "--combine")],
)
def test_words_that_do_not_belong_to_it(words: tuple[str, ...], tmp_path: Path) -> None:
    assert check(write_store(tmp_path / "s.zarr", {}), *words)[0] == 2


def test_a_selection_belongs_to_it(tmp_path: Path) -> None:
    ran = run_command("check", str(write_store(tmp_path / "s.zarr", {})), "--var", "v")
    assert (ran.status, "belong to --data" in ran.err) == (2, True)


def test_the_last_line_is_an_object(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"v/0": b"abcd", "v/1": b"ab"})
    last = json.loads(check(store, "--message-format", "json")[1].splitlines()[-1])
    assert (last["result"], last["chunks"], last["damaged"], last["size"]) == ("check", 2, 1, 4)


def test_a_damaged_document_does_not_hide_other_arrays(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s.zarr", {"v/0": b"ab", "w/.zarray": b"{"})
    status, text = check(store)
    assert status == 1
    assert "error[bad-metadata]" in text
    assert "error[truncated-chunk]: chunk (0) of `/v`" in text


VALUES = """netcdf t {{ dimensions: x = 4 ; time = 5 ;
variables: {declared} ; data: {data} ; }}"""


@pytest.mark.parametrize(
    ("declared", "data", "found"),
    [
        ("short v(x) ; v:valid_max = 9s", "v = 1, 2, 10, 11", "the value 10 at (2) of `/v`, in chunk (0), is outside"),
        ("byte v(x) ; v:_Unsigned = \"true\" ; v:valid_range = 0b, -2b", "v = 1, 2, 3, -1", "at (3) of `/v`"),
        ("short v(x) ; v:valid_max = 9s ; v:missing_value = 99s", "v = 1, 99, 2, 3", ""),
        ("short v(x) ; v:valid_min = 0s", "v = _, 1, 2, 3", ""),
        ("float v(x)", "v = 1, -Infinity, 2, 3", "is infinite"),
        ("float v(x) ; v:_FillValue = NaNf", "v = 1, NaN, 2, 3", ""),
        ("float v(x) ; v:_FillValue = -9.f", "v = 1, NaN, NaN, 3", "is NaN, and missing values are -9.0; so is 1 more"),
        ("int x(x)", "x = 4, 3, 2, 1", ""),
        ("int x(x)", "x = 4, 3, 3, 1", "the value 3 at (2) of `/x`, in chunk (0), does not decrease"),
        ("uint64 x(x)", "x = 1, 9223372036854775808, 9223372036854775807, 9223372036854775809", "at (2) of `/x`"),
        ("int time(time) ; time:units = \"days since 2000-1-1\"", "time = 0, 1, 2, 5, 6", "2000-01-03 to 2000-01-06"),
    ],
)  # fmt: skip
def test_values(declared: str, data: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "t.cdl"
    path.write_text(VALUES.format(declared=declared, data=data))
    text = check(path)[1]
    assert found in text
    assert bool(found) == any(f"{code}]" in text for code in CODES), text


CODES = ("excluded-value", "odd-number", "disordered-coordinate", "irregular-step")


def write_classic(path: Path, missing: int) -> Path:
    """Write a classic file of one variable of four integers, without its last bytes."""
    name = struct.pack(">i", 1) + b"x\0\0\0"
    header = b"CDF\1" + struct.pack(">iii", 0, 10, 1) + name + struct.pack(">i", 4) + struct.pack(">ii", 0, 0)
    header += struct.pack(">ii", 11, 1) + struct.pack(">i", 1) + b"v\0\0\0" + struct.pack(">ii", 1, 0)
    header += struct.pack(">ii", 0, 0) + struct.pack(">ii", 4, 16)
    header += struct.pack(">i", len(header) + 4)
    path.write_bytes((header + struct.pack(">iiii", 1, 2, 3, 4))[: len(header) + 16 - missing])
    return path


@pytest.mark.parametrize("words", [("digest",), ("dump",), ("dump", "--as", "keys"), ("diff",)])
def test_a_cut_file_is_refused_unless_the_loss_is_accepted(words: tuple[str, ...], tmp_path: Path) -> None:
    whole, cut = write_classic(tmp_path / "whole.nc", 0), write_classic(tmp_path / "cut.nc", 4)
    sources = [str(cut), str(cut)] if words == ("diff",) else [str(cut)]
    ran = run_command(*words, *sources)
    assert (ran.status, ran.out) == (1, b"")
    assert "error[unread]" in ran.err
    ran = run_command(*words, *sources, "--allow-loss", "unread")
    assert ran.status == 0, ran.err
    assert run_command(*words, *[str(whole)] * len(sources)).status == 0
    assert run_command("dump", "-h", str(cut)).status == 0


def test_the_chunks_of_a_cut_file_are_named(tmp_path: Path) -> None:
    status, text = check(write_classic(tmp_path / "cut.nc", 4))
    assert status == 1
    assert "error[truncated-chunk]: chunk (0) of `/v` is cut off: the file ends before its last byte" in text


def write_shards(folder: Path, chunks: int) -> Path:
    """Write a store of Zarr v3 with two shards of `v`, of so many chunks along each of two dimensions."""
    cells = chunks * 4
    text = f"netcdf t {{ dimensions: x = {2 * cells} ; y = {cells} ; variables: int v(x, y) ; data: v = %s ; }}"
    made = nczarr.from_cdl(text % ", ".join(map(str, range(1, 2 * cells * cells + 1))))
    nczarr.write(made, folder, "zarr3", chunks={"/v": (4, 4)}, shards={"/v": (cells, cells)})
    return folder


@pytest.mark.parametrize("damage", ["changed", "cut"])
@pytest.mark.parametrize("chunks", [2, 40])
def test_chunks_of_a_shard_without_index_are_not_called_missing(chunks: int, damage: str, tmp_path: Path) -> None:
    store = write_shards(tmp_path / "s.zarr", chunks)
    shard = store / "v/c/1/0"
    data = bytearray(shard.read_bytes())
    data[-20] ^= 1
    shard.write_bytes(data if damage == "changed" else data[:10])
    status, text = check(store)
    assert (status, text.count("error["), "unwritten-chunks" in text) == (1, 1, False)
    assert f"of `/v`, `v/c/1/0`, {'does not have its checksum' if damage == 'changed' else 'cannot be decoded'}" in text
    assert f"none of the {chunks**2:,} chunks of its shard is found" in text
    assert f"1 variable, {2 * chunks**2:,} chunks read, 0 decoded, {chunks**2:,} damaged" in text
    status, text = check(store, "--dim", f"x={4 * chunks + 4}:{8 * chunks - 1}")
    assert f"none of the {(chunks - 1) * chunks:,} chunks of its shard is found" in text
    assert "unwritten-chunks" not in text
    assert check(store, "--dim", "x=0:3")[0] == 0


def test_missing_chunks_beside_a_shard_without_index_are_a_note(tmp_path: Path) -> None:
    store = write_shards(tmp_path / "s.zarr", 2)
    (store / "v/c/0/0").unlink()
    (store / "v/c/1/0").write_bytes(b"")
    status, text = check(store)
    assert status == 1
    assert "note[unwritten-chunks]: 4 of 8 chunks of `/v` are not stored, first (0, 0)" in text


def test_a_wrong_length_of_the_last_chunk_is_no_damage_of_the_index(tmp_path: Path) -> None:
    """The chunk is listed; of the others of its shard the index says that they are missing."""
    store = write_shards(tmp_path / "s.zarr", 2)
    (store / "v/c/0/0").unlink()
    document = json.loads((store / "v/zarr.json").read_text())
    document["codecs"][0]["configuration"]["index_codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    (store / "v/zarr.json").write_text(json.dumps(document))
    (store / "v/c/1/0").write_bytes(bytes(60) + struct.pack("<8Q", *[2**64 - 1] * 6, 0, 60))
    _, text = check(store)
    assert "error[truncated-chunk]: chunk (3, 1) of `/v`" in text
    assert "note[unwritten-chunks]: 7 of 8 chunks" in text


def test_coordinates_without_values_have_no_order(tmp_path: Path) -> None:
    path = tmp_path / "a.cdl"
    path.write_text("netcdf a { dimensions: x = 3 ; variables: int x(x) ; int v(x) ; data: v = 1, 2, 3 ; }")
    status, text = check(path)
    assert status == 0
    assert "2 variables, 1 chunk read" in text
