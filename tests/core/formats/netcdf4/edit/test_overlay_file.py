"""A file object whose writes become patches."""

from __future__ import annotations

import random

from nczarr.formats.netcdf4.edit.overlay_file import OverlayFile


def test_writes_are_read_and_become_patches() -> None:
    dice = random.Random(5)
    for _ in range(50):
        old = dice.randbytes(dice.randrange(0, 20_000))
        truth, overlay = bytearray(old), OverlayFile(old)
        for _ in range(dice.randrange(12)):
            at = dice.randrange(len(truth) + 5000)
            data = dice.randbytes(dice.randrange(9000))
            truth += bytes(max(0, at + len(data) - len(truth)))
            truth[at : at + len(data)] = data
            overlay.seek(at)
            overlay.write(data)
        overlay.seek(0)
        content = bytearray(len(truth) + 10)
        assert overlay.readinto(content) == len(truth)
        assert content[: len(truth)] == truth
        patch, result = overlay.patch(), bytearray(old)
        assert (patch.old_length, patch.new_length) == (len(old), len(truth))
        for one in patch.patches:
            assert result[one.offset : one.offset + len(one.old)] == one.old
            result[one.offset : one.offset + len(one.new)] = one.new
        assert result == truth


def test_a_cut_keeps_the_length_of_the_file() -> None:
    overlay = OverlayFile(b"abcdef")
    overlay.truncate(3)
    assert overlay.seek(0, 2) == 3
    assert overlay.patch().new_length == 6
    assert overlay.patch().patches == ()
