"""Constants of DMR++ documents: filters, fill values, and the files that they describe."""

from __future__ import annotations

import os
import stat
import struct

from nczarr.ast import ATOMIC
from nczarr.ast.storage import DEFLATE, FLETCHER32, SHUFFLE
from nczarr.check.check_types import DEFAULT
from nczarr.formats.opendap.common.document_text import number_of

PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
"""`dmrpp:href` of NASA's documents: the target is the document's name without `.dmrpp`."""

SUFFIX = ".dmrpp"

HDF5, HDF4 = b"\x89HDF\r\n\x1a\n", b"\x0e\x03\x13\x01"
"""Signatures of files; HDF5's may follow a user block."""

FILTERS = {"deflate": DEFLATE, "shuffle": SHUFFLE, "fletcher32": FLETCHER32}
"""Filters by the words of `compressionType`."""

FILTER_NAMES = {number: name for name, number in FILTERS.items()}


def fill_number(text: str, type_name: str, declared: bytes | None) -> bytes | None:
    """Return the bytes of a fill value, None for invalid text.

    Hyrax writes six digits of a float: the declared fill value, or the type's
    default, is returned if it matches.
    """
    number = number_of(text, type_name)
    if number is None or not ATOMIC[type_name].is_float:
        return number
    code = "<" + ATOMIC[type_name].code
    for candidate in (declared, struct.pack(code, DEFAULT[type_name])):
        if (
            candidate is not None
            and len(candidate) == len(number)
            and f"{struct.unpack(code, candidate)[0]:g}" == text.strip()
        ):
            return candidate
    return number


def foreign_kind(path: str) -> str | None:
    """Describe a regular file that is not HDF5, or return None. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return None
    with open(path, "rb") as file:
        head = file.read((1 << 15) + 8)
    if any(head[at : at + 8] == HDF5 for at in (0, *(512 << step for step in range(7)))):
        return None
    return "an HDF4 file" if head[:4] == HDF4 else "not an HDF5 file"
