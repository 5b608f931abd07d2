"""Texts of char variables: rows that are much longer than their texts are not written out."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import nczarr

SCHEMA = "netcdf t {{ dimensions: {} ; variables: char c({}) ; {} data: c = {} ; }}"


def opened(text: str, folder: Path) -> nczarr.DatasetHandle:
    (folder / "t.cdl").write_text(text)
    return nczarr.open(folder / "t.cdl")


def test_a_declared_width_takes_no_memory(tmp_path: Path) -> None:
    text = SCHEMA.format("n = UNLIMITED ; m = 2 ; w = 1000000000", "n, m, w", "", '"a", "", "bc", "d"')
    tracemalloc.start()
    try:
        found = opened(text, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert found["/c"].shape == (2, 2, 1_000_000_000)
    rows = found["/c"][:, :, :3].tolist()
    assert rows == [[[b"a", b"", b""], [b"", b"", b""]], [[b"b", b"c", b""], [b"d", b"", b""]]]
    assert found["/c"][1, 1, 10**9 - 2 :].tolist() == [b"", b""]


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_any_length_are_padded_alike(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    sizes = [draw.randint(1, 3) for _ in range(draw.randint(1, 2))]
    width, grows = draw.choice((5, 256, 257, 300, 700)), draw.random() < 0.5
    rows = draw.randint(1, int(np.prod(sizes)))
    texts = [b"x" * draw.choice((0, 1, 3, width - 1, width)) for _ in range(rows)]
    fill = draw.choice((b"", b"*"))
    dimensions = [f"d{at} = {'UNLIMITED' if grows and not at else size}" for at, size in enumerate([*sizes, width])]
    names = ", ".join(f"d{at}" for at in range(len(sizes) + 1))
    attribute = 'c:_FillValue = "*" ;' if fill else ""
    listed = ", ".join(f'"{text.decode()}"' for text in texts)
    found = opened(SCHEMA.format(" ; ".join(dimensions), names, attribute, listed), tmp_path)
    pad = fill or b"\0"
    inner = int(np.prod(sizes[1:]))
    expected_rows = -(-rows // inner) * inner if grows else int(np.prod(sizes))
    padded = b"".join(text.ljust(width, pad) for text in texts).ljust(expected_rows * width, pad)
    expected = np.frombuffer(padded, "S1").reshape(-1 if grows else sizes[0], *sizes[1:], width)
    np.testing.assert_array_equal(found["/c"][...], expected, strict=True)
