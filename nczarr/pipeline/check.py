"""Check of a dataset: its own errors, faults of other readers, losses of targets, deviations from a schema."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from nczarr import registry
from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import Report, hint
from nczarr.names import plugin_index
from nczarr.pipeline import endpoints, phases
from nczarr.pipeline.check_request import CheckRequest, ReaderCheck
from nczarr.registry import Format
from nczarr.semantics.checked import Checked

MANY = 256
"""Least number of chunks of a variable that is reported."""

TINY = 4096
"""Bytes of a decoded chunk below which reading it costs more than its values."""

GOOD = 1 << 20
"""Bytes of the chunks that the remedy proposes."""

LIMITS = frozenset({"missing_value", "valid_min", "valid_max", "valid_range", "scale_factor", "add_offset"})
"""Attributes of variables of numbers that are numbers."""


def advise(checked: Checked, report: Report) -> None:
    """Report tiny-chunks for each variable with many chunks of few bytes, and limits of numbers that are text."""
    for path, variable in checked.variables.items():
        texts = (each for each in variable.attributes if each.name in LIMITS and each.value.type in ("char", "string"))
        for limit in texts if is_number(variable.type) else ():
            what = f"`{limit.name}` of `{path}` is text, and its values are numbers: readers ignore it, or fail"
            report.warning(
                "text-limit", what, limit.span, helps=["write numbers, such as `NaN` or `1e20`, without quotes"]
            )
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
    """Check as other readers do (`judges`), then the dataset itself; return the number of faults that were shown."""
    raw = bool(request.conventions or request.schema)
    options = request.options.change(aggregation="keep" if raw else "expand", inspect=True, verify=request.values)
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
    if is_answered and options.target.kind is None and not (request.schema or request.conventions or request.values):
        return faults
    before = report.errors
    report.hides = request.codes.hides_warning
    if request.dataset is not None:
        checked: Checked | None = request.dataset
    elif source is not None:
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
            registry.load_addition("convention", name).check(checked, version, request, report)
    return faults


def _count_shown(report: Report, ask: Callable[..., int], *given: Any) -> int:
    """Return how many faults a reader has; 0 if the user asked to see none of them."""
    before = report.count
    found = ask(*given)
    return found if report.count > before else 0


def _rehearse(checked: Checked, request: CheckRequest, report: Report) -> None:
    """Report the losses of targets, and deviations from the schema; without one, damage of the data."""
    formats = [form for form in request.judges if isinstance(form, Format)]
    if request.options.target.kind is not None:
        file = registry.find_format(registry.FILE)
        assert file is not None
        formats.append(file)
    for form in formats:
        phases.plan(checked, form, report, request.options.change(path=""))  # the losses of any target
    schema = None if request.schema is None else request.schema(report)
    if request.values and request.schema is None:
        registry.load_addition("data_check", "data")(checked, request, report)
    if schema is not None:
        registry.load_addition("schema_check", "schema").judge(checked, schema, report, values=request.values)
        return
    text = checked.dataset.span.source
    if text is not None and b"nczarr:" in bytes(text.data) and plugin_index.find_place("schema_check", "schema"):
        registry.load_addition("schema_check", "schema").check_rules(checked, report)
