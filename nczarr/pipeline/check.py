"""Check of a dataset: its own errors, faults of other readers, losses of targets, deviations from a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nczarr import names, registry
from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import Dimension, Group, UserType, Variable
from nczarr.ast.node import Node
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.render import place
from nczarr.diagnostics.report import Diagnostic, Report, hint
from nczarr.names import plugin_index
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.check_request import CheckRequest, Convention, ReaderCheck, SourceComparison
from nczarr.pipeline.compare.diff import definition
from nczarr.pipeline.compare.difference import show_pair
from nczarr.pipeline.node_label import label_of
from nczarr.registry import Format
from nczarr.semantics.checked import Checked


def follow(checked: Checked, schema: Checked, report: Report) -> None:
    """Report deviations from a schema, at the places in dataset and schema."""
    _Check(checked, schema, report).all()


class _Check:
    """One comparison. `here` is the dataset, `there` the schema."""

    def __init__(self, here: Checked, there: Checked, report: Report) -> None:
        self.here = here
        self.there = there
        self.report = report

    def all(self) -> None:
        """Check everything, by subject."""
        here, there = self.here, self.there
        self._compare_members("group", here.groups, there.groups)
        self._compare_members("type", here.types, there.types)
        self._compare_members("dimension", here.dimensions, there.dimensions)
        self._compare_members("variable", here.variables, there.variables)
        for path in _common(here.types, there.types):
            self._compare_type(path, here.types[path], there.types[path])
        for path in _common(here.dimensions, there.dimensions):
            self._dimension(path, here.dimensions[path], there.dimensions[path])
        for path in _common(here.variables, there.variables):
            self._compare_variable(path, here.variables[path], there.variables[path])
        for path in _common(here.groups, there.groups):
            self._attributes(f"group `{path}`", here.groups[path], there.groups[path])

    def _compare_members(self, what: str, here: Mapping[str, Node], there: Mapping[str, Node]) -> None:
        """Report content of one side only; a missing or surplus group stands for its content."""
        both = self.here.groups.keys() & self.there.groups.keys()
        surplus = [path for path in here if path not in there and names.parent(path) in both]
        for path, node in there.items():
            if path not in here and names.parent(path) in both:
                home = self.here.groups[names.parent(path)]
                near = _near(path, surplus)
                self._missing(f"{what} `{path}`", home, node, near)
        for path in surplus:
            self._add("extra-element", f"{what} `{path}` is not in the schema", here[path], None)

    def _missing(self, what: str, home: Node, required: Node, near: str | None) -> None:
        helps = [f"did you mean `{near}`, which is in the dataset but not in the schema?"] if near else []
        text = f"{what} is missing; the schema defines it{_place(required)}"
        self._add("missing-element", text, home, required, helps)

    def _add(self, code: str, message: str, here: Node, there: Node | None, helps: list[str] | None = None) -> None:
        others = () if there is None else (label_of(there, "the schema"),)
        self.report.add(Diagnostic(code, CODES[code].severity, message, label_of(here), others, (), tuple(helps or ())))

    def _differs(self, what: str, actual: object, required: object, here: Node, there: Node) -> None:
        text = f"{what} is {actual}; the schema requires {required}{_place(there)}"
        self._add("different-element", text, here, there)

    def _compare_type(self, path: str, here: UserType, there: UserType) -> None:
        actual, required = definition(here, storage=False), definition(there, storage=False)
        if actual != required:
            self._differs(f"type `{path}`", f"`{actual}`", f"`{required}`", here, there)

    def _dimension(self, path: str, here: Dimension, there: Dimension) -> None:
        if there.unlimited:
            if not here.unlimited:
                text = f"dimension `{path}` is fixed; the schema requires it to be unlimited{_place(there)}"
                self._add("fixed-dimension", text, here, there)
        elif here.unlimited:
            self._differs(f"dimension `{path}`", "unlimited", f"the length {there.size}", here, there)
        elif here.size != there.size:
            self._differs(f"the length of dimension `{path}`", here.size, there.size, here, there)

    def _compare_variable(self, path: str, here: Variable, there: Variable) -> None:
        if here.type != there.type:
            self._differs(f"the type of `{path}`", f"`{here.type}`", f"`{there.type}`", here, there)
        if here.dimensions != there.dimensions:
            actual, required = (f"`({', '.join(map(str, variable.dimensions))})`" for variable in (here, there))
            self._differs(f"the shape of `{path}`", actual, required, here, there)
        self._attributes(f"`{path}`", here, there)

    def _attributes(self, owner: str, here: Group | Variable, there: Group | Variable) -> None:
        actual, required = ({attribute.name: attribute for attribute in side.attributes} for side in (here, there))
        surplus = [name for name in actual if name not in required]
        for name, attribute in required.items():
            if name not in actual:
                self._missing(f"attribute `{name}` of {owner}", here, attribute, _near(name, surplus))
            elif actual[name].value != attribute.value:
                is_there, shall_be = show_pair(actual[name].value, attribute.value, "`")
                self._differs(f"attribute `{name}` of {owner}", is_there, shall_be, actual[name], attribute)
        for name in surplus:
            text = f"attribute `{name}` of {owner} is not in the schema"
            self._add("extra-element", text, actual[name], None)


def _common(here: Mapping[str, object], there: Mapping[str, object]) -> list[str]:
    return [path for path in there if path in here]


def _near(name: str, others: list[str]) -> str | None:
    """Return the probably intended name: the same in another group, or a similar one."""
    same = [other for other in others if names.last(other) == names.last(name)] if name.startswith("/") else []
    return same[0] if same else names.closest(name, others)


def _place(node: Node) -> str:
    where = place(label_of(node)) if node.span.source is not None else ""
    return f" at {where}" if where else ""


MANY = 256
"""Least number of chunks of a variable that is reported."""

TINY = 4096
"""Bytes of a decoded chunk below which reading it costs more than its values."""

GOOD = 1 << 20
"""Bytes of the chunks that the remedy proposes."""


def advise(checked: Checked, report: Report) -> None:
    """Report tiny-chunks for each variable with many chunks of few bytes."""
    for path, number, chunks, proposed in _tiny(checked):
        shape = " × ".join(map(str, chunks))
        lengths = ",".join(map(str, proposed))
        report.warning(
            "tiny-chunks",
            f"`{path}` has {number:,} chunks of {shape}: reading them takes longer than their values need",
            checked.variables[path].span,
            helps=[f"write longer chunks: `nczarr convert SRC DST --chunks {path}={lengths}`"],
        )


def _tiny(checked: Checked) -> Iterator[tuple[str, int, tuple[int, ...], tuple[int, ...]]]:
    """Yield path, number and lengths of chunks of variables that have tiny ones, and better lengths."""
    for path, variable in checked.variables.items():
        chunks, shape = variable.storage.chunks, checked.shapes[path]
        if not chunks or not is_fixed(variable.type, checked.types):
            continue
        item = max(1, size(variable.type, checked.types))
        number = math.prod(grid_of(shape, chunks))
        if number >= MANY and math.prod(chunks) * item < TINY:
            yield path, number, chunks, _longer(shape, chunks, item)


def _longer(shape: tuple[int, ...], chunks: tuple[int, ...], item: int) -> tuple[int, ...]:
    """Return chunk lengths of about `GOOD` bytes: the last dimensions grow first, as values lie in a chunk."""
    lengths = list(chunks)
    for axis in reversed(range(len(shape))):
        others = math.prod(lengths) // lengths[axis] * item
        lengths[axis] = max(lengths[axis], min(shape[axis], GOOD // others))
    return tuple(lengths)


def find_judge(name: str) -> ReaderCheck | Format:
    """Return the reader, convention or target format with a name. Raises ValueError for an unknown one."""
    form, known = registry.find_format(name), find_reader_check(name, others=False)
    if known is not None:
        return known
    if form is not None and form.writable:
        return form
    known = find_reader_check(name)
    if known is not None:
        return known
    checks = [*plugin_index.list_own("check"), *(name for name, _ in plugin_index.list_others("check"))]
    every_name = [*checks, *(row.name for row in registry.formats() if row.writable)]
    end = hint(name, every_name, f"known names: {', '.join(every_name)}")
    raise ValueError(f"{name!r} is not a reader or a format that can be written{end}")


def find_reader_check(name: str, *, others: bool = True) -> ReaderCheck | None:
    """Return what a plugin knows of a reader, `zarr-python`, or of its release, `zarr-python@3.1`; None without any.

    `others`: ask other distributions as well. Raises ValueError for an unknown release, or a broken check.
    """
    bare, sign, release = name.partition("@")
    place = plugin_index.find_place("check", bare) if others else plugin_index.list_own("check").get(bare)
    found: ReaderCheck | None = None if place is None else registry.load(place)
    return found if found is None or not sign else found.select_release(release)


def find_convention(name: str) -> Convention:
    """Return the convention with a name. Raises ValueError for an unknown one."""
    found: Convention = _load("convention", name, "checks the convention")
    return found


def find_comparison(name: str) -> SourceComparison:
    """Return the comparison of sources with a name. Raises ValueError for an unknown one."""
    found: SourceComparison = _load("comparison", name, "makes the comparison")
    return found


def _load(kind: str, name: str, verb: str) -> Any:
    """Return an addition of a plugin. Raises ValueError without one."""
    place = plugin_index.find_place(kind, name)
    if place is None:
        raise ValueError(f"no plugin of this installation {verb} `{name}`")
    return registry.load(place)


def check(request: CheckRequest, report: Report) -> int:
    """Report the diagnostics of a dataset; return the number of faults of other readers. Raises OSError.

    If only readers are asked for, the rules see the documents alone, whatever our
    own reader says.
    """
    outer = report.hides
    report.hides = request.codes.hides
    try:
        return _check(request, report)
    finally:
        report.hides = outer


def _check(request: CheckRequest, report: Report) -> int:
    raw = bool(request.conventions or request.schema)
    options = request.options._replace(aggregation="keep" if raw else "expand", inspect=True)
    peers = [peer for peer in request.judges if not isinstance(peer, Format)]
    source = request.content
    if source is None and peers:
        opened = endpoints.open_source(request.path, report, options)
    else:
        opened = source
    form = None
    if request.form and opened is not None:
        form = endpoints.require_format(opened, request.form, report)
        if form is None:
            return 0
    revision = endpoints.revision(opened, report, options) if peers and opened is not None else None
    unsuited = [peer for peer in peers if revision is not None and not peer.suits(revision)]
    faults = 0
    for peer in peers:
        if revision is not None and peer not in unsuited:
            faults += _count_shown(report, peer.check, revision, report)
    is_answered = peers and len(peers) == len(request.judges) and not unsuited
    if is_answered and options.kind is None and not request.schema and not request.conventions:
        return faults
    before = report.errors
    report.hides = request.codes.hides_warning
    if source is not None:
        checked = phases.read(source, report, options, form, request.observe)
    else:
        checked = phases.read_path(request.path, report, options, request.form)
    report.hides = request.codes.hides
    if checked is None:
        return faults
    for peer in unsuited:
        faults += _count_shown(report, peer.check_tree, checked, request, report)
    if report.errors == before:
        advise(checked, report)
        _rehearse(checked, request, report)
        for name, version in request.conventions.items():
            find_convention(name).check(checked, version, request, report)
    return faults


def _count_shown(report: Report, ask: Callable[..., int], *given: Any) -> int:
    """Return how many faults a reader has; 0 if the user asked to see none of them."""
    before = report.count
    found = ask(*given)
    return found if report.count > before else 0


def _rehearse(checked: Checked, request: CheckRequest, report: Report) -> None:
    """Report the losses of targets, and deviations from the schema."""
    formats = [form for form in request.judges if isinstance(form, Format)]
    if request.options.kind is not None:
        file = registry.find_format(registry.FILE)
        assert file is not None
        formats.append(file)
    for form in formats:
        phases.plan(checked, form, report, request.options)
    schema = None if request.schema is None else request.schema(report)
    if schema is not None:
        follow(checked, schema, report)
