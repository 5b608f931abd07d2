"""State of a combination: the sources so far, and their conflicts."""

from __future__ import annotations

from array import array
from collections import Counter

from nczarr.arrays.sources.accumulation import Accumulation, Targets
from nczarr.arrays.sources.source import Parts
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.operations.combine.agreement import OBJECTS, Ascending, Aspect, SourceDifference
from nczarr.operations.combine.build import Pile, made
from nczarr.operations.combine.contribution import Contribution, Model, VariablePiece, whole_first
from nczarr.operations.combine.recode import units_of
from nczarr.operations.combine.repetition import KnownPlaces

NAMED = 8
"""Maximum attributes in a message."""

SAME_UNITS = "count all times in the units of the first source with `--decode-times`, or in others with `--units`"

CHOOSE = "select the combined parts with `--var` and `--group`"

Conflict = tuple[str, Aspect, str]
"""FQN of an object, subject of the conflict, and name of the attribute."""


class Combination:
    """Combination of sources, added one by one; the first is the model."""

    def __init__(self, model: Model, storage: StorageOptions = NO_OPTIONS) -> None:
        self.model = model
        self.names: list[str] = []
        self.targets = Targets(storage)
        """Files and objects with chunks."""
        self._faults: dict[Conflict, str] = {}
        """Messages on differences, for the first source of each."""
        self._more: Counter[Conflict] = Counter()
        self._attributes: dict[str, None] = {}
        self._stacked = set(model.way.always)
        self.lengths = {path: array("q") for path in model.way.dimensions}
        """Lengths of the joined dimensions by source."""
        self._arrays: dict[str, Accumulation | list[Parts]] = {}
        self._given: set[str] = set()
        self._ascending = {path: Ascending(path) for path in model.ordered}
        self._known: KnownPlaces | None = None
        self.repeated: list[str] = []
        """Names of sources without a coordinate whose chunks the extended document has already."""

    @property
    def unordered(self) -> list[str]:
        """Coordinates whose values do not increase."""
        return [path for path, order in self._ascending.items() if order.fault is not None]

    def add(self, source: Contribution) -> None:
        """Add a source, or record its conflicts."""
        number = len(self.names)
        self.names.append(source.name)
        for finding in source.findings:
            if finding.decisive:
                self._fault(source.name, finding)
            else:
                self._attributes[f"{finding.path.rstrip('/')}:{finding.attribute}"] = None
        for path, message in source.faults:
            self._note((path, Aspect.VALUES, ""), message)
        for path, length in source.lengths.items():
            self.lengths[path].append(length)
        for path, piece in source.pieces.items():
            self._take(path, number, piece)
        if self.model.wanted.extends and not self.model.ordered:
            if self._known is None:
                self._known = KnownPlaces(source.pieces)
            elif self._known.have(source.pieces):
                self.repeated.append(source.name)
        self._given |= source.given
        self._stacked |= source.unequal
        for path, order in source.orders.items():
            self._ascending[path].add(source.name, order)

    def _take(self, path: str, number: int, piece: VariablePiece) -> None:
        """Add a variable of a source with the same model."""
        accumulated = self._arrays.get(path)
        if accumulated is None:
            single = piece.located is not None or piece.parts.keys() == {""}
            accumulated = Accumulation(self.model.axes[path], self.targets) if single else []
            self._arrays[path] = accumulated
        if isinstance(accumulated, list):
            accumulated.append(piece.parts)
        else:
            whole = whole_first(self.model, path) if number == 0 else None
            accumulated.add(number, piece.located or piece.parts[""], piece.values, whole)

    def _fault(self, name: str, difference: SourceDifference) -> None:
        first, (path, aspect, attribute, one, other, _) = self.model.name, difference
        if aspect in OBJECTS:
            which = (first, name) if one else (name, first)
            text = f"{aspect} `{path}` is in `{which[0]}` but not in `{which[1]}`"
        else:
            subject = f"attribute `{attribute}`" if aspect is Aspect.ATTRIBUTE else aspect
            verb = "differ" if aspect is Aspect.DIMENSIONS else "differs"
            text = f"{subject} of `{path}` {verb}: {one or 'none'} in `{first}`, {other or 'none'} in `{name}`"
        self._note((path, aspect, attribute), text)

    def _note(self, conflict: Conflict, message: str) -> None:
        """Record a conflict; of several sources with the same one, the first is named."""
        self._more[conflict] += conflict in self._faults
        self._faults.setdefault(conflict, message)

    def finish(self, report: Report) -> Checked | None:
        """Return all sources as one dataset; None after an error."""
        before = report.errors
        for conflict, message in self._faults.items():
            more, (path, aspect, attribute) = self._more[conflict], conflict
            notes = [f"the same difference in {more} more source{'s' * (more != 1)}"] if more else []
            is_units = (aspect, attribute) == (Aspect.ATTRIBUTE, "units") and path in self.model.checked.variables
            is_time = is_units and units_of(self.model.checked.variables[path]) is not None
            report.error("unequal-sources", message, notes=notes, helps=[SAME_UNITS] * is_time + [CHOOSE])
        if self._attributes:
            some = list(self._attributes)
            rest = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
            listed = ", ".join(f"`{path}`" for path in some[:NAMED])
            report.warning(
                "differing-attributes",
                f"attributes differ; those of `{self.model.name}` are kept: {listed}{rest}",
            )
        if self.model.way.new_dim and not self._stacked and not self._faults:
            text = f"no variable differs between the sources, so no variable would have {self.model.way.shown}"
            helps = ["name a variable with `--along VARIABLE --new-dim NAME` to stack it in any case"]
            report.error("unmatched-dimension", text, helps=helps)
        for path, order in self._ascending.items():
            if path not in {conflict[0] for conflict in self._faults} and order.fault is not None:
                report.warning("unordered-coordinate", order.fault, helps=["give the sources in another order"])
        if report.errors > before:
            return None
        pile = Pile(self.names, self.model, self._arrays, self._given, self._stacked, self.lengths)
        return made(pile, report)
