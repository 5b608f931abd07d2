"""Packings of a variable in all sources, and the one of most of them, which all others get.

A packing is the type of a variable with the attributes that decode its numbers, and its storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import ArraySource
from nczarr.arrays.values.parts import descr
from nczarr.ast import Attribute, Constant, Storage, Variable
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.plugins.combine.arrays.repack import NumberPacking, repack
from nczarr.plugins.combine.join.agreement import Aspect, SourceDifference
from nczarr.semantics.checked import Checked

PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
"""Attributes that say how stored numbers are decoded."""

LIMITS = ("valid_range", "valid_min", "valid_max")
"""Attributes in stored numbers that stay as they are."""

SHOWN = 3
"""Maximum sources in a note."""


class VariablePacking(NamedTuple):
    """Form of the numbers of a variable."""

    type: str
    """Type of the stored numbers."""
    attributes: tuple[Attribute, ...]
    """Attributes that decode them, sorted by name."""
    fill: Constant | None
    """Value of unwritten cells."""
    storage: Storage
    """Chunks, codecs and byte order."""
    limits: tuple[Attribute, ...] = ()
    """Attributes that say which stored numbers are valid."""

    @property
    def numbers(self) -> NumberPacking:
        """The form in which the numbers are computed."""
        values = {attribute.name: attribute.value for attribute in (*self.attributes, *self.limits)}
        element = str(descr(self.type, {}))
        kinds = {"true": "iu", "false": "ui"}.get(_text_of(values.get("_Unsigned")), "ii")
        dtype = element.replace(*kinds)

        def convert(name: str) -> list[int | float]:
            """Return the values of an attribute that stored numbers may have, as numbers."""
            rows = [_convert(number, element, dtype) for number in numbers_of(values.get(name))]
            return [row for row in rows if row is not None]

        own = {name for name in LIMITS if name in values and values[name].type == self.type}
        limits = {name: convert(name) for name in own}  # in another type, they are those of decoded numbers
        marks = [*convert("_FillValue"), *convert("missing_value")]
        both = limits.get("valid_range", [])
        low, high = [*both[:1], *limits.get("valid_min", [])], [*both[1:], *limits.get("valid_max", [])]
        scale, offset = numbers_of(values.get("scale_factor")), numbers_of(values.get("add_offset"))
        numbers = float(scale[0]) if scale else 1.0, float(offset[0]) if offset else 0.0
        bounds = low[0] if low else None, high[0] if high else None
        mark, is_packed = marks[0] if marks else None, bool(scale or offset)
        return NumberPacking(element, dtype, *numbers, mark, tuple(marks), *bounds, is_packed)

    @property
    def is_computable(self) -> bool:
        """True if scale and offset are numbers, so that values can be decoded."""
        both = (one for one in self.attributes if one.name in ("scale_factor", "add_offset"))
        return all(numbers_of(one.value) for one in both)

    def apply(self, variable: Variable) -> Variable:
        """Return a variable with this packing."""
        attributes = {attribute.name: attribute for attribute in variable.attributes}
        own = {attribute.name: attribute for attribute in self.attributes}
        rest = [own.pop(name, one) for name, one in attributes.items() if name not in PACKING or name in own]
        changes = {"type": self.type, "attributes": (*rest, *own.values()), "storage": self.storage}
        return variable.model_copy(update=changes)

    def describe(self, other: VariablePacking) -> str:
        """Return in words what differs from another packing."""
        from nczarr.pipeline.compare.difference import show_constant, show_pair

        texts = [f"{other.type} becomes {self.type}"] if self.type != other.type else []
        one, two = ({attribute.name: attribute.value for attribute in side.attributes} for side in (other, self))
        for name in PACKING:
            if one.get(name) != two.get(name):
                pair = one.get(name), two.get(name)
                before, after = (show_constant(value) if value else "none" for value in pair)
                if before == after and pair[0] is not None and pair[1] is not None:
                    before, after = show_pair(pair[0], pair[1])
                texts.append(f"{name} {before} becomes {after}")
        return ", ".join(texts)

    def is_alike(self, other: VariablePacking) -> bool:
        """Return whether stored numbers mean the same; only their storage may differ."""
        return self[:2] == other[:2]


def _text_of(constant: Constant | None) -> str:
    """Return an attribute of text in lower case; empty for others."""
    data = constant.data if constant is not None and constant.type in ("char", "string") else b""
    text = data if isinstance(data, bytes) else next(iter(data), b"")
    return text.decode("ascii", "replace").strip("\0").lower() if isinstance(text, bytes) else ""


def numbers_of(constant: Constant | None) -> tuple[int | float, ...]:
    """Return the values of an attribute of numbers; none of others."""
    return constant.as_numbers() if constant is not None and is_number(constant.type) else ()


def _convert(number: int | float, element: str, dtype: str) -> int | float | None:
    """Return a number as a stored one, of the sign of `dtype`; None if no stored number is equal to it."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return float(np.array(number).astype(kind))
    limits = (np.iinfo(element), np.iinfo(dtype))
    if number != number or number % 1 or not any(one.min <= number <= one.max for one in limits):
        return None
    return int(np.asarray(int(number)).astype(kind))


def packing_of(variable: Variable, fill: Constant | None) -> VariablePacking:
    """Return the packing of a variable of numbers."""
    attributes = (attribute for attribute in variable.attributes if attribute.name in PACKING)
    limits = tuple(attribute for attribute in variable.attributes if attribute.name in LIMITS)
    ordered = tuple(sorted(attributes, key=lambda one: one.name))
    return VariablePacking(variable.type, ordered, fill, variable.storage, limits)


def list_packings(checked: Checked, paths: Iterable[str], first: Checked) -> dict[str, VariablePacking]:
    """Return the packings of variables of numbers that differ from those of the first source."""
    packings = {}
    for path in paths:
        if path not in checked.variables or not is_number(checked.variables[path].type):
            continue
        packing = packing_of(checked.variables[path], checked.fills[path])
        other = packing_of(first.variables[path], first.fills[path]) if path in first.variables else None
        if packing != other and packing.is_computable and (other is None or other.is_computable):
            packings[path] = packing
    return packings


def is_packing(
    difference: SourceDifference, packings: Mapping[str, VariablePacking], variables: Mapping[str, Variable]
) -> bool:
    """Return whether a difference from the variables of the first source is one of packing."""
    path, aspect, attribute, *_ = difference
    variable = variables.get(path)
    if path not in packings or variable is None or not is_number(variable.type):
        return False
    return aspect is Aspect.ELEMENT_TYPE or (aspect is Aspect.ATTRIBUTE and attribute in PACKING)


class PackingChoice:
    """Packings of one variable by source."""

    def __init__(self) -> None:
        self._packings: list[VariablePacking] = []
        self._places: dict[VariablePacking, int] = {}
        self._sources: dict[int, int] = {}
        """Number of the packing of a source; 0 for all others."""
        self._rounding: dict[int, float] = {}
        self._reported: set[int] = set()
        self._choice = 0
        self._owner = "most sources"
        """Words for the sources with the chosen packing."""

    def add(self, number: int, packing: VariablePacking) -> None:
        """Add a source; the first packing is that of sources that are not added."""
        place = self._places.setdefault(packing, len(self._packings))
        if place == len(self._packings):
            self._packings.append(packing)
        if place:
            self._sources[number] = place

    def choose(self, count: int) -> VariablePacking:
        """Return the packing of most of so many sources; of equal counts, or without a count, the first."""
        counts = [0] * len(self._packings)
        for place in self._sources.values():
            counts[place] += 1
        counts[0] = count - sum(counts)
        self._choice = counts.index(max(counts)) if count else 0
        self._owner = self._owner if count else "the target"
        return self._packings[self._choice]

    def key(self, number: int) -> int:
        """Return the number of the packing of a source."""
        return self._sources.get(number, 0)

    def is_usual(self, number: int) -> bool:
        """Return whether stored numbers of a source mean the same as in the chosen packing."""
        return self._packings[self.key(number)].is_alike(self._packings[self._choice])

    def repack(self, path: str, number: int, name: str, source: ArraySource, report: Report) -> ArraySource:
        """Return the array of a source in the chosen packing; reports inexact-packing. Raises OSError, CompileError."""
        place = self.key(number)
        old, chosen = self._packings[place], self._packings[self._choice]
        if old.is_alike(chosen):
            return source
        fill = None if chosen.fill is None or not isinstance(chosen.fill.data, bytes) else chosen.fill.data
        result = repack(source, old.numbers, chosen.numbers, fill)
        self._rounding[place] = max(self._rounding.get(place, 0.0), result.rounding)
        if result.wrong and number not in self._reported:
            self._reported.add(number)
            count = f"{result.wrong} value{'s' * (result.wrong != 1)}"
            text = f"the packing of {self._owner} cannot hold {count} of `{path}` in `{name}`"
            helps = ["leave the source out, or join the variable apart with `--var`"]
            notes = [chosen.describe(old), f"the first of them is {result.example}"]
            report.error("inexact-packing", text, notes=notes, helps=helps)
        return result.source

    def describe(self, path: str, names: Sequence[str]) -> Iterator[str]:
        """Yield which sources are packed again, in words."""
        chosen = self._packings[self._choice]
        for place, packing in enumerate(self._packings):
            if place not in self._rounding:
                continue
            numbers = [number for number in range(len(names)) if self.key(number) == place]
            listed = ", ".join(f"`{names[number]}`" for number in numbers[:SHOWN])
            more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
            rounding = f"; rounded by at most {self._rounding[place]:.3g}" if self._rounding[place] else ""
            yield f"`{path}`: {chosen.describe(packing)}, in {listed}{more}{rounding}"


def report_repacked(
    choices: Mapping[str, PackingChoice], names: Sequence[str], report: Report, *, extends: bool
) -> None:
    """Report the sources whose values are packed again: reencoded-chunks. `extends`: the first source is the target."""
    rows = [row for path, choice in choices.items() for row in choice.describe(path, names)]
    if rows:
        owner = "the target" if extends else "most sources"
        text = f"values that are packed in another way than in {owner} are packed again"
        report.add(Diagnostic("reencoded-chunks", Severity.NOTE, text, notes=tuple(rows)))
