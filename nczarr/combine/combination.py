"""State of a combination: the sources so far, and their conflicts."""

from __future__ import annotations

from collections import Counter

from nczarr.arrays.source import Parts
from nczarr.check.checked import Checked
from nczarr.combine.agreement import Ascending, Finding, equal, findings
from nczarr.combine.build import Pile, made
from nczarr.combine.recode import units_of
from nczarr.combine.spec import Way, is_coordinate
from nczarr.compare.values import values, whole_parts
from nczarr.diagnostics.report import Report

NAMED = 8
"""Maximum attributes in a message."""

SAME_UNITS = "count all times in the units of the first source with `--decode-times`, or in others with `--units`"

CHOOSE = "select the combined parts with `--var` and `--group`"


class Combination:
    """Combination of sources, added one by one; the first is the model."""

    def __init__(self, name: str, checked: Checked, way: Way, *, ordered: bool = True) -> None:
        self.way = way
        self.names = [name]
        self.checked = checked
        self._faults: dict[tuple[str, str], str] = {}
        """Messages on differences, for the first source of each."""
        self._more: Counter[tuple[str, str]] = Counter()
        self._attributes: dict[str, None] = {}
        self._stacked = set(way.always)
        self._lengths = {path: [checked.dimensions[path].size] for path in way.dimensions}
        joined = checked.variables if way.new_dim else way.axes
        self._parts: dict[str, list[Parts]] = {path: [whole_parts(checked, path)] for path in joined}
        self._given = {path for path in joined if path in checked.parts}
        self._ascending: dict[str, Ascending] = {}
        for path in (way.always or way.axes) if ordered else ():
            if is_coordinate(path, checked, stacked=way.new_dim is not None):
                self._ascending[path] = Ascending(path)
                self._ascending[path].add(name, self._parts[path][0])

    def add(self, name: str, checked: Checked) -> None:
        """Add a source, or record its conflicts."""
        unlike = set()
        for finding in findings(self.checked, checked, self.way):
            if finding.decisive:
                unlike.add(finding.path)
                self._fault(name, finding)
            else:
                self._attributes[f"{finding.path.rstrip('/')}:{finding.what.split('`')[1]}"] = None
        unlike |= {
            path
            for path, variable in self.checked.variables.items()
            if variable.type in unlike or not unlike.isdisjoint(variable.dimensions)
        }
        self.names.append(name)
        for path in self._lengths:
            if path in checked.dimensions:
                self._lengths[path].append(checked.dimensions[path].size)
        for path in self.checked.variables:
            if path not in unlike:
                self._take(path, name, checked)

    def _take(self, path: str, name: str, checked: Checked) -> None:
        """Add a variable of a source with the same model."""
        if path in self._parts:
            parts = whole_parts(checked, path)
            self._parts[path].append(parts)
            if path in checked.parts:
                self._given.add(path)
            if path in self._ascending:
                self._ascending[path].add(name, parts)
            if self.way.new_dim and path not in self._stacked and not equal(self.checked, checked, path):
                self._stacked.add(path)
        elif not equal(self.checked, checked, path):
            found = values(self.checked, checked, path)
            message = found.message if found is not None else "values differ"
            text = f"`{path}` does not have {self.way.shown}, and is not the same in all sources: "
            text += f"{message}, in `{self.names[0]}` and `{name}`"
            self._note(path, "values", text)

    def _fault(self, name: str, finding: Finding) -> None:
        first, (path, what, one, other, _) = self.names[0], finding
        if what.startswith(("the ", "attribute")):
            verb = "differ" if what.endswith("s") else "differs"
            text = f"{what} of `{path}` {verb}: {one or 'none'} in `{first}`, {other or 'none'} in `{name}`"
        else:
            which = (first, name) if one else (name, first)
            text = f"{what} `{path}` is in `{which[0]}` but not in `{which[1]}`"
        self._note(path, what, text)

    def _note(self, path: str, what: str, message: str) -> None:
        key = path, what
        self._more[key] += key in self._faults
        self._faults.setdefault(key, message)

    def finish(self, addressable: int | None, report: Report) -> Checked | None:
        """Return all sources as one dataset; None after an error."""
        before = report.errors
        for key, message in self._faults.items():
            more = self._more[key]
            notes = [f"the same difference in {more} more source{'s' * (more != 1)}"] if more else []
            is_time = key[1] == "attribute `units`" and units_of(self.checked.variables[key[0]]) is not None
            report.error("unequal-sources", message, notes=notes, helps=[SAME_UNITS] * is_time + [CHOOSE])
        if self._attributes:
            some = list(self._attributes)
            rest = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
            listed = ", ".join(f"`{each}`" for each in some[:NAMED])
            report.warning(
                "differing-attributes",
                f"attributes differ; those of `{self.names[0]}` are kept: {listed}{rest}",
            )
        if self.way.new_dim and not self._stacked and not self._faults:
            text = f"no variable differs between the sources, so no variable would have {self.way.shown}"
            helps = ["name a variable with `--along VARIABLE --new-dim NAME` to stack it in any case"]
            report.error("unmatched-dimension", text, helps=helps)
        for path, found in self._ascending.items():
            if path not in {fault for fault, _ in self._faults} and found.fault is not None:
                report.warning("unordered-coordinate", found.fault, helps=["give the sources in another order"])
        if report.errors > before:
            return None
        pile = Pile(tuple(self.names), self.checked, self.way, self._parts, self._given, self._stacked, self._lengths)
        return made(pile, addressable, report)
