"""Numbers of HDF5 files that NumPy has no type for: their bits, and the atomic type that has every value."""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np

_WIDEST = 8
"""Bytes of the longest number whose bits are taken apart."""

_SINGLE, _DOUBLE = (-149, 127, 23), (-1074, 1023, 52)
"""Exponents of the smallest and of the largest number, and bits of the mantissa, of a float and a double."""


class NumberBits(NamedTuple):
    """Bits of a number in its element."""

    atomic: str | None
    """Atomic type that has every value; None if none has."""
    precision: int
    """Number of bits that count."""
    big: bool
    """True for big-endian elements."""
    signed: bool = False
    """True for integers in two's complement."""
    offset: int = 0
    """Place of the first bit that counts."""
    sign: int = 0
    """Place of a float's sign."""
    exponent: tuple[int, int] = (0, 0)
    """Place and number of the bits of a float's exponent; no bits in integers."""
    mantissa: tuple[int, int] = (0, 0)
    """Place and number of the bits of its mantissa."""
    bias: int = 0
    """Bias of its exponent."""

    def decode(self, data: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the numbers, as the atomic type. `data`: uint8, the bytes of an element along the last axis."""
        size = data.shape[-1]
        bytes_of_numbers = np.zeros((*data.shape[:-1], _WIDEST), np.uint8)
        ordered = data[..., ::-1] if self.big else data
        bytes_of_numbers[..., :size] = ordered[..., :_WIDEST]
        numbers = bytes_of_numbers.view("<u8")[..., 0]
        return self._floats(numbers, dtype) if self.exponent[1] else self._integers(numbers, dtype)

    def _integers(self, numbers: NDArray[np.uint64], dtype: np.dtype[Any]) -> NDArray[Any]:
        left = np.uint64(64 - self.offset - self.precision)
        right = np.uint64(64 - self.precision)
        high = numbers << left
        return (high.view("<i8") >> right.astype(np.int64) if self.signed else high >> right).astype(dtype)

    def _floats(self, numbers: NDArray[np.uint64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Convert the bits of floats by their fields for sign, exponent and mantissa."""
        (place, width), (first, length) = self.exponent, self.mantissa
        exponents = (numbers >> np.uint64(place) & np.uint64((1 << width) - 1)).astype(np.int64)
        fractions = numbers >> np.uint64(first) & np.uint64((1 << length) - 1)
        implied = np.where(exponents > 0, np.uint64(1 << length), np.uint64(0))  # a normal number has a hidden bit
        values = np.ldexp((fractions | implied).astype("f8"), np.maximum(exponents, 1) - self.bias - length)
        special = exponents == (1 << width) - 1  # all bits of the exponent are set: NaN or infinity
        values = np.where(special, np.where(fractions > 0, np.nan, np.inf), values)
        negative = (numbers >> np.uint64(self.sign) & np.uint64(1)).astype(bool)
        return np.copysign(values, np.where(negative, -1.0, 1.0)).astype(dtype)


def integer_bits(size: int, offset: int, precision: int, *, big: bool, signed: bool) -> NumberBits:
    """Return the bits of an integer. The atomic type is as long as the element, as in HDF5's conversions."""
    width = next((width for width in (1, 2, 4, 8) if size <= width), 8)
    names = {1: "byte", 2: "short", 4: "int", 8: "int64"}
    atomic = names[width] if signed else {8: "uint64"}.get(width, f"u{names[width]}")
    return NumberBits(atomic if offset + precision <= 8 * _WIDEST else None, precision, big, signed, offset)


def float_bits(size: int, places: bytes, bias: int, sign: int, *, big: bool, is_ieee: bool) -> NumberBits:
    """Return the bits of a float. `places`: offset and precision, exponent and mantissa, as the message has them."""
    exponent, mantissa = (places[4], places[5]), (places[6], places[7])
    lowest, highest = 1 - bias - mantissa[1], (1 << exponent[1]) - 2 - bias
    atomic = None
    fits = max(sum(exponent), sum(mantissa), sign + 1) <= 8 * size
    if is_ieee and exponent[1] and mantissa[1] and fits:
        for name, width, (low, high, longest) in (("float", 4, _SINGLE), ("double", 8, _DOUBLE)):
            if size <= width and mantissa[1] <= longest and low <= lowest and highest <= high:
                atomic = name
                break
    precision = int.from_bytes(places[2:4], "little")
    return NumberBits(atomic, precision, big, sign=sign, exponent=exponent, mantissa=mantissa, bias=bias)
