"""What plugins add to the draft of 2019: codecs, by their URI."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest

from nczarr import zarr3_2019
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.zarr_drafts.api import MemoryKeys
from nczarr.sdk import CodecKind
from tests.support.added_rows import add_rows
from tests.support.draft_2019 import GZIP, array, content

CODEC = "https://example.org/codec/xor"
XOR = {"codec": CODEC, "key": 7}
VALUES = np.arange(1, 7, dtype="<i4").reshape(2, 3)


class Xor(CodecKind):
    config_id = CODEC

    def decode(self, data: bytes, step: Any, itemsize: int, limit: int) -> bytes:
        return xor(data, step["key"])


XOR_CODEC = Xor()


def xor(data: bytes, key: int = 7) -> bytes:
    return bytes(byte ^ key for byte in data)


def opened(data: bytes, key: str = "data/v/0.0", **members: Any) -> Any:
    """The only array of a hierarchy, whose one chunk has all values unless members say otherwise."""
    members = {"chunk_grid": {"type": "regular", "chunk_shape": [2, 3]}, **members}
    stored = MemoryKeys({**content(v=array(**members)), key: data})
    return zarr3_2019.read(stored)["v"]


def test_codecs_are_found_by_their_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    data = VALUES.tobytes()
    with pytest.raises(CompileError, match=f"codec `{CODEC}` is unknown"):
        opened(xor(data), chunk_codecs=[XOR])[...]
    add_rows(monkeypatch, codecs={CODEC: f"{__name__}:XOR_CODEC"})
    assert opened(xor(data), chunk_codecs=[XOR])[...].tolist() == VALUES.tolist()
    assert opened(xor(gzip.compress(data)), chunk_codecs=[GZIP, XOR])[...].tolist() == VALUES.tolist()
    assert opened(gzip.compress(xor(data)), chunk_codecs=[XOR, GZIP])[...].tolist() == VALUES.tolist()
