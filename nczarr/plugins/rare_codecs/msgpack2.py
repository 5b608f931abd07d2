"""Texts as a msgpack list."""

from __future__ import annotations

from nczarr.arrays.codecs.lengths import LARGEST, vlen_texts
from nczarr.arrays.codecs.table import Config, TextCodec
from nczarr.plugins.rare_codecs.text_lists import list_texts


class Msgpack2(TextCodec):
    """msgpack of numcodecs, which is read only."""

    config_id = "msgpack2"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        try:
            import msgpack
        except ImportError:
            raise ValueError("codec `msgpack2` needs a library: pip install msgpack") from None
        try:
            document = msgpack.unpackb(data, max_str_len=LARGEST, strict_map_key=True)
        except msgpack.exceptions.UnpackException as error:
            raise ValueError(f"not msgpack: {error}") from None
        return vlen_texts(list_texts(document))


MSGPACK2 = Msgpack2()
