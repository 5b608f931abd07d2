"""Messages of streams made by hand."""

from __future__ import annotations

import io
from typing import Any

import nczarr.ncstream as door
import numpy as np

from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from tests.support import ncstream_streams as make


def read(stream: Any, **options: Any) -> list[Any]:
    return list(door.read_messages(stream, **options))


def rewritten(messages: list[Any]) -> bytes:
    out = io.BytesIO()
    door.write_messages(messages, out)
    return out.getvalue()


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same type, byte order aside, and the same bits."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or a.dtype.newbyteorder("<") != b.dtype.newbyteorder("<"):
            return False
        if a.dtype.names is not None:
            return all(same(a[name], b[name]) for name in a.dtype.names)
        if a.dtype.kind == "O":
            return all(map(same, a.reshape(-1).tolist(), b.reshape(-1).tolist()))
        little = a.dtype.newbyteorder("<")
        return a.astype(little).tobytes() == b.astype(little).tobytes()
    return type(a) is type(b) and bool(a == b)


def lists(shape: tuple[int, ...], items: list[Any]) -> Any:
    made = np.empty(len(items), object)
    made[:] = items
    return made.reshape(shape)


POINT = [make.variable("x", pb.INT), make.variable("y", pb.INT)]


OBS = [
    make.variable("day", pb.BYTE),
    make.variable("name", pb.STRING),
    make.structure("at", POINT, 2),
    make.variable("w", pb.SHORT, 2, unsigned=True),
    make.variable("two", pb.STRING, 2),
]
"""On the wire the structure stands last."""


def obs_rows(order: str) -> tuple[bytes, list[list[bytes]]]:
    row = np.dtype([("day", "i1"), ("name", f"{order}i4"), ("w", f"{order}i2", 2), ("two", f"{order}i4"),
                    ("at", [("x", f"{order}i4"), ("y", f"{order}i4")], 2)])  # fmt: skip
    data = np.array([(1, 0, (-1, 2), 1, [(1, 2), (3, 4)]), (2, 3, (5, 6), 2, [(5, 6), (7, 8)])], row)
    return data.tobytes(), [[b"a"], [b"b", b"c"], [b"d", b"e"], [b"f"]]
