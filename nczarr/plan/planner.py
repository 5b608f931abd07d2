"""`plan`: from `Checked` to `Planned`, for one target.

Every lost thing is found here, once, before a byte is written: value losses are errors unless the run allows
them, annotation losses one summarising warning. For stores of arrays the layout of every part is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from nczarr import names
from nczarr.arrays import codecs
from nczarr.arrays.parts import is_fixed, size
from nczarr.arrays.source import Parts
from nczarr.ast import Storage
from nczarr.ast.walk import groups
from nczarr.capabilities import Arrays, Format
from nczarr.check.checked import Checked
from nczarr.check.restrict_to_kind import without
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.options import Options
from nczarr.plan.chunk_lengths import fits
from nczarr.plan.layout import lay
from nczarr.plan.losses import ANNOTATIONS, losses
from nczarr.plan.planned import Loss, Planned, Target
from nczarr.plan.requested_storage import storage_of, wishes_of
from nczarr.plan.shards import Wish, can_shard, problem
from nczarr.plan.simple_dimension_names import axes
from nczarr.plan.storage_roundtrip import settled, told, unkept

__all__ = ["Planned", "plan"]

LONGEST_KEY = 255
"""Bytes that one segment of a key may have: the limit of file systems, one less than that of netCDF names."""

LARGEST_FILL = 1 << 27
"""Elements of ragged content that a fill value may make; see `fill_parts`."""


_REMEDY = "`--allow-loss {}` writes the rest; format `nczarr` keeps it"
_REMEDIES = {"unreferable-variable": "`--embed SIZE` holds more in the document; `--allow-loss {}` leaves it out"}
"""What helps against a loss of values."""


def plan(checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss] = ()) -> Planned | None:
    """Decide how the dataset will lie in the target, and say what it loses there.

    Expects a checked dataset; `more` are the losses that the format's own rules found. Ensures that whatever the target
    cannot hold is reported, that every variable of a store has a layout for each part, and that every name can be a
    key. Returns None if an error was found.
    """
    before = report.errors
    if form.kinds:
        from nczarr.plan.plan_file import plan_file

        file = plan_file(checked, form, options, report)
        _tell(list(file.losses) if file else [], form, options, report)
        return file
    found = [*losses(checked, form), *more]
    if form.capabilities.arrays is None:
        asked: dict[str, Storage] = {}
        if form.binary:
            from nczarr.plan.plan_file import check_size
            from nczarr.plan.stream import plan_single

            check_size(checked, options, report)
            asked, unkept_wishes = plan_single(checked, form, options, report)
            found += unkept_wishes
        _tell(found, form, options, report)
        return Planned(checked, form, options, tuple(found), asked) if report.errors == before else None
    places: Mapping[tuple[str, str], str] = {}
    if form.capabilities.arrays.portable_names:
        from nczarr.plan.key_paths import placed  # few runs need it

        places = placed(checked)
    _check_keys(checked, form.capabilities.arrays, places, report)
    wishes = wishes_of(checked, form.name, form.capabilities.arrays, options, report)
    if report.errors > before:
        return None
    axis_names, renamed = axes(checked)
    if not form.capabilities.names:
        found += _renamed(checked, renamed, axis_names)
    storage: dict[str, Storage] = {}
    targets: dict[str, dict[str, Target]] = {}
    parts: dict[str, Parts] = {}
    arrays = form.capabilities.arrays
    for path, variable in checked.variables.items():
        fixed = is_fixed(variable.type, checked.types)
        itemsize = size(variable.type, checked.types) if fixed else 8
        storage[path] = storage_of(path, variable, checked.shapes[path], wishes, itemsize)
        shards = wishes.shards_of(path, variable)
        targets[path], parts[path] = lay(path, variable, checked, arrays, options, storage[path], shards)
        _check_shards(path, shards, targets[path], checked, options, report)
        found += _unmet(path, storage[path], targets[path], checked, form, itemsize)
        found += _nil(path, targets[path], checked, form)
        _check_fill(path, parts[path], checked, report)
    unreferred = list(_unreferred(targets, checked, options))
    found += unreferred
    _tell(found, form, options, report)
    if (
        options.char_netcdf
        and arrays.netcdf_char
        and any(variable.type == "char" for variable in checked.variables.values())
    ):
        text = "char arrays are written as `>S1`, which only the netCDF library reads"
        report.warning("unreadable-char", text, helps=["without `--char netcdf` every other reader sees them"])
    if report.errors > before:
        return None
    if unreferred:  # the run accepts that these variables are left out
        gone = frozenset(loss.path for loss in unreferred)
        rest = plan(without(checked, gone), form, options, Report())
        return None if rest is None else rest._replace(losses=tuple(found))
    return Planned(checked, form, options, tuple(found), storage, targets, parts, axis_names, places=places)


def _unreferred(targets: dict[str, dict[str, Target]], checked: Checked, options: Options) -> Iterator[Loss]:
    """Variables that no references can lead to, and that are too large for the target to hold their values itself."""
    for path, own in targets.items():
        apart = [target.apart for target in own.values() if target.apart is not None]
        size = sum(each for each, _ in apart)
        if size > options.writing.embed:
            text = f"no references can lead to `{path}`: {apart[0][1]}; the document would have to hold {size} bytes"
            yield Loss("unreferable-variable", "value", path, text, checked.variables[path].span)


def _tell(found: list[Loss], form: Format, options: Options, report: Report) -> None:
    """Report value losses one by one, annotation losses in one warning."""
    allowed = options.allow_loss
    for loss in found:
        if loss.weight == "value":
            accepted = "all" in allowed or loss.kind in allowed
            severity = Severity.WARNING if accepted else Severity.ERROR
            helps: tuple[str, ...] = () if accepted else (_REMEDIES.get(loss.kind, _REMEDY).format(loss.kind),)
            report.add(Diagnostic(loss.kind, severity, loss.message, Label(loss.span), helps=helps))
    annotations = [loss for loss in found if loss.weight == "annotation"]
    if not annotations:
        return
    phrases = []
    for kind, phrase in ANNOTATIONS.items():
        count = sum(loss.kind == kind for loss in annotations)
        if count:
            phrases.append(f"{phrase} ({count})")
    notes = [f"lost: {loss.message}" for loss in annotations] if options.verbose else []
    hints = [] if options.verbose else ["`--verbose` lists them one by one"]
    report.warning("lost-annotations", f"{form.name} does not keep {', '.join(phrases)}", notes=notes, helps=hints)


def _check_keys(checked: Checked, arrays: Arrays, places: Mapping[tuple[str, str], str], report: Report) -> None:
    """Report names that cannot be a segment of a key, or that two children of one group share."""
    if arrays.portable_names:
        _check_places(checked, places, report)
    for path, group in groups(checked.dataset):
        taken: dict[str, str] = {}
        children = [(variable.name, "variable", variable.span) for variable in group.variables]
        children += [(child.name, "group", child.span) for child in group.groups]
        for name, what, span in children:
            problem = _no_segment(name) if arrays.portable_names else _key_problem(name, arrays)
            if problem is None and name in taken:
                problem = f"is also the name of a {taken[name]}"
            taken[name] = what
            if problem is None and arrays.reserved and name.startswith(arrays.reserved):
                text = f"the name of {what} `{names.join(path, name)}` begins with `{arrays.reserved}`"
                report.warning("reserved-name", text, span, helps=["Zarr v3 keeps such names for itself"])
            if problem is not None:
                helps = ["rename it, or write `cdl`, `notation` or `ast`"]
                report.error(
                    "unsafe-name", f"the name of {what} `{names.join(path, name)}` {problem}", span, helps=helps
                )
        for dimension in group.dimensions:
            if "/" in dimension.name:
                text = f"the name of dimension `{names.join(path, dimension.name)}` holds a slash"
                report.error("unsafe-name", text, dimension.span, helps=["rename it"])


def _check_places(checked: Checked, places: Mapping[tuple[str, str], str], report: Report) -> None:
    """Report names that are too long when they are escaped."""
    if not places:
        return
    from nczarr.arrays.key_segments import LONGEST
    from nczarr.plan.key_paths import long_segments

    for path, part, segment in long_segments(places):
        owner = checked.variables.get(path) or checked.groups[path]
        text = f"the name of `{path}` takes" if not part else f"the part `{part}` of `{path}` takes"
        helps = ["other bytes than letters and digits of ASCII, `-`, `_` and `.` take four characters each; rename it"]
        text = f"{text} {len(segment)} characters in keys; a name of a node has at most {LONGEST}"
        report.error("unsafe-name", text, owner.span, helps=helps)


def _no_segment(name: str) -> str | None:
    """Why a name can be no segment of keys, however it is escaped; None if it can."""
    return "has a character that no key can have" if "/" in name or "\0" in name else None


def _key_problem(name: str, arrays: Arrays) -> str | None:
    """Why a name cannot be one segment of a store's keys; None if it can."""
    problem = _no_segment(name)
    if problem is not None:
        return problem
    if name.startswith("."):
        return "starts with a dot, as the store's own keys do"
    if name in arrays.documents:
        return "is that of a document of the store"
    length = len(name.encode("utf-8", "surrogatepass"))
    return f"has {length} bytes; a key has at most {LONGEST_KEY} between slashes" if length > LONGEST_KEY else None


def _renamed(checked: Checked, renamed: dict[str, str], named: dict[str, tuple[str, ...]]) -> Iterator[Loss]:
    for fqn, what in {**renamed, **_nameless(checked, named)}.items():
        text = f"variable `{fqn}` uses two dimensions of one name in its group: {what}"
        if fqn not in renamed:
            text = f"variable `{fqn}` uses a dimension of the name of a group beside it: {what}"
        yield Loss("renamed-dimension", "value", fqn, text, checked.variables[fqn].span)


def _nameless(checked: Checked, named: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """By FQN, variables along a dimension that reads without a name, because a group beside them has it."""
    found: dict[str, str] = {}
    for path, group in groups(checked.dataset):
        taken = {child.name for child in group.groups}
        taken |= {each.name for each in group.variables if _is_group(each.type, checked)}
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            lost = [name for name in named[fqn] if name in taken]
            if lost and not _is_group(variable.type, checked):
                found[fqn] = f"`{lost[0]}`"
    return found


def _is_group(type_name: str, checked: Checked) -> bool:
    """Whether variables of a type lie as groups of arrays."""
    return type_name != "string" and not is_fixed(type_name, checked.types)


def _unmet(
    path: str, storage: Storage, targets: dict[str, Target], checked: Checked, form: Format, itemsize: int
) -> Iterator[Loss]:
    """Storage that a chunked store cannot follow, or does not tell: at most one loss of filters, one of the rest."""
    span, variable_type = checked.variables[path].span, checked.variables[path].type
    arrays = form.capabilities.arrays
    whole = targets.get("")
    plain = Storage() if whole is None else settled(told(whole.layout), whole.layout.shape, variable_type)
    follows = arrays is None or codecs.expressible(codecs.nearest(storage.codecs, arrays.codecs), arrays.codecs)
    if not form.capabilities.storage and codecs.SHUFFLE in {each.id for each in storage.codecs}:
        follows = follows and codecs.SHUFFLE in {each.id for each in plain.codecs}  # left out where it moves nothing
    if not follows:
        yield Loss("filter", "annotation", path, f"variable `{path}`, filters", span)
    moved = "" in targets and targets[""].layout.chunks == storage.chunks
    if storage.chunks is not None and not fits(storage.chunks, itemsize) and not moved:
        text = f"variable `{path}`, chunks of {math.prod(storage.chunks)} elements"
        yield Loss("storage", "annotation", path, text, span)
    elif not form.capabilities.storage:
        lost = unkept(storage, plain, codecs_too=follows)
        if lost:
            yield Loss("storage", "annotation", path, f"variable `{path}`, {', '.join(lost)}", span)


def _nil(path: str, targets: dict[str, Target], checked: Checked, form: Format) -> Iterator[Loss]:
    count = sum(number for target in targets.values() for _, number in target.nil)
    if count and not form.capabilities.typed_attributes:
        text = f"variable `{path}` has {count} NIL strings, which would become empty texts"
        yield Loss("lost-nil", "value", path, text, checked.variables[path].span)


def _check_shards(
    path: str, wish: Wish, targets: dict[str, Target], checked: Checked, options: Options, report: Report
) -> None:
    """Report shards that were asked for in numbers and cannot be made of the variable's chunks, or of its type."""
    span = checked.variables[path].span
    whole = targets.get("")
    if whole is not None and not can_shard(whole.layout.dtype) and options.shards.get(path, "none") != "none":
        text = f"variable `{path}` has records or opaque values, which are not written in shards"
        report.error("unmatched-shards", text, span, helps=["zarr-python could not read them there"])
        return
    for target in targets.values():
        layout = target.layout
        if isinstance(wish, str) or layout.shape != checked.shapes[path] or not can_shard(layout.dtype):
            continue
        itemsize = int(layout.dtype[2:]) if layout.dtype != "|O" else 16
        wrong = problem(wish, layout.chunks, layout.shape, itemsize)
        if wrong is not None:
            lengths = ", ".join(map(str, layout.chunks))
            helps = [f"its chunk lengths are {lengths}; `--chunks` asks for others"]
            report.error("unmatched-shards", f"variable `{path}`: {wrong}", span, helps=helps)
            return


def _check_fill(path: str, parts: Parts, checked: Checked, report: Report) -> None:
    for source in parts.values():
        if source.repeats and math.prod(source.layout.shape) > LARGEST_FILL:
            text = f"the fill value of `{path}` is a list that stands in {math.prod(checked.shapes[path])} cells"
            report.error("oversized-fill", text, checked.variables[path].span, helps=["use an empty fill value"])
