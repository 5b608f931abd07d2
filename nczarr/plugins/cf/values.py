"""Values of coordinates and other small variables, read in pieces of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import linear_pieces
from nczarr.pipeline.select.physical import BLOCK, physical
from nczarr.pipeline.select.reader import reader_of
from nczarr.plugins.cf.view import CFDataset, CFVariable

LARGEST = 1 << 24
"""Cells above which the values of a variable are not read."""


def has_values(dataset: CFDataset, variable: CFVariable) -> bool:
    """Return whether a variable has values that may be read: a schema has no values, and long arrays are not read."""
    return variable.path in dataset.checked.parts and 0 < math.prod(variable.shape) <= LARGEST


def read_pieces(dataset: CFDataset, variable: CFVariable) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Yield physical values of numbers in C order, flat, and where they are missing. Raises OSError, CompileError."""
    reader, conversion = reader_of(dataset.checked, variable.path), physical(dataset.checked, variable.path)
    for region in linear_pieces(tuple(slice(0, length) for length in variable.shape), BLOCK):
        ranges = [range(part.start, part.stop) for part in region]
        values, missing = conversion.mask(reader.outer(variable.type, ranges))
        yield values.reshape(-1), missing.reshape(-1)


def read_numbers(dataset: CFDataset, variable: CFVariable) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return all physical values of a variable, and where they are missing, in its shape."""
    pieces = list(read_pieces(dataset, variable))
    values, missing = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    return values.reshape(variable.shape), missing.reshape(variable.shape)


def read_texts(dataset: CFDataset, variable: CFVariable) -> list[str]:
    """Return the texts of a variable of type char or string, without NULs and blanks at their ends."""
    reader = reader_of(dataset.checked, variable.path)
    values = reader.outer(variable.type, [range(length) for length in variable.shape])
    if variable.type == "char":
        rows = values.reshape(-1, variable.shape[-1]) if variable.shape else values.reshape(1, 1)
        texts = [row.tobytes().decode("utf-8", "replace") for row in np.ascontiguousarray(rows)]
    else:
        texts = [
            text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            for text in values.reshape(-1).tolist()
        ]
    return [text.rstrip("\0 ") for text in texts]
