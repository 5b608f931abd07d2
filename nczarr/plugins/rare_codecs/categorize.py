"""Texts as numbers of categories."""

from __future__ import annotations

from nczarr.arrays.codecs.lengths import vlen_texts
from nczarr.arrays.codecs.table import Config, TextCodec
from nczarr.arrays.lazy_numpy import np


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
