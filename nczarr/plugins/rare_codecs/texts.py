"""Texts of a chunk in forms of numcodecs: numbers of categories, JSON lists and msgpack lists."""

from __future__ import annotations

import json
from typing import Any

from nczarr.arrays.codecs.lengths import LARGEST, vlen_texts
from nczarr.arrays.codecs.table import Config, TextCodec
from nczarr.arrays.lazy_numpy import np


def list_texts(document: Any) -> list[bytes]:
    """Return the texts of a chunk in numcodecs' form: the texts of all cells, then dtype and shape."""
    if not isinstance(document, list) or len(document) < 2 or not isinstance(document[-1], list):
        raise ValueError("the chunk is not a list of values, dtype and shape")
    values = document[:-2]
    for _ in document[-1][1:]:  # several dimensions are lists of lists
        values = [inner for row in values if isinstance(row, list) for inner in row]
    if not all(isinstance(text, str) for text in values):
        raise ValueError("the chunk holds values that are not texts")
    return [text.encode() for text in values]


class Categorize(TextCodec):
    """Labels of numbers, which are read only; 0 is an empty text."""

    config_id = "categorize"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        """Return the labels: texts of a fixed length or any."""
        labels, codes = step.get("labels", ()), np.dtype(step.get("astype", "u1"))
        are_texts = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        if not are_texts or codes.kind not in "iu":
            raise ValueError("codec `categorize` has no labels")
        numbers = np.frombuffer(data, codes).astype(np.int64)
        codes_in_range = np.where((numbers > 0) & (numbers <= len(labels)), numbers, 0)
        dtype = np.dtype(step.get("dtype"))
        if dtype.kind == "U":
            return np.array(["", *labels], dtype)[codes_in_range].tobytes()
        texts = [b"", *(label.encode() for label in labels)]
        return vlen_texts([texts[number] for number in codes_in_range.tolist()])


CATEGORIZE = Categorize()


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
