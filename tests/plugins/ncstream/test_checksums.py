"""CRC-32 of messages: written on request, verified wherever a message has one, and skipped by others."""

from __future__ import annotations

import io
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import nczarr
from nczarr import ncstream
from nczarr.diagnostics.report import CompileError
from tests.conftest import ROOT, run_command

SAMPLES = [ROOT / "samples" / name for name in ("01-station.cdl", "05-every-type.cdl", "06-strings.cdl")]


def summed(path: Path, **how: object) -> bytes:
    with nczarr.open(path) as opened:
        return b"".join(ncstream.data_messages(opened, [(name, None) for name in opened], checksums=True, **how))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("profile", ["mixed", "first", "second"])
@pytest.mark.parametrize("deflate", [None, 5])
def test_values_are_the_same_with_checksums(path: Path, profile: str, deflate: int | None) -> None:
    with nczarr.open(path) as opened:
        header = ncstream.header_message(opened)
        plain = b"".join(
            ncstream.data_messages(opened, [(name, None) for name in opened], profile=profile, deflate=deflate)  # type: ignore[arg-type]
        )
    data = summed(path, profile=profile, deflate=deflate)
    assert (len(data) > len(plain)) == (b"\xab\xec\xce\xba" in plain), "messages of columns have no place for it"
    pairs = zip(ncstream.read_messages(header + data), ncstream.read_messages(header + plain), strict=True)
    for one, other in pairs:
        assert repr(getattr(one, "values", None)) == repr(getattr(other, "values", None))


def test_the_checksum_is_that_of_the_bytes_behind_the_block() -> None:
    data = summed(SAMPLES[0])
    start = data.index(b"\xab\xec\xce\xba")
    length = data[start + 4]
    block, behind = data[start + 5 : start + 5 + length], data[start + 5 + length :]
    assert length < 0x80
    assert block[-5:-4] == b"\x3d"
    end = behind.find(b"\xab\xec\xce\xba")
    assert int.from_bytes(block[-4:], "little") == crc32(behind[:end] if end >= 0 else behind)


def test_damage_is_found(tmp_path: Path) -> None:
    ran = run_command(
        "convert", str(SAMPLES[0]), str(tmp_path / "a.ncs"), "-q", "--storage-option", "ncstream.crc32=true"
    )
    assert ran.status == 0, ran.err
    whole = (tmp_path / "a.ncs").read_bytes()
    with nczarr.open(tmp_path / "a.ncs") as one, nczarr.open(SAMPLES[0]) as other:
        assert np.array_equal(one["/temperature"][...], other["/temperature"][...])
    damaged = bytearray(whole)
    damaged[whole.index(b"\xed\xed\xde\xde") - 1] ^= 1
    (tmp_path / "b.ncs").write_bytes(damaged)
    for read in (lambda: nczarr.open(tmp_path / "b.ncs"), lambda: list(ncstream.read_messages(io.BytesIO(damaged)))):
        with pytest.raises(CompileError) as caught:
            read()
        [fault] = caught.value.diagnostics
        assert fault.code == "contradictory-ncstream"
        assert "the values have the CRC-32" in fault.message
    ran = run_command(
        "convert", str(SAMPLES[0]), str(tmp_path / "c.ncs"), "-q", "--storage-option", "ncstream.crc32=yes"
    )
    assert "must be `true` or `false`" in ran.err


def test_siphon_skips_checksums() -> None:
    reader = pytest.importorskip("siphon.cdmr.ncstream")
    with nczarr.open(SAMPLES[0]) as opened:
        data = b"".join(ncstream.data_messages(opened, [("/time", None)], checksums=True))
    [values] = reader.read_ncstream_messages(io.BytesIO(data))
    assert values.tolist() == [0, 6, 12]
