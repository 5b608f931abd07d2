"""What a store without our extension loses of a dataset, found by looking, in the words of the losses that announce it.

`differences` compares two checked datasets and names each difference by the kind and path of the loss that should
have told it; a difference that no loss can tell has the kind `unexplained`, and its path says what it is.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from nczarr import names
from nczarr.arrays.sources.source import little
from nczarr.arrays.values.parts import is_fixed, parts
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, Dimension, EnumType, OpaqueType, Storage, Variable
from nczarr.pipeline.select.indexing import read
from nczarr.semantics.check_types import default_fill
from nczarr.semantics.checked import Checked

from .expected import values, whole

LARGEST = 1 << 22
"""Elements of a part that are compared."""

Difference = tuple[str, str]
"""The kind of a loss, and the FQN of what loses."""


def differences(wanted: Checked, seen: Checked) -> Counter[Difference]:
    """Every difference, as often as there is one."""
    return Counter(_Comparison(wanted, seen).all())


class _Comparison:
    def __init__(self, wanted: Checked, seen: Checked) -> None:
        self.wanted = wanted
        self.seen = seen
        self.ragged = {
            fqn
            for fqn, each in wanted.variables.items()
            if each.type != "string" and not is_fixed(each.type, wanted.types)
        }

    def all(self) -> Iterator[Difference]:
        yield from self.dataset()
        yield from self.dimensions()
        yield from self.groups()
        for fqn, variable in self.wanted.variables.items():
            yield from self.variable(fqn, variable)
        added = self.seen.variables.keys() - self.wanted.variables.keys()
        for fqn in added:
            if not any(fqn.startswith(f"{ragged}/") for ragged in self.ragged):
                yield "unexplained", f"variable {fqn} came in"

    def dataset(self) -> Iterator[Difference]:
        wanted, seen = self.wanted.dataset, self.seen.dataset
        source = wanted.span.source
        is_of_file = source is not None and wanted.name == names.stem(source.name)
        if wanted.name and wanted.name != seen.name and not is_of_file:
            yield "dataset-name", "/"
        if wanted.kind != seen.kind:
            yield "kind", "/"
        if wanted.version != seen.version:
            yield "version", "/"
        for fqn in self.wanted.types:  # if a type without a name gets the same, that is chance
            if not self._is_named_by_readers(fqn):
                yield "type-name", fqn

    def _is_named_by_readers(self, fqn: str) -> bool:
        users = [path for path, variable in self.wanted.variables.items() if variable.type == fqn]
        return users == [fqn.removesuffix("_t")] and fqn.endswith("_t")

    def dimensions(self) -> Iterator[Difference]:
        for fqn, dimension in self.wanted.dimensions.items():
            homes = {
                names.parent(path)
                for path, each in self.wanted.variables.items()
                if fqn in each.dimensions
            }  # fmt: skip
            there: Dimension | None = self.seen.dimensions.get(fqn)
            if not homes:  # if one of another group comes to stand there, that is chance
                yield "unused-dimension", fqn
                continue
            if dimension.unlimited and not (there is not None and there.unlimited):
                yield "unlimited", fqn
            if homes != {names.parent(fqn)}:
                yield "dimension-home", fqn

    def groups(self) -> Iterator[Difference]:
        for fqn, group in self.wanted.groups.items():
            there = self.seen.groups.get(fqn)
            if there is None:
                yield "unexplained", f"group {fqn} is missing"
                continue
            ragged = {names.last(each) for each in self.ragged if names.parent(each) == fqn}
            for one, other in (
                ([each.name for each in group.variables if each.name not in ragged],
                 [each.name for each in there.variables]),
                ([each.name for each in group.groups], [each.name for each in there.groups if each.name not in ragged]),
            ):  # fmt: skip
                if sorted(one) != sorted(other):
                    yield "unexplained", f"members of {fqn}: {other} instead of {one}"
            order = [each.name for each in group.variables], [each.name for each in group.groups]
            if any(given != sorted(given) for given in order):
                yield "definition-order", fqn
            yield from self.attributes(fqn, group.attributes, there.attributes)
        for fqn in self.seen.groups.keys() - self.wanted.groups.keys():
            if not any(fqn == ragged or fqn.startswith(f"{ragged}/") for ragged in self.ragged):
                yield "unexplained", f"group {fqn} came in"

    def variable(self, fqn: str, variable: Variable) -> Iterator[Difference]:
        if fqn in self.ragged:
            yield from self.parts(fqn, variable)
            return
        there = self.seen.variables.get(fqn)
        if there is None:
            yield "unexplained", f"variable {fqn} is missing"
            return
        shown = self.fill_renamed(variable, there)
        if not self.same_type(variable.type, there.type):
            yield "lost-type", fqn
            if all(each.name != "_FillValue" for each in variable.attributes):
                shown = tuple(each for each in shown if each.name != "_FillValue")  # it goes with the type
        if self.wanted.shapes[fqn] != self.seen.shapes[fqn]:
            yield "unexplained", f"{fqn} has shape {self.seen.shapes[fqn]}"
            return
        yield from self.references(fqn, variable, there)
        yield from self.attributes(fqn, variable.attributes, shown)
        yield from _storage(fqn, variable.storage, there.storage)
        if np.prod(self.wanted.shapes[fqn], dtype=object) <= LARGEST:
            yield from _values(fqn, values(self.wanted, fqn)[""], values(self.seen, fqn)[""])

    @staticmethod
    def fill_renamed(variable: Variable, there: Variable) -> tuple[Attribute, ...]:
        """The attributes seen, with a `_FillValue` of the variable's type under the name that the type had."""
        own = {each.name: each.value.type for each in variable.attributes}
        if own.get("_FillValue") != variable.type:
            return there.attributes
        return tuple(
            each.model_copy(update={"value": each.value.model_copy(update={"type": variable.type})})
            if each.name == "_FillValue" and each.value.type == there.type
            else each
            for each in there.attributes
        )

    def references(self, fqn: str, variable: Variable, there: Variable) -> Iterator[Difference]:
        kinds = set()
        for one, other in zip(variable.dimensions, there.dimensions, strict=True):
            if isinstance(one, int):
                kinds |= {"anonymous-dimension"} if isinstance(other, str) else set()
            elif other != names.join(names.parent(fqn), names.last(one)):
                kinds.add("renamed-dimension")
        yield from ((kind, fqn) for kind in sorted(kinds))

    def same_type(self, one: str, other: str) -> bool:
        """Whether values mean the same: names of types aside."""
        here, there = self.wanted.types.get(one), self.seen.types.get(other)
        match here, there:
            case None, None:
                return one == other
            case OpaqueType(), OpaqueType():
                return here.size == there.size
            case CompoundType(), CompoundType():
                return len(here.fields) == len(there.fields) and all(
                    (a.name, a.shape) == (b.name, b.shape) and self.same_type(a.type, b.type)
                    for a, b in zip(here.fields, there.fields, strict=True)
                )
            case EnumType(), EnumType():
                return here.constants == there.constants and here.base == there.base
            case _:
                return False

    def parts(self, fqn: str, variable: Variable) -> Iterator[Difference]:
        """A ragged variable is a group with an array for each part."""
        yield "lost-type", fqn
        found = values(self.wanted, fqn)
        lost = False
        for part in parts(variable.type, self.wanted.shapes[fqn], self.wanted.types):
            path = _path(fqn, part.path)
            stored = self.seen.parts.get(path)
            if stored is None:
                yield "unexplained", f"part {path} is missing"
                continue
            other = np.asarray(stored[""].read(whole(stored[""].layout.shape)))
            told = list(_values(fqn, found[part.path], other))
            lost = lost or ("lost-nil", fqn) in told
            yield from (each for each in told if each != ("lost-nil", fqn))
        if lost:
            yield "lost-nil", fqn
        yield from self.names_of_parts(fqn, variable)
        if any(isinstance(each, int) for each in variable.dimensions):
            yield "anonymous-dimension", fqn
        yield from _storage(fqn, variable.storage, Storage())
        yield from self.attributes(fqn, variable.attributes, self.seen.groups[fqn].attributes)

    def names_of_parts(self, fqn: str, variable: Variable) -> Iterator[Difference]:
        """Names of dimensions that changed, seen at a part of the variable's own shape."""
        own = (
            each for each in parts(variable.type, self.wanted.shapes[fqn], self.wanted.types) if None not in each.shape
        )
        there = self.seen.variables[_path(fqn, next(own).path)]
        for one, other in zip(variable.dimensions, there.dimensions, strict=False):
            if isinstance(one, str) and isinstance(other, str) and names.last(one) != names.last(other):
                yield "renamed-dimension", fqn
                return

    def attributes(self, fqn: str, wanted: tuple[Attribute, ...], seen: tuple[Attribute, ...]) -> Iterator[Difference]:
        there = {each.name: each.value for each in seen}
        kept = []
        for attribute in wanted:
            if attribute.name not in there:
                default = attribute.name == "_FillValue" and attribute.value == default_fill(
                    attribute.value.type, self.wanted.types
                )
                nil = attribute.name == "_FillValue" and attribute.value.data == (None,)
                yield "default-fill" if default else "lost-nil" if nil else "lost-attribute", fqn
                continue
            kept.append(attribute.name)
            kind = changed(attribute.value, there[attribute.name])
            if kind is not None:
                text = f"{fqn}:{attribute.name} {attribute.value} became {there[attribute.name]}"
                yield kind, fqn if kind != "unexplained" else text
        found = [each.name for each in seen]
        if "_FillValue" in found and "_FillValue" not in kept:  # the fill value of an array, which xarray masks
            found.remove("_FillValue")
            if not self.are_all(fqn, there["_FillValue"]):
                yield "masking-fill", fqn
        if kept != found and sorted(kept) == sorted(found):
            yield "definition-order", fqn
        elif kept != found:
            yield "unexplained", f"{fqn}: attributes {found} instead of {kept}"

    def are_all(self, fqn: str, value: Constant) -> bool:
        """Return whether all cells of a variable have one value: a mask of it changes nothing."""
        cells = read(self.wanted, fqn, ...)
        return bool((np.asarray(cells) == value.as_numbers()[0]).all())


def _path(fqn: str, part: str) -> str:
    """The FQN under which a part of a variable reads."""
    return functools.reduce(names.join, map(names.normal, part.split("/")), fqn)


def changed(one: Constant, other: Constant) -> str | None:
    """The kind of loss between two values of an attribute; None if they are the same."""
    if one == other:
        return None
    if isinstance(one.data, tuple) and None in one.data:
        return "lost-nil"
    text, its = (_text(each) for each in (one, other))
    if text is not None and its is not None:
        if text == its:
            return "char-or-string"
        return "attribute-bytes" if text.rstrip(b"\0") == its else "altered-attribute"
    if text is None and its is None and one.type != "string" != other.type:
        if _as_wide(one, other):
            return "attribute-type"
        numbers = zip(one.as_numbers(), other.as_numbers(), strict=True)
        is_same = one.count == other.count and all(
            mine == its or (mine != mine and its != its) for mine, its in numbers
        )
        return "nan-bits" if is_same else "altered-attribute"
    return "altered-attribute"


def _as_wide(one: Constant, other: Constant) -> bool:
    """Whether numbers of another width say the same: a float stands as the double that equals it."""
    if ATOMIC[one.type].is_integer:
        return one.as_numbers() == other.as_numbers()
    return Constant.numbers(one.type, [float(each) for each in other.as_numbers()]) == one


def _text(value: Constant) -> bytes | None:
    """The bytes of one text, be it char or a string."""
    if value.type == "char" and isinstance(value.data, bytes):
        return value.data
    if value.type == "string" and value.count == 1 and isinstance(value.data[0], bytes):
        return value.data[0]
    return None


def _storage(fqn: str, wanted: Storage, seen: Storage) -> Iterator[Difference]:
    """What was said of the storage, and is not said any more."""
    codecs = wanted.codecs != seen.codecs
    lost_codec = {codec.id for codec in wanted.codecs} - {codec.id for codec in seen.codecs}
    if lost_codec:
        yield "filter", fqn
    others = (
        codecs and not lost_codec,
        wanted.layout in ("contiguous", "compact"),
        wanted.chunks is not None and wanted.chunks != seen.chunks,
        wanted.endian is not None and wanted.endian != seen.endian,
        wanted.no_fill != seen.no_fill,
        wanted.quantize is not None and wanted.quantize != seen.quantize,
    )
    if any(others):
        yield "storage", fqn


def _values(fqn: str, one: Any, other: Any) -> Iterator[Difference]:
    if one.shape != other.shape:
        yield "unexplained", f"{fqn}: values of shape {other.shape}"
    elif one.dtype.hasobject:
        mine, theirs = one.reshape(-1).tolist(), other.reshape(-1).tolist()
        if mine != theirs:
            nil_only = [each or b"" for each in mine] == theirs
            yield ("lost-nil", fqn) if nil_only else ("unexplained", f"{fqn}: texts differ")
    elif little(one).tobytes() != little(other).tobytes():
        yield "unexplained", f"{fqn}: values differ"
