"""Check of sources before they are joined: each fault once, with the sources that have it.

    sources ─ profile of each ─ differences from the first ─┬─ by fault: values and sources, side by side
                                                            └─ coordinates: order, overlap, gaps

Sources are read one by one; of each one its differences stay.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.ast import Constant
from nczarr.diagnostics.report import CompileError, Diagnostic, Report
from nczarr.diagnostics.secrets import NO_OPTIONS, show
from nczarr.names import list_first
from nczarr.pipeline.compare.difference import show_constant
from nczarr.pipeline.phases import Input
from nczarr.pipeline.select.coordinate_summary import GAP
from nczarr.pipeline.select.selection import Subset
from nczarr.plugins.combine.join.agreement import (
    OBJECTS,
    Aspect,
    CombineSpec,
    SourceDifference,
    Trait,
    Way,
    is_decisive,
    settle,
    unify_calendar,
)
from nczarr.plugins.combine.join.conflicts import NAMED, list_helps
from nczarr.plugins.combine.join.coordinate_order import Ascending
from nczarr.plugins.combine.join.source_grid import is_idle
from nczarr.plugins.combine.join.source_profile import CoordinateSpan, SourceProfile, make_profile
from nczarr.plugins.combine.join.sources import Job, read_each
from nczarr.semantics.checked import Checked

STORAGE = frozenset({Aspect.CODECS, Aspect.CHUNKS, Aspect.ENDIAN})
"""Properties that decide whether chunks can be referenced as one array."""

SHOWN = 4
"""Maximum values, and sources of each, in the notes of a finding."""

PROVENANCE = frozenset({
    "history", "NCO", "creation_date", "date_created", "date_modified", "tracking_id", "uuid", "id", "title",
    "time_coverage_start", "time_coverage_end", "_NCProperties",
})  # fmt: skip
"""Attributes that tell about one file, and differ as a rule."""

FEW = 5
"""Number of sources below which an attribute that differs in all of them is reported."""

MANY_VALUES = 64
"""Number of values above which they are not counted."""


class _OwnValues:
    """Values of an attribute that may differ."""

    def __init__(self) -> None:
        self.example = 0
        """A source that differs from the first one."""
        self.count = 0
        """Number of sources that differ."""
        self._hashes: set[int] = set()

    def add(self, number: int, value: Constant | None) -> None:
        """Add a source that differs from the first one."""
        self.count += 1
        self.example = self.example or number
        if len(self._hashes) < MANY_VALUES:
            self._hashes.add(hash(value))

    def is_own(self, total: int) -> bool:
        """Return whether most sources have a value of their own, as with the time of writing."""
        return total >= FEW and len(self._hashes) >= min(MANY_VALUES, total // 2)


class JoinedSources(NamedTuple):
    """Result of a check of sources."""

    names: tuple[str, ...]
    """Names of the sources that were read."""
    along: tuple[str, ...]
    """FQNs of the joined dimensions."""
    length: int
    """Length of the first of them in all sources together."""


def check_sources(
    inputs: Sequence[Input], along: Sequence[str], report: Report, step: Callable[[int], None] | None = None
) -> JoinedSources | None:
    """Report what keeps sources from being joined along dimensions, or makes the result differ from what they hold.

    `along`: names of dimensions; empty: the unlimited ones, or those whose coordinates differ between the first two
    sources. `step` is called after each source. Returns None after an error in the first source. A source that cannot
    be read is reported, and the others are compared.

    Reports unmatched-dimension, unequal-sources, unequal-storage, differing-attributes, unordered-coordinate,
    overlapping-sources, coordinate-gap.
    """
    survey: _Survey | None = None
    waiting: list[tuple[str, Checked]] = []  # the first source, until the second one tells which dimensions grow
    job, alike = Job("", inputs[0], Subset(), CombineSpec(tuple(along)), report.strict, NO_OPTIONS), _AlikeFindings()
    for source, (checked, source_report) in zip(inputs, read_each(inputs, job), strict=True):
        if step is not None:
            step(1)
        alike.add(show(source.name), source_report)
        if checked is None:
            continue
        waiting.append((show(source.name), checked))
        if survey is None:
            if not along and len(waiting) == 1 and len(inputs) > 1 and not _list_unlimited(checked):
                continue
            chosen = tuple(along) or _infer(waiting)
            if not chosen and len(waiting) > 1:
                text = "no dimension is unlimited, and no coordinate differs between the first two sources"
                helps = [
                    "name the dimension along which the sources are joined with `--along`",
                    "sources without one are stacked by `nczarr combine SRC… DST --new-dim NAME`",
                ]
                report.error("unmatched-dimension", text, helps=helps)
                alike.report(report)
                return None
            way = settle(waiting[0][0], waiting[0][1], CombineSpec(chosen), report)
            if way is None:
                alike.report(report)
                return None
            survey = _Survey(way)
        for name, dataset in waiting:
            try:
                survey.add(name, make_profile(dataset, survey.along, survey.first), dataset)
            except (OSError, CompileError) as failure:
                report.error("unreadable-array", f"the values of `{name}` cannot be read: {failure}")
        waiting.clear()
    alike.report(report)
    return None if survey is None or survey.first is None else survey.finish(report)


def _list_unlimited(checked: Checked) -> list[str]:
    return [path for path, dimension in checked.dimensions.items() if dimension.unlimited]


def _infer(sources: Sequence[tuple[str, Checked]]) -> tuple[str, ...]:
    """Return the dimensions that probably grow from source to source."""
    unlimited = _list_unlimited(sources[0][1])
    if unlimited or len(sources) == 1:
        return tuple(unlimited)
    first, second = (make_profile(checked, frozenset()) for _, checked in sources[:2])
    traits = second.differences(first)
    differing = frozenset(path for path, aspect, _ in traits if aspect in (Aspect.VALUES, Aspect.LENGTH))
    one, other = (make_profile(checked, differing).spans for _, checked in sources[:2])
    apart = [
        path
        for path in one.keys() & other.keys()
        if one[path].high < other[path].low or other[path].high < one[path].low
    ]
    return tuple(sorted(apart or differing))  # a coordinate that is slightly shifted is a fault


class _AlikeFindings:
    """Findings of the readers of all sources: those with the same words but for the name of the source are one."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str], tuple[Diagnostic, list[str]]] = {}

    def add(self, name: str, source_report: Report) -> None:
        """Add the findings of a source."""
        for diagnostic in source_report.list_sorted():
            key = (diagnostic.code, diagnostic.message.replace(name, ""))
            self._findings.setdefault(key, (diagnostic, []))[1].append(name)

    def report(self, report: Report) -> None:
        """Report all findings."""
        for diagnostic, names in self._findings.values():
            if len(names) > 1:
                notes = (*diagnostic.notes, f"the same in {list_first(names[1:], SHOWN)}")
                diagnostic = diagnostic._replace(notes=notes)
            report.add(diagnostic)


class _Survey:
    """Profiles of the sources so far."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.along = along = way.dimensions
        self.names: list[str] = []
        """Names of the sources for messages."""
        self.first: SourceProfile | None = None
        self._model: Checked | None = None
        """The first source."""
        self.unequal: dict[Trait, dict[int, str | None]] = {}
        """Texts of each property where they differ from that of the first source, by source."""
        self.others: dict[tuple[str, str], _OwnValues] = {}
        """Attributes that may differ, by owner and name."""
        self.spans: dict[str, list[tuple[int, CoordinateSpan]]] = {path: [] for path in along}
        self.length = 0

    def add(self, name: str, profile: SourceProfile, checked: Checked) -> None:
        """Add a source. Raises OSError, CompileError."""
        number = len(self.names)
        self.names.append(name)
        if self.first is None:
            self.first, self._model = profile, checked
        grids = self.first.grids | profile.grids
        for trait, value in profile.differences(self.first).items():
            path, _, attribute = trait
            joined = (
                not self.along.isdisjoint(checked.variables[path].dimensions) if path in checked.variables else True
            )
            difference = SourceDifference(*trait, None, None)
            if self._model is not None and is_idle(difference, self._model, checked, joined=joined):
                continue
            if is_decisive(trait, self.first.traits, grids):
                self.unequal.setdefault(trait, {})[number] = _show(attribute, value)
            elif attribute not in PROVENANCE:
                self.others.setdefault((path, attribute), _OwnValues()).add(number, value)
        for path, span in profile.spans.items():
            self.spans[path].append((number, span))
        self.length += profile.lengths.get(min(self.along), 0)

    def finish(self, report: Report) -> JoinedSources:
        """Report all findings."""
        assert self.first is not None
        for faults in self._group_traits():
            self._report_difference(faults, report)
        self._report_attributes(report)
        for path, spans in self.spans.items():
            self._report_order(path, spans, report)
        return JoinedSources(tuple(self.names), tuple(sorted(self.along)), self.length)

    # ---- differences ---------------------------------------------------------------------------------------------
    def _group_traits(self) -> Iterator[list[Trait]]:
        """Yield the properties that differ, those of several objects together if the same sources differ."""
        assert self.first is not None
        groups: dict[tuple[Aspect, str, bool, frozenset[frozenset[int]]], list[Trait]] = {}
        for trait, texts in self.unequal.items():
            split = frozenset(frozenset(numbers) for numbers in _by_text(texts).values())
            groups.setdefault((trait[1], trait[2], trait in self.first.traits, split), []).append(trait)
        yield from groups.values()

    def _report_difference(self, traits: list[Trait], report: Report) -> None:
        """Report traits of several owners that differ in the same way; `traits`: (owner, aspect, attribute)."""
        assert self.first is not None
        _, aspect, attribute = traits[0]
        subject = f"attribute `{attribute}`" if aspect is Aspect.ATTRIBUTE else str(aspect)
        owners = list_first((trait[0] for trait in traits), SHOWN)
        texts = self.unequal[traits[0]]
        total = len(self.names)
        same = [number for number in range(total) if number not in texts] if len(texts) < total else []
        rows = [(_show(attribute, self.first.traits.get(traits[0])), same), *_by_text(texts).items()]
        rows.sort(key=lambda row: -len(row[1]))
        count = total - len(rows[0][1])
        differing = f"{count} of {total} sources"
        if aspect in OBJECTS:
            absent = next(numbers for text, numbers in rows if text is None)
            message = f"{aspect} {owners} is missing in {len(absent)} of {total} sources"
            notes = [f"missing in {self._list(absent)}"] if 2 * len(absent) <= total else []
            notes += [] if notes else [f"present in {self._list(next(nums for text, nums in rows if text))}"]
        else:
            verb = "differ" if aspect in (Aspect.DIMENSIONS, Aspect.CODECS, Aspect.CHUNKS, Aspect.VALUES) else "differs"
            message = f"{subject} of {owners} {verb} in {differing}"
            notes = [f"{text or 'absent'}: {self._list(numbers)}" for text, numbers in rows[:SHOWN]]
            notes += [f"{len(rows) - SHOWN} more values"] if len(rows) > SHOWN else []
        if aspect in STORAGE:
            helps = ["join them into a store with chunks of its own: `nczarr combine SRC… all.zarr`"]
            text = f"{message}: they cannot be referenced as one array"
            report.warning("unequal-storage", text, notes=notes, helps=helps)
            return
        assert self._model is not None
        difference = SourceDifference(*traits[0], rows[0][0], rows[1][0])
        helps = list_helps(traits, difference, CombineSpec(tuple(self.along)), self._model, self.way, self.unequal)
        report.error("unequal-sources", message, notes=notes, helps=helps)

    def _report_attributes(self, report: Report) -> None:
        """Report attributes that differ in some sources."""
        total = len(self.names)
        some = [item for item in sorted(self.others.items()) if not item[1].is_own(total)]
        if some:
            listed = list_first((f"{path.rstrip('/')}:{name}" for (path, name), _ in some), NAMED)
            text = f"attributes differ; those of `{self.names[0]}` would be kept: {listed}"
            notes = [
                f"`{path.rstrip('/')}:{name}` differs in {values.count} of {total} sources, such as "
                f"`{self.names[values.example]}`"
                for (path, name), values in some[:SHOWN]
            ]
            report.warning("differing-attributes", text, notes=notes)

    def _list(self, numbers: Sequence[int]) -> str:
        """Return sources in words: all of a few, else their number and the first."""
        if len(numbers) > SHOWN:
            return f"{len(numbers)} sources, such as `{self.names[numbers[0]]}`"
        return ", ".join(f"`{self.names[number]}`" for number in numbers)

    # ---- coordinates ---------------------------------------------------------------------------------------------
    def _report_order(self, path: str, spans: list[tuple[int, CoordinateSpan]], report: Report) -> None:
        """Report a coordinate that `combine` refuses, and sources that overlap or leave gaps."""
        orders = Ascending(path, spans[0][1].show) if spans else None
        for number, span in spans:
            if orders is not None and span.order is not None:
                orders.add(self.names[number], span.order)
        fault = None if orders is None else orders.find_fault()
        if fault is not None:
            fault.report(report)
        by_value = sorted((item for item in spans if item[1].high_text), key=lambda item: (item[1].low, item[1].high))
        self._report_neighbours(path, by_value, report)

    def _report_neighbours(self, path: str, spans: list[tuple[int, CoordinateSpan]], report: Report) -> None:
        """Report overlaps and gaps between sources in the order of their values."""
        overlaps, distances = [], []
        reach = spans[0] if spans else None
        for one in spans[1:]:
            assert reach is not None
            if one[1].low <= reach[1].high:
                overlaps.append((reach, one))
            else:
                distances.append((one[1].low - reach[1].high, reach, one))
            if one[1].high > reach[1].high:
                reach = one
        if overlaps:
            text = f"the values of `{path}` overlap in {len(overlaps)} pair{'s' * (len(overlaps) != 1)} of sources"
            report.warning("overlapping-sources", text, notes=self._pairs(overlaps))
        steps = [span.step for _, span in spans if span.step] or [distance for distance, _, _ in distances]
        if not steps or len(steps) + len(distances) < 3:
            return
        usual = statistics.median([*steps, *(distance for distance, _, _ in distances)])
        gaps = [(one, other) for distance, one, other in distances if distance > GAP * usual]
        if gaps:
            text = f"values of `{path}` are missing between {len(gaps)} pair{'s' * (len(gaps) != 1)} of sources"
            report.warning("coordinate-gap", text, notes=self._pairs(gaps))

    def _pairs(self, pairs: Sequence[tuple[tuple[int, CoordinateSpan], tuple[int, CoordinateSpan]]]) -> list[str]:
        """Return the first pairs in words."""
        return [
            f"`{self.names[one]}` ends at {before.high_text}, `{self.names[other]}` begins at {after.low_text}"
            for (one, before), (other, after) in pairs[:SHOWN]
        ]


def _by_text(texts: dict[int, str | None]) -> dict[str | None, list[int]]:
    """Return sources by their text."""
    grouped: dict[str | None, list[int]] = {}
    for number, text in texts.items():
        grouped.setdefault(text, []).append(number)
    return grouped


def _show(attribute: str, value: Any) -> str | None:
    """Return a property in words; None if it is absent."""
    value = unify_calendar(value) if attribute == "calendar" else value
    return f"{show_constant(value)} ({value.type})" if isinstance(value, Constant) else value
