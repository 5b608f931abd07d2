"""Texts as a JSON list."""

from __future__ import annotations

import json

from nczarr.arrays.codecs.lengths import vlen_texts
from nczarr.arrays.codecs.table import Config, TextCodec
from nczarr.plugins.rare_codecs.text_lists import list_texts


class Json2(TextCodec):
    """JSON of numcodecs, which is read only."""

    config_id = "json2"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        try:
            document = json.loads(data)
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        return vlen_texts(list_texts(document))


JSON2 = Json2()
