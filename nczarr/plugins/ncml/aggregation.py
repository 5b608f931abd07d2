"""Aggregations: unions of datasets, and joins along an existing or a new dimension, by the combination of datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Attribute, Constant, Dataset, Variable
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Label, Report
from nczarr.diagnostics.secrets import show
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.selection import Subset
from nczarr.pipeline.select.subset import restrict
from nczarr.plugins.combine.join import CombineSpec, Recoding, combine
from nczarr.plugins.combine.join.conflicts import SAME_UNITS
from nczarr.plugins.combine.join.recode import FINER_UNITS, units_of
from nczarr.plugins.combine.join.sources import every_opened
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.ncml.members import AggregatedMember, list_members, write_date
from nczarr.plugins.ncml.trees import TreeUnion, put_joined
from nczarr.plugins.ncml.values import StatedValueError, are_numbers, count_dates, parse_numbers, parts_of
from nczarr.plugins.ncml.vocabulary import NcmlDocument, is_true
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.url import is_remote

KINDS = {"union": "union", "joinexisting": "joinExisting", "joinnew": "joinNew"}
UNREAD = {"forecastmodelruncollection", "forecastmodelrunsinglecollection", "forecastmodelrun", "tiled"}
"""Kinds of netCDF-Java that are not read, in lower case."""

ReadMember = Callable[[AggregatedMember, NcmlDocument], Checked | None]


def aggregate(element: XmlElement, document: NcmlDocument, read: ReadMember) -> Unchecked | None:
    """Return the dataset of an aggregation, None after an error. `read` opens a member."""
    report, word = document.report, element.attributes["type"].strip().lower()
    before = report.errors
    kind, span = KINDS.get(word), document.span(element)
    dimension = names.normal(element.attributes.get("dimName", "").strip())
    if word in UNREAD:
        report.error("unsupported-ncml", f"the aggregation `{element.attributes['type']}` is not read", span)
    elif kind is None:
        report.error("bad-ncml", f"`{element.attributes['type'][:80]}` is not a type of aggregations", span)
    elif kind != "union" and not names.is_segment(dimension):
        report.error("bad-ncml", f"an aggregation `{kind}` needs `dimName`, the name of a dimension", span)
    if report.errors > before or kind is None:
        return None
    members = list_members(element, document)
    if not members and report.errors == before:
        report.error("bad-ncml", "the aggregation has no datasets", span)
    if report.errors > before:
        return None
    opened = _open_members(members, document, read)
    if kind == "union":
        return _unite_members(opened, element, document)
    return _Join(element, document, members, dimension, new=kind == "joinNew").make(opened)


def _open_members(
    members: Sequence[AggregatedMember], document: NcmlDocument, read: ReadMember
) -> Iterator[tuple[str, Checked]]:
    """Yield the name and dataset of each member, read through the readers of documents."""

    def read_into(report: Report, member: AggregatedMember) -> Checked | None:
        return read(member, document._replace(report=report))

    names_of = (one.path if one.path and is_remote(one.path) else one.label for one in members)
    inputs = [Input(name, partial(read_into, member=one)) for name, one in zip(names_of, members, strict=True)]
    return every_opened(inputs, Subset(), document.report)


def _unite_members(
    opened: Iterator[tuple[str, Checked]], element: XmlElement, document: NcmlDocument
) -> Unchecked | None:
    before, union = document.report.errors, TreeUnion()
    for name, checked in opened:
        union.add(name, checked)
    for fault in union.faults:
        document.report.error("unequal-sources", fault, document.span(element))
    return Unchecked(union.dataset, parts=union.parts) if document.report.errors == before else None


class _Promotion(NamedTuple):
    """A global attribute that becomes a variable."""

    element: XmlElement
    values: list[Constant]
    """Value of each member."""


class _Join:
    """One aggregation along a dimension."""

    def __init__(
        self,
        element: XmlElement,
        document: NcmlDocument,
        members: Sequence[AggregatedMember],
        dimension: str,
        *,
        new: bool,
    ) -> None:
        self.element, self.document, self.members, self.new = element, document, members, new
        self.dimension = dimension
        self.fqn = names.join("/", dimension)
        self.union = TreeUnion()
        self.first: Checked | None = None
        self.joined: frozenset[str] = frozenset()
        """Joined variables of the first member."""
        self.lengths: list[int] = []
        """Number of coordinates of each member."""
        self.promoted = [_Promotion(one, []) for one in element.all("promoteGlobalAttribute")]

    def _error(self, code: str, text: str, element: XmlElement | None = None) -> None:
        self.document.report.error(code, text, self.document.span(element or self.element))

    def make(self, opened: Iterator[tuple[str, Checked]]) -> Unchecked | None:
        """Return the joined dataset; None after an error."""
        report, own = self.document.report, Report(strict=self.document.report.strict)
        before = report.errors
        recoding = Recoding() if is_true(self.element, "timeUnitsChange") else None
        own_values = any("coordValue" in one.element.attributes or one.date is not None for one in self.members)
        spec = CombineSpec((self.fqn,), recoding=recoding, ordered=not own_values, lenient=True)
        pending = self._reduce(opened)
        start = next(pending, None)
        if start is None or report.errors > before:
            return None
        if self.new:
            spec = spec._replace(along=tuple(sorted(self.joined)), new_dim=self.dimension)
        combined = combine(_chain(start, pending), spec, own)
        for finding in own.list_sorted():
            place = Label(self.document.span(self.element)) if finding.primary.span.source is None else finding.primary
            helps = (
                ('add `timeUnitsChange="true"` to the aggregation',)
                if finding.code == "unequal-sources" and not {SAME_UNITS, FINER_UNITS}.isdisjoint(finding.helps)
                else ("list the datasets in the order of this coordinate",)
                if finding.code == "unordered-coordinate"
                else ()
            )
            report.add(finding._replace(primary=place, helps=helps))
        for fault in self.union.faults:
            self._error("unequal-sources", fault)
        if combined is None or report.errors > before or self.first is None:
            return None
        result = put_joined(self.union, combined, self.first.dataset)
        self._add_coordinate(result)
        for promotion in self.promoted:
            self._promote(promotion, result)
        return result if report.errors == before else None

    def _reduce(self, opened: Iterator[tuple[str, Checked]]) -> Iterator[tuple[str, Checked]]:
        """Yield the joined variables of each member; everything else goes into the union."""
        for name, checked in opened:
            member = self.members[len(self.lengths)]
            joined = self._find_joined(name, checked)
            if joined is None or not self._count(name, checked, member):
                return
            if self.first is None:
                self.first, self.joined = checked, joined
            for promotion in self.promoted:
                self._collect(promotion, name, checked)
            self.union.add(name, checked, joined | self.joined)
            yield name, restrict(checked, [path for path in checked.variables if path in joined], [])

    def _find_joined(self, name: str, checked: Checked) -> frozenset[str] | None:
        """Return the joined variables of a member; None after an error."""
        if not self.new:
            if self.fqn not in checked.dimensions:
                self._error("unmatched-ncml", f"`{name}` has no dimension `{self.dimension}`")
                return None
            return frozenset(path for path, one in checked.variables.items() if self.fqn in one.dimensions)
        coordinate = checked.variables.get(self.fqn)
        used = any(self.fqn in variable.dimensions for variable in checked.variables.values())
        if used or (coordinate is not None and coordinate.dimensions):
            text = f"`{name}` has `{self.dimension}` already, as a dimension or as a variable with dimensions"
            self._error("bad-ncml", text)
            return None
        chosen = [names.join("/", one.attributes["name"]) for one in self.element.all("variableAgg")]
        missing = [path for path in chosen if path not in checked.variables]
        if missing:
            self._error("unmatched-ncml", f"`{name}` has no variable `{missing[0]}` to join")
            return None
        if not chosen:
            chosen = [path for path, one in checked.variables.items() if one.dimensions != (path,)]
        return frozenset([*chosen, self.fqn] if coordinate is not None else chosen)

    def _count(self, name: str, checked: Checked, member: AggregatedMember) -> bool:
        """Record the number of coordinates of a member; return whether it is the stated one."""
        length = 1 if self.new else checked.dimensions[self.fqn].size
        stated = member.element.attributes.get("ncoords")
        if stated is not None and stated.strip() != str(length):
            text = f"`ncoords` of `{name}` is {stated[:40]}, but it has {length} along `{self.dimension}`"
            self._error("bad-ncml", text, member.element)
            return False
        if member.date is not None and length != 1:
            text = f"`{name}` has {length} indices along `{self.dimension}`; a date in the name of a file is for one"
            self._error("bad-ncml", text, member.element)
            return False
        self.lengths.append(length)
        return True

    def _add_coordinate(self, result: Unchecked) -> None:
        """Add the coordinate that the document states, or that a new dimension has by default."""
        if self.new and self.fqn in self.joined:
            return
        texts: list[str] = []
        stated = 0
        for member, length in zip(self.members, self.lengths, strict=True):
            value = member.element.attributes.get("coordValue")
            if member.date is not None:
                words = [write_date(member.date)]
            elif value is None:
                words = [member.name] if self.new else []
            else:
                words = [value.strip()] if self.new else value.replace(",", " ").split()
            stated += bool(words)
            if words and len(words) != length:
                text = f"`coordValue` of `{show(member.label)}` has {len(words)} values, not {length}"
                self._error("bad-ncml", text, member.element)
            texts += words
        if stated not in (0, len(self.members)):
            self._error("bad-ncml", "some datasets of the aggregation have a `coordValue`, and others do not")
        elif stated and len(texts) == sum(self.lengths):
            self._state_coordinate(result, texts, dated=any(member.date is not None for member in self.members))

    def _state_coordinate(self, result: Unchecked, texts: list[str], *, dated: bool) -> None:
        """Put `coordValue`s into the result as the coordinate variable; `dated`: they come from file names."""
        old = next((one for one in result.dataset.variables if one.name == self.dimension), None)
        try:
            if old is not None and not dated and is_number(old.type):
                units = units_of(old)
                dates = units is not None and not are_numbers(texts)
                values = count_dates(texts, units, old.type) if dates and units else parse_numbers(texts, old.type)
                result.parts[self.fqn] = parts_of(values, old.type, (len(texts),), {})
                return
        except StatedValueError as error:
            self._error("bad-ncml", f"`coordValue`: {error}")
            return
        numeric = not dated and are_numbers(texts)
        words = {"_CoordinateAxisType": "Time"} if dated else {}
        if dated and not self.new:
            words |= {"long_name": "time coordinate", "standard_name": "time"}
        attributes = tuple(Attribute(name=name, value=Constant.text(text.encode())) for name, text in words.items())
        if numeric:
            self._put(result, self.dimension, "double", parse_numbers(texts, "double"), attributes)
        else:
            self._put(result, self.dimension, "string", _as_objects(text.encode() for text in texts), attributes)

    def _put(
        self,
        result: Unchecked,
        name: str,
        type_name: str,
        values: NDArray[Any],
        attributes: tuple[Attribute, ...] = (),
    ) -> None:
        """Put a variable along the joined dimension, in the place of one with its name."""
        span = self.document.span(self.element)
        variable = Variable(name=name, type=type_name, dimensions=(self.fqn,), attributes=attributes, span=span)
        result.dataset = _put_variable(result.dataset, variable)
        result.parts[names.join("/", name)] = parts_of(values, type_name, (len(values),), {})

    def _collect(self, promotion: _Promotion, name: str, checked: Checked) -> None:
        """Record the value that a promoted attribute has in a member."""
        attribute = promotion.element.attributes.get("orgName") or promotion.element.attributes["name"]
        value = next((one.value for one in checked.dataset.attributes if one.name == attribute), None)
        if value is None:
            self._error("unmatched-ncml", f"`{name}` has no global attribute `{attribute}`", promotion.element)
            value = Constant.text(b"")
        promotion.values.append(value)

    def _promote(self, promotion: _Promotion, result: Unchecked) -> None:
        """Add the variable of a promoted attribute: a value for each index of the joined dimension."""
        name, types = promotion.element.attributes["name"], {value.type for value in promotion.values}
        if not names.is_segment(name) or any(one.name == name for one in result.dataset.variables):
            self._error("bad-ncml", f"`{name}` cannot be the name of another variable", promotion.element)
            return
        values: list[Any] = []
        for value, length in zip(promotion.values, self.lengths, strict=True):
            items = [value.data] if value.type == "char" else list(_items(value))
            if len(items) not in (1, length):
                text = f"`{name}`: an attribute of {len(items)} values cannot be one of {length} coordinates"
                self._error("bad-ncml", text, promotion.element)
                return
            values += items * length if len(items) == 1 else items
        (type_name,) = types if len(types) == 1 else ("",)
        if type_name in ("char", "string"):
            self._put(result, name, "string", _as_objects(values))
        elif is_number(type_name):
            self._put(result, name, type_name, np.array(values))
        else:
            self._error("bad-ncml", f"`{name}`: the types of the attribute do not suit a variable", promotion.element)


def _items(value: Constant) -> Sequence[Any]:
    return value.as_numbers() if is_number(value.type) else [item for item in value.data if item is not None]


def _as_objects(texts: Any) -> NDArray[Any]:
    """Return texts as an array of objects, shape (texts,)."""
    return np.array([*texts, None], object)[:-1]


def _chain(first: tuple[str, Checked], rest: Iterator[tuple[str, Checked]]) -> Iterator[tuple[str, Checked]]:
    yield first
    yield from rest


def _put_variable(dataset: Dataset, variable: Variable) -> Dataset:
    """Return a tree with a variable in the root, in the place of one with its name."""
    others = [one.name for one in dataset.variables]
    variables = list(dataset.variables)
    if variable.name in others:
        variables[others.index(variable.name)] = variable
    else:
        variables.append(variable)
    return dataset.model_copy(update={"variables": tuple(variables)})
