"""Drawn types of HDF5: made by h5py's low level, with values of any bits, and compared with what h5py reads of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

LEAVES = ("integer", "odd integer", "float", "odd float", "text", "enum", "opaque", "bitfield", "complex", "reference",
          "extended", "time")  # fmt: skip


class TypeMaker:
    """Maker of the types of one draw."""

    def __init__(self, h5py: Any, draw: random.Random) -> None:
        self.h5t = h5py.h5t
        self.draw = draw

    def make(self, depth: int = 2) -> Any:
        """Return a type of h5py's low level with values of fixed size."""
        draw, h5t = self.draw, self.h5t
        if depth and draw.random() < 0.4:
            if draw.random() < 0.3:
                return h5t.array_create(self.make(depth - 1), tuple(draw.choices((1, 2, 3), k=draw.randint(1, 2))))
            members = [self.make(depth - 1) for _ in range(draw.randint(1, 3))]
            gaps = [draw.choice((0, 0, 3)) for _ in range(len(members) + 1)]
            record = h5t.create(h5t.COMPOUND, sum(one.get_size() for one in members) + sum(gaps))
            at = 0
            for number, (gap, member) in enumerate(zip(gaps, members, strict=False)):
                record.insert(f"m{number}".encode(), at + gap, member)
                at += gap + member.get_size()
            return record
        return self.leaf(draw.choices(LEAVES, (4, 3, 4, 3, 4, 2, 1, 1, 2, 0.3, 0.3, 0.3))[0])

    def leaf(self, name: str) -> Any:
        """Return a type without components."""
        draw, h5t = self.draw, self.h5t
        order = draw.choice(("LE", "BE"))
        match name:
            case "integer":
                return getattr(h5t, f"STD_{draw.choice('IU')}{draw.choice((8, 16, 32, 64))}{order}").copy()
            case "odd integer":
                kind = getattr(h5t, f"STD_{draw.choice('IU')}{draw.choice((16, 32, 64))}{order}").copy()
                bits = 8 * kind.get_size()
                kind.set_precision(draw.randint(bits // 2 + 1, bits))  # HDF5 refuses fewer
                kind.set_offset(draw.randint(0, bits - kind.get_precision()))
                return kind
            case "float":
                return getattr(h5t, f"IEEE_F{draw.choice((16, 32, 64))}{order}").copy()
            case "odd float":
                kind = getattr(h5t, f"IEEE_F32{order}").copy()
                exponent, mantissa = draw.randint(3, 8), draw.randint(13, 20)
                kind.set_fields(exponent + mantissa, mantissa, exponent, 0, mantissa)
                kind.set_precision(exponent + mantissa + 1)
                kind.set_ebias((1 << (exponent - 1)) - 1)
                return kind
            case "text":
                kind = h5t.C_S1.copy()
                kind.set_size(draw.randint(1, 6))
                paddings = (h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD)
                kind.set_strpad(draw.choice(paddings[: 3 if kind.get_size() > 1 else 2]))  # a blank is a char
                return kind
            case "enum":
                kind = h5t.enum_create(getattr(h5t, f"STD_I{draw.choice((8, 16))}{order}"))
                for value, label in enumerate((b"NO", b"YES")):
                    kind.enum_insert(label, value)
                return kind
            case "opaque":
                kind = h5t.create(h5t.OPAQUE, draw.randint(1, 9))
                kind.set_tag(draw.choice((b"", b"a tag")))
                return kind
            case "bitfield":
                return getattr(h5t, f"STD_B{draw.choice((8, 16, 32, 64))}{order}").copy()
            case "complex":
                return getattr(h5t, f"COMPLEX_IEEE_F{draw.choice((32, 64))}{order}").copy()
            case "reference":
                return h5t.STD_REF_OBJ.copy()
            case "extended":
                return h5t.NATIVE_LDOUBLE.copy()
        return h5t.UNIX_D32LE.copy()

    def has_lack(self, kind: Any) -> str:
        """Return words of the message about a type that is left out; empty for one that is read."""
        if isinstance(kind, self.h5t.TypeCompoundID):
            each = (self.has_lack(kind.get_member_type(number)) for number in range(kind.get_nmembers()))
            return next((lack for lack in each if lack), "")
        if isinstance(kind, self.h5t.TypeArrayID):
            return self.has_lack(kind.get_super())
        if isinstance(kind, self.h5t.TypeReferenceID):
            return "references to objects"
        if isinstance(kind, self.h5t.TypeTimeID):
            return "times of 32 bits"
        is_long = isinstance(kind, self.h5t.TypeFloatID) and kind.get_size() > 8
        return "80-bit floats" if is_long else ""


def plain(value: Any) -> Any:
    """Return values in one form: numbers by their bits, halves as floats, texts as bytes, records as lists."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "S" and value.dtype.itemsize == 1 and value.ndim:
        return [plain(one) for one in value] if value.ndim > 1 else value.tobytes().rstrip(b"\0")
    if isinstance(value, np.ndarray) and value.ndim:
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value[()])
    if isinstance(value, np.void) and value.dtype.names is None:
        return value.tobytes()
    if isinstance(value, np.void):
        return [plain(value[name]) for name in value.dtype.names]
    if isinstance(value, np.complexfloating):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, np.floating):
        wide = value.astype("<f4") if value.dtype.itemsize < 4 else value
        return "nan" if np.isnan(wide) else wide.astype(wide.dtype.newbyteorder("<")).tobytes()
    if isinstance(value, np.bool_ | np.integer):
        return int(value)
    if isinstance(value, str):
        return value.encode(errors="surrogateescape")
    if isinstance(value, bytes):
        return value.rstrip(b"\0")
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def flat(values: Any) -> list[Any]:
    """Return nested lists as one."""
    return [inner for value in values for inner in flat(value)] if isinstance(values, list) else [values]
