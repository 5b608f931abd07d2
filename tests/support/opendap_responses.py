"""Small responses of DAP2 and DAP4, made byte by byte."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable


def dods(dds: str, *pieces: bytes) -> bytes:
    """Return a DODS response."""
    return f"Dataset {{\n{dds}\n}} sample;\n\nData:\n".encode() + b"".join(pieces)


def units(*numbers: int) -> bytes:
    """Return integers as units of four bytes."""
    return b"".join(struct.pack(">I", each & 0xFFFFFFFF) for each in numbers)


def text(words: bytes) -> bytes:
    """Return a text of XDR."""
    return units(len(words)) + words + bytes(-len(words) % 4)


ROW, END = b"\x5a\0\0\0", b"\xa5\0\0\0"


def chunk(data: bytes, flags: int = 0) -> bytes:
    """Return a chunk of DAP4."""
    return bytes([flags]) + len(data).to_bytes(3, "big") + data


def dmr(inner: str, version: str = "2.0") -> bytes:
    """Return a document."""
    head = f'name="sample" dapVersion="4.0" dmrVersion="{version}" xmlns="http://xml.opendap.org/ns/DAP/4.0#"'
    return f"<Dataset {head}>{inner}</Dataset>".encode()


def dap(
    inner: str,
    variables: Iterable[bytes],
    *,
    little: bool = True,
    checked: bool = True,
    size: int = 1 << 20,
    version: str = "2.0",
) -> bytes:
    """Return a data response: the bytes of each variable, in chunks of at most `size` bytes."""
    order = "<I" if little else ">I"
    values = b"".join(each + (struct.pack(order, zlib.crc32(each)) if checked else b"") for each in variables)
    flags = 4 * little + 8 * (not checked)
    pieces = [values[at : at + size] for at in range(0, len(values), size)] or [b""]
    chunks = [chunk(each, flags) for each in pieces[:-1]]
    return chunk(dmr(inner, version), flags) + b"".join(chunks) + chunk(pieces[-1], flags | 1)
