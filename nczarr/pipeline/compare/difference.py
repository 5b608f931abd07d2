"""Differences of two datasets as values and texts, and comparison of two equally long arrays of one type.

Arrays are compared bitwise, but all NaNs are equal. With a tolerance, numbers
differ if their distance is larger; NaN and infinity equal only themselves.
Enums, chars, opaque values and strings have no distance.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, index_of
from nczarr.arrays.sources.source import ArraySource, little
from nczarr.arrays.values.parts import Types
from nczarr.ast.types import CompoundType
from nczarr.diagnostics.render import json_record, visible
from nczarr.diagnostics.report import Diagnostic, Label, Severity
from nczarr.semantics.checked import Checked

if TYPE_CHECKING:
    from nczarr.ast import Attribute, Constant


WIDEST = 40
"""Maximum width of the path column."""

LONGEST = 48
"""Maximum characters of a displayed value."""

BEFORE = 16
"""Characters that a window of a long string shows before the first difference."""


class ValueDifferences(NamedTuple):
    """Differences of a variable's values."""

    different: int
    """Number of values that differ."""
    total: int
    """Number of compared values."""
    place: tuple[int, ...]
    """Index of the first value that differs."""
    first: Any
    """Value at this place in the first dataset."""
    second: Any
    """Value at this place in the second dataset."""
    largest: float | int | None = None
    """Largest distance of two finite numbers; None if there are no numbers."""


class Difference(NamedTuple):
    """One difference of two datasets, as `nczarr.diff` returns it."""

    kind: str
    """Kind of difference, such as `values` or `attribute`; `nczarr explain KIND` describes it."""
    path: str
    """Fully qualified name of the object that differs."""
    message: str
    """Message of one line, with both sides."""
    values: ValueDifferences | None = None
    """Differing values; only for the kind `values`."""


def text_lines(differences: Iterable[Difference]) -> Iterator[str]:
    """Yield readable lines: path and difference. A repeated path is omitted.

    Differences of models are aligned in columns; those of values are yielded as
    found, aligned with what is known by then.
    """
    last, width = "", 0
    for is_value, group in itertools.groupby(differences, key=lambda difference: difference.kind == "values"):
        some: Iterable[Difference] = group
        if not is_value:
            some = every = list(group)  # noqa: B031 (used once: here or below)
            width = max(min(WIDEST, len(visible(difference.path))) for difference in every)
        for difference in some:
            path = visible(difference.path)
            width = max(width, min(WIDEST, len(path)))
            yield f"{'' if path == last else path:<{width}}  {visible(difference.message)}\n"
            last = path


def json_lines(differences: Iterable[Difference], second: str) -> Iterator[str]:
    """Yield one object per line, with the members of a diagnostic, the path, and properties of values."""
    for difference in differences:
        diagnostic = Diagnostic(difference.kind, Severity.ERROR, f"`{difference.path}`: {difference.message}", Label())
        record = {**json_record(diagnostic), "file": second, "path": difference.path}
        if difference.values is not None:
            record["values"] = {**difference.values._asdict(), "first": plain(difference.values.first)}
            record["values"]["second"] = plain(difference.values.second)
            largest = difference.values.largest
            if isinstance(largest, float) and not math.isfinite(largest):
                record["values"]["largest"] = str(largest)
        yield json.dumps(record, ensure_ascii=True) + "\n"


def plain(value: Any) -> Any:
    """Return a value for JSON: numbers and texts unchanged, NaN and infinity as texts, bytes as ISO 8859-1."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def show(value: Any) -> str:
    """Return a readable value of limited length."""
    if value is None:
        return "NIL"
    if isinstance(value, bytes):
        text = repr(bytes(value))[1:]
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    elif hasattr(value, "dtype") and value.shape:
        items = [show(item) for item in value.reshape(-1)[:9]]
        text = "{" + ", ".join(items) + ("}" if value.size < 10 else ", …}")
    elif hasattr(value, "dtype") and value.dtype.names:
        text = "{" + ", ".join(show(value[name]) for name in value.dtype.names) + "}"
    elif hasattr(value, "dtype") and value.dtype.kind == "V":
        text = "0x" + value.tobytes().hex().upper()
    else:
        text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def show_constant(constant: Constant) -> str:
    """Return a readable attribute value of limited length."""
    from nczarr.ast.types import ATOMIC
    from nczarr.ast.values import shortest

    data = constant.data
    if constant.type == "char" and isinstance(data, bytes):
        return show(data.decode("utf-8")) if _is_text(data) else show(data)
    if constant.type == "string":
        head = [None if text is None else text.decode("utf-8", "replace") for text in _texts(constant)[:9]]
        text = ", ".join(map(show, head))
    elif constant.type in ATOMIC and isinstance(data, bytes):
        size = ATOMIC[constant.type].size
        few = constant.model_copy(update={"count": min(constant.count, 9), "data": data[: 9 * size]})
        numbers = few.as_numbers()
        text = ", ".join(
            shortest(number, constant.type) if isinstance(number, float) else str(number) for number in numbers
        )
    else:
        text = f"{constant.count} of `{constant.type}`"
        if isinstance(data, bytes):
            text += f", 0x{data[:16].hex().upper()}"
    if constant.count > 9 and constant.type in ATOMIC:
        text += ", …"
    return text if len(text) <= 2 * LONGEST else text[: 2 * LONGEST - 1] + "…"


def show_attribute(attribute: Attribute) -> str:
    """Return a readable value of an attribute of limited length: its JSON, if it has any."""
    if attribute.json is None:
        return f"{show_constant(attribute.value)} ({attribute.value.type}, {attribute.value.count})"
    text = attribute.json
    return f"JSON {text if len(text) <= 2 * LONGEST else text[: 2 * LONGEST - 1] + '…'}"


def show_pair(first: Constant, second: Constant, mark: str = "") -> tuple[str, str]:
    """Return two attribute values between marks, with type and count if types differ or texts are equal.

    Of long strings, a window around the first difference is shown, and its
    place follows the second value.
    """
    strings, where = _differing_strings(first, second)
    if strings is not None:
        one, other, place = show_strings(*strings)
        return f"{mark}{one}{mark}", f"{mark}{other}{mark}{where}{place}"
    one, other = show_constant(first), show_constant(second)
    if first.type == second.type and one != other:
        return f"{mark}{one}{mark}", f"{mark}{other}{mark}"
    return (f"{mark}{one}{mark} ({first.type}, {first.count})", f"{mark}{other}{mark} ({second.type}, {second.count})")


def show_strings(first: str | bytes, second: str | bytes) -> tuple[str, str, str]:
    """Return two different strings, and where they differ.

    Short strings are whole, and the place is empty. Long ones are windows around
    the first difference.
    """
    one, other = _quote(first), _quote(second)
    if max(len(one), len(other)) <= LONGEST:
        return one, other, ""
    at = _common_start(first, second)
    unit = "byte" if isinstance(first, bytes) else "character"
    return _window(first, at), _window(second, at), f" (they differ after {at} {unit}{'s' * (at != 1)})"


def _common_start(first: str | bytes, second: str | bytes) -> int:
    """Return the number of equal characters or bytes at the start of two strings."""
    length = min(len(first), len(second))
    return next((at for at in range(length) if first[at] != second[at]), length)


def _window(text: str | bytes, at: int) -> str:
    """Return a quoted part of a string around a position; `…` marks missing parts."""
    begin = max(0, at - BEFORE)
    end = begin + LONGEST - 4
    return ("…" if begin else "") + _quote(text[begin:end]) + ("…" if end < len(text) else "")


def _quote(text: str | bytes) -> str:
    return repr(text)[1:] if isinstance(text, bytes) else json.dumps(text, ensure_ascii=False)


def _differing_strings(first: Constant, second: Constant) -> tuple[tuple[str, str] | tuple[bytes, bytes] | None, str]:
    """Return the char values, or the first pair of different strings with its position; None for others."""
    if first.type == second.type == "char" and isinstance(first.data, bytes) and isinstance(second.data, bytes):
        return (_decode(first.data, second.data), "") if first.data != second.data else (None, "")
    if first.type == second.type == "string" and first.count == second.count:
        for number, (one, other) in enumerate(zip(_texts(first), _texts(second), strict=True)):
            if one != other:
                if one is None or other is None:
                    break
                where = "" if first.count == 1 else f" (string {number + 1} of {first.count})"
                long = first.count == 1 or max(len(show_constant(first)), len(show_constant(second))) > LONGEST
                return (_decode(one, other) if long else None), where
    return None, ""


def _decode(first: bytes, second: bytes) -> tuple[str, str] | tuple[bytes, bytes]:
    """Return two byte strings as text if both are printable UTF-8."""
    return (first.decode(), second.decode()) if _is_text(first) and _is_text(second) else (first, second)


def _texts(constant: Constant) -> list[bytes | None]:
    return [text for text in constant.data if text is None or isinstance(text, bytes)]


def _is_text(data: bytes) -> bool:
    try:
        return data.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False


if TYPE_CHECKING:
    Bools = NDArray[np.bool_]


class Tolerance(NamedTuple):
    """Maximum distance of equal numbers."""

    size: float
    """Distance, or fraction of the larger magnitude."""
    relative: bool = False
    """True if the size is a fraction."""

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Parse `1e-6` or `rel:1e-6`. Raises ValueError."""
        relative = text.startswith("rel:")
        try:
            size = float(text.removeprefix("rel:"))
        except ValueError:
            size = math.nan
        if not 0 <= size < math.inf:
            raise ValueError(
                f"`{text}` is not a tolerance; write an absolute distance (1e-6) or a relative one (rel:1e-6)"
            )
        return cls(size, relative)


def unequal(one: NDArray[Any], other: NDArray[Any], type_name: str, types: Types, tolerance: Tolerance | None) -> Bools:
    """Return True where elements differ. Both arrays have the type's dtype, in any byte order."""
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        differ = np.zeros(one.shape, np.bool_)
        for field in declared.fields:
            inside = unequal(one[field.name], other[field.name], field.type, types, tolerance)
            differ |= inside.any(axis=tuple(range(one.ndim, inside.ndim))) if inside.ndim > one.ndim else inside
        return differ
    if one.dtype.hasobject:
        return np.asarray(one != other, np.bool_)
    return _find_unequal(little(one), little(other), None if declared is not None else tolerance)


def _find_unequal(one: NDArray[Any], other: NDArray[Any], tolerance: Tolerance | None) -> Bools:
    """Return where numbers differ in their bits, all NaN being equal, by more than the tolerance."""
    first, second = _bits(one), _bits(other)
    differ: Bools = np.asarray(first != second)
    if differ.ndim > one.ndim:
        differ = np.asarray(differ.any(axis=-1))
    if one.dtype.kind not in "iuf" or not differ.any():
        return differ
    if one.dtype.kind == "f":
        differ &= ~(np.isnan(one) & np.isnan(other))
    if tolerance is None or not differ.any():
        return differ
    places = np.nonzero(differ)
    differ[places] = ~_are_near(one[places], other[places], tolerance)
    return differ


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    """Return elements as unsigned integers of their size, in the same shape.

    Other sizes become rows of bytes: uint8, one more dimension.
    """
    values = np.ascontiguousarray(values).reshape(values.shape)  # the first makes one dimension of none
    size = values.dtype.itemsize
    if size in (1, 2, 4, 8):
        return values.view(f"<u{size}")
    return values.reshape(-1).view(np.uint8).reshape(*values.shape, size)


def distances(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return distances: exact for integers (uint64), in double precision for floats (NaN if one is NaN)."""
    if one.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.abs(one.astype(np.float64) - other.astype(np.float64))
    low, high = np.minimum(one, other), np.maximum(one, other)
    wide = "<i8" if one.dtype.kind == "i" else "<u8"  # the difference modulo 2**64 is the distance
    with np.errstate(over="ignore"):
        gap: NDArray[Any] = high.astype(wide).view("<u8") - low.astype(wide).view("<u8")
    return gap


def _are_near(one: NDArray[Any], other: NDArray[Any], tolerance: Tolerance) -> Bools:
    """Return where two finite numbers differ at most by the tolerance."""
    limit: Any = tolerance.size
    with np.errstate(all="ignore"):
        if tolerance.relative:
            limit = tolerance.size * np.maximum(np.abs(one.astype(np.float64)), np.abs(other.astype(np.float64)))
        near: Bools = distances(one, other) <= limit
    if one.dtype.kind == "f":
        near &= np.isfinite(one) & np.isfinite(other)
    return near


class DifferenceTally:
    """Differences so far: the number of elements, the first in C order, the largest distance."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.count = 0
        self.first: int | None = None
        self.largest: float | int | None = None

    def add(self, count: int, first: int, largest: float | int | None = None) -> None:
        """Add differing elements: their number, first linear index, and largest distance."""
        self.count += count
        self.first = first if self.first is None else min(self.first, first)
        self.note(largest)

    def note(self, largest: float | int | None) -> None:
        """Add a distance of two numbers."""
        if largest is not None:
            self.largest = largest if self.largest is None else max(self.largest, largest)

    def difference(self, one: Checked, other: Checked, path: str) -> Difference | None:
        """Return everything as one difference, or None."""
        if self.first is None:
            return None
        from nczarr.pipeline.select.indexing import read

        place = index_of(self.first, self.shape)
        first, second = read(one, path, place), read(other, path, place)
        total = math.prod(self.shape)
        text = f"{self.count} of {total} values differ" if total > 1 else "the value differs"
        if place:
            text += f", first at ({', '.join(map(str, place))})"
        if isinstance(first, str) and isinstance(second, str) and first != second:
            one_shown, other_shown, where = show_strings(first, second)
            text += f": {one_shown} | {other_shown}{where}"
        else:
            text += f": {show(first)} | {show(second)}"
        if self.largest is not None and self.count > 1:
            far = f"{self.largest:.6g}" if isinstance(self.largest, float) else str(self.largest)
            text += f"; at most {far} apart"
        return Difference("values", path, text, ValueDifferences(self.count, total, place, first, second, self.largest))


def largest_distance(one: NDArray[Any], other: NDArray[Any]) -> float | int | None:
    """Return the largest distance of finite numbers at the same index; None if no pair is finite.

    Both arrays have the same shape and dtype; byte orders may differ.
    """
    one, other = little(one), little(other)
    if one.dtype.kind == "f":
        some = np.isfinite(one) & np.isfinite(other)
        one, other = one[some], other[some]
    if not one.size:
        return None
    largest: float | int = distances(one, other).max().item()
    return largest


def list_met_blocks(sources: Iterable[ArraySource], block: tuple[int, ...]) -> Iterator[Index]:
    """Yield the blocks of cells that any source occupies, in C order; sources may have further dimensions."""
    rank = len(block)
    met = (source.list_occupied((*block, *source.layout.shape[rank:])) for source in sources)
    indices = merge(*((index[:rank] for index in every) for every in met))
    return (index for index, _ in itertools.groupby(indices))
