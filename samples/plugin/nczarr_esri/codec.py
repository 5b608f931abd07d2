"""Codec `esri_hex` of Zarr stores: the bytes of a chunk as hexadecimal digits."""

from __future__ import annotations

from typing import Any

from nczarr.sdk import CodecKind


class HexCodec(CodecKind):
    config_id = "esri_hex"

    def decode(self, data: bytes, step: Any, itemsize: int, limit: int) -> bytes:
        if len(data) > 2 * limit:
            raise ValueError("the chunk has more digits than its shape allows")
        return bytes.fromhex(data.decode("ascii"))


CODEC = HexCodec()
