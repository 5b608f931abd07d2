"""Texts of a chunk in the forms of numcodecs that are lists."""

from typing import Any


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
