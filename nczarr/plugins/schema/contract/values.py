"""Values judged by rules: those of an attribute, and those of a variable block by block."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nczarr.arrays.regions import linear_block, region_of
from nczarr.ast.values import shortest
from nczarr.diagnostics.catalog import CODES
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.schema.contract.rules import Rules
from nczarr.sdk import (
    ATOMIC,
    Checked,
    Constant,
    Diagnostic,
    EnumType,
    Label,
    NDArray,
    Report,
    np,
    read_outer,
)

CELLS = 1 << 18
"""Cells that are read at once."""

MISSING = ("_FillValue", "missing_value")
"""Attributes with values that stand for missing ones."""


class Unfit(NamedTuple):
    """A value that a rule excludes."""

    shown: str
    """The value in a message."""
    reason: str
    """Reason, in words that follow `which`."""


def list_values(constant: Constant) -> list[str | float]:
    """Return the texts of a constant, or its numbers; characters are one text. Others have none."""
    if constant.type == "char" and isinstance(constant.data, bytes):
        return [constant.data.decode("utf-8", "surrogateescape")]
    if constant.type == "string":
        return ["" if text is None else text.decode("utf-8", "surrogateescape") for text in _texts(constant)]
    if constant.type in ATOMIC and isinstance(constant.data, bytes):
        return list(constant.as_numbers())
    return []


def _texts(constant: Constant) -> Iterator[bytes | None]:
    return (text for text in constant.data if text is None or isinstance(text, bytes))


def find_unfit(values: Iterable[str | float], rules: Rules, type_name: str = "") -> Unfit | None:
    """Return the first value that a rule excludes."""
    for value in values:
        text = value if isinstance(value, str) else _show_number(value, type_name)
        shown = f"`{text}`"
        if rules.pattern is not None and rules.pattern.fullmatch(text) is None:
            return Unfit(shown, f"does not match `{rules.pattern.pattern}`")
        if rules.one_of is not None and not _is_one_of(value, text, rules.one_of):
            return Unfit(shown, f"is not among {', '.join(f'`{item}`' for item in rules.one_of)}")
        if rules.bounds is not None:
            low, high = rules.bounds
            if isinstance(value, str) or not low <= value <= high:
                return Unfit(shown, f"is not a number from {low:g} to {high:g}")
    return None


def _is_one_of(value: str | float, text: str, items: tuple[str, ...]) -> bool:
    if text in items:
        return True
    return not isinstance(value, str) and any(_is_number(item, value) for item in items)


def _is_number(item: str, value: float) -> bool:
    try:
        number: float = int(item) if item.lstrip("+-").isdecimal() else float(item)
    except ValueError:
        return False
    return number == value or (math.isnan(number) and math.isnan(value))


def _show_number(value: float, type_name: str) -> str:
    return shortest(value, type_name or "double") if isinstance(value, float) else str(value)


def judge_values(checked: Checked, path: str, rules: Rules, report: Report) -> None:
    """Report unfit-value for a variable with values that its rules exclude, once, with the first one. Raises OSError.

    Missing values are not judged. Packed numbers are judged unpacked, the members of enums by name.
    """
    variable = checked.variables[path]
    declared = checked.types.get(variable.type)
    if declared is not None and not isinstance(declared, EnumType):
        text = f"`{path}` has values of the type `{declared.name}`, which no rule judges"
        report.error("bad-rule", text, *(() if rules.span is None else (rules.span,)))
        return
    found: list[tuple[tuple[int, ...], Unfit]] = []
    count = 0
    for start, values in _read_blocks(checked, path):
        for index, value, cells in _list_distinct(values, checked, path, declared):
            unfit = find_unfit((value,), rules, variable.type)
            if unfit is not None:
                count += cells
                place = tuple(first + at for first, at in zip(start, index, strict=False))
                found = [min([*found, (place, unfit)], key=lambda each: each[0])]
    if not found:
        return
    place, unfit = found[0]
    more = f"; {count - 1:,} further cells of `{path}` do not fit" if count > 1 else ""
    where = f" at ({', '.join(map(str, place))})" if place else ""
    text = f"the value{where} of `{path}` is {unfit.shown}, which {unfit.reason}{more}"
    rule = () if rules.span is None else (Label(rules.span, "the rule"),)
    report.add(Diagnostic("unfit-value", CODES["unfit-value"].severity, text, label_of(variable), rule, (), ()))


def _read_blocks(checked: Checked, path: str) -> Iterator[tuple[tuple[int, ...], NDArray[Any]]]:
    """Yield first indices and values of the blocks that may have more than fill."""
    shape = checked.shapes[path]
    if not shape:
        yield (), np.asarray(read_outer(checked, path, ()))
        return
    is_text = checked.variables[path].type == "char"
    block = linear_block(shape, max(CELLS, shape[-1] if is_text else 1))
    if is_text:
        block = (*block[:-1], max(1, shape[-1]))
    for index in checked.parts[path][""].list_occupied(block):
        region = region_of(index, block, shape)
        yield tuple(part.start for part in region), np.asarray(read_outer(checked, path, region))


def _list_distinct(
    values: NDArray[Any], checked: Checked, path: str, declared: EnumType | None
) -> Iterator[tuple[tuple[int, ...], str | float, int]]:
    """Yield the different values of a block that are not missing: first index, value, number of cells."""
    variable = checked.variables[path]
    if variable.type == "char":
        rows = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
        texts = [row.tobytes().rstrip(b"\0").decode("utf-8", "surrogateescape") for row in rows]
        yield from _list_firsts(texts, values.shape[:-1])
        return
    if variable.type == "string":
        texts = [_text_of(item) for item in values.reshape(-1)]
        yield from _list_firsts(texts, values.shape)
        return
    flat = values.reshape(-1)
    there = ~_is_missing(flat, checked, path)
    unique, firsts, counts = np.unique(flat[there], return_index=True, return_counts=True)
    places = np.nonzero(there)[0][firsts]
    names = {} if declared is None else {constant.value: constant.name for constant in declared.constants}
    scale, offset = (_number_of(checked, path, name) for name in ("scale_factor", "add_offset"))
    for number, place, cells in zip(unique.tolist(), places.tolist(), counts.tolist(), strict=True):
        value: str | float = names.get(number, number)
        if not isinstance(value, str) and (scale is not None or offset is not None):
            value = number * (1 if scale is None else scale) + (offset or 0)
        yield tuple(map(int, np.unravel_index(place, values.shape))), value, cells


def _list_firsts(texts: list[str], shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str, int]]:
    """Yield the different texts that are not empty, which is what unwritten ones are."""
    counts = Counter(texts)
    for text, place in {text: place for place, text in reversed(list(enumerate(texts)))}.items():
        if text:
            yield tuple(map(int, np.unravel_index(place, shape))) if shape else (), text, counts[text]


def _text_of(item: Any) -> str:
    if item is None:
        return ""
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)


def _is_missing(flat: NDArray[Any], checked: Checked, path: str) -> NDArray[Any]:
    """Return True for missing values: NaN, the fill value, and those of `missing_value`. Shape as given."""
    missing: NDArray[Any] = np.isnan(flat) if flat.dtype.kind == "f" else np.zeros(flat.shape, np.bool_)
    variable = checked.variables[path]
    constants = [attribute.value for attribute in variable.attributes if attribute.name in MISSING]
    fill = checked.fills[path]
    for constant in (*constants, *(() if fill is None else (fill,))):
        declared = checked.types.get(constant.type)
        base = declared.base if isinstance(declared, EnumType) else constant.type
        if base in ATOMIC and base not in ("char", "string"):
            missing |= np.isin(flat, Constant(type=base, count=constant.count, data=constant.data).as_numbers())
    return missing


def _number_of(checked: Checked, path: str, name: str) -> float | None:
    """Return the number in an attribute of one number; None without one."""
    for attribute in checked.variables[path].attributes:
        numbers = list_values(attribute.value) if attribute.name == name else []
        if len(numbers) == 1 and not isinstance(numbers[0], str):
            return numbers[0]
    return None
