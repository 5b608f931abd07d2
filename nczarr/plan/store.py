"""Plans of stores: the layout of each array, its key, and the losses."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from nczarr import names
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import register_chain
from nczarr.arrays.sources.memory import patterns
from nczarr.arrays.sources.source import Parts, fill_of, is_number, itemsize
from nczarr.arrays.values.elements import convert_to_stored
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import Codec, Storage, Variable
from nczarr.ast.dataset import SHUFFLE, groups
from nczarr.ast.plain_json import is_finite
from nczarr.ast.rectilinear import largest, varies, volume
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.names import list_first
from nczarr.options import Options, Writing
from nczarr.plan.chunk_lengths import ShardRequest, can_shard, fits, has_values, problem
from nczarr.plan.keys import check_keys, name_axes
from nczarr.plan.layout import find_usual_length, lay
from nczarr.plan.losses import losses
from nczarr.plan.lossy_filters import report_dropped_from_store
from nczarr.plan.plans import Loss, PartTarget, StorePlan
from nczarr.plan.requested_storage import metadata_storage, storage_of, storage_requests, unkept
from nczarr.registry import Format
from nczarr.semantics.checked import Checked, without


def with_registered_codecs(storage: Mapping[str, Storage], report: Report) -> dict[str, Storage]:
    """Return all storage with codecs of Zarr v3's own. Reports encoded-again for each chain that changes."""
    registered_storage: dict[str, Storage] = {}
    changed: dict[tuple[str, str], list[str]] = {}
    for path, original in storage.items():
        chain = register_chain(original.codecs)
        registered_storage[path] = (
            original if chain == original.codecs else original.model_copy(update={"codecs": chain})
        )
        if chain != original.codecs:
            changed.setdefault((_name(original.codecs), _name(chain)), []).append(path)
    for (before, after), paths in changed.items():
        text = f"chunks of {list_first(paths, 1)} are encoded again: {before} becomes {after}, which all readers have"
        report.add(Diagnostic("encoded-again", Severity.NOTE, text))
    return registered_storage


def report_unregistered_types(targets: Mapping[str, Mapping[str, PartTarget]], report: Report) -> None:
    """Report types that have no registered name: unregistered-name."""
    for letter, name in (("S", "null_terminated_bytes"), ("V", "raw_bytes")):
        paths = [
            path
            for path, part_targets in targets.items()
            if any(
                isinstance(target.layout.dtype, str) and target.layout.dtype[1] == letter
                for target in part_targets.values()
            )
        ]
        if paths:
            report.warning("unregistered-name", f"{list_first(paths, 1)}: data type `{name}` is not registered")


def _name(chain: Sequence[Codec]) -> str:
    return " + ".join(codec.name or str(codec.id) for codec in chain)


LARGEST_FILL = 1 << 27
"""Maximum ragged elements that a fill value may make; see `fill_parts`."""


def plan_store(
    checked: Checked, form: Format, options: Options, report: Report, more: Iterable[Loss] = ()
) -> StorePlan | None:
    """Return the plan of a store; None after an error.

    Expects the losses by the format's own rules in `more`. Ensures a layout for
    each part and a valid key for each name. Reports unsafe-name,
    reserved-name, unreadable-char, unmatched-shards, oversized-fill and invalid
    requests.
    """
    arrays = form.capabilities.arrays
    assert arrays is not None
    before = report.errors
    places: Mapping[tuple[str, str], str] = {}
    if arrays.portable_names:
        from nczarr.plan.keys import place_nodes  # few runs need it

        places = place_nodes(checked)
    check_keys(checked, form.capabilities, places, report)
    requests = storage_requests(checked, form.name, arrays, options.layout, report)
    if report.errors > before:
        return None
    lost = [*losses(checked, form), *more]
    axis_names, renamed = name_axes(checked, plain=not form.capabilities.names)
    if not form.capabilities.names:
        lost += _rename(checked, renamed, axis_names)
    targets: dict[str, dict[str, PartTarget]] = {}
    parts: dict[str, Parts] = {}
    widths = {
        path: size(variable.type, checked.types) if is_fixed(variable.type, checked.types) else 8
        for path, variable in checked.variables.items()
    }
    storage = {
        path: storage_of(path, variable, checked.shapes[path], requests, widths[path])
        for path, variable in checked.variables.items()
    }
    by_registry = arrays.registry and options.target.zarr_names == "registered"
    if by_registry:
        storage = with_registered_codecs(storage, report)
    for path, variable in checked.variables.items():
        shards = requests.shards_of(path, variable)
        targets[path], parts[path] = lay(path, variable, checked, arrays, options, storage[path], shards)
        named = options.layout.shards.get(path, "none") != "none"
        _check_shards(path, shards, targets[path], checked, report, named=named)
        lost += _unmet(path, storage[path], targets[path], checked, form, widths[path])
        if not options.layout.shards:
            lost += _list_lost_shards(path, targets[path], checked, "which `--shards` makes" * arrays.shards)
        lost += _nil(path, targets[path], checked, form)
        _check_fill(path, parts[path], checked, report)
        if not (arrays.fill_needed or arrays.by_reference):
            _check_masking(path, variable, targets[path], checked, report)
    report_dropped_from_store(checked, storage, targets, report)
    if by_registry:
        report_unregistered_types(targets, report)
    unreferred = list(_find_unreferred(targets, checked, options.target.writing))
    lost += unreferred
    chars = any(variable.type == "char" for variable in checked.variables.values())
    if options.target.char_netcdf and arrays.netcdf_char and chars:
        text = "char arrays are written as `>S1`, which only the netCDF library reads"
        report.warning("unreadable-char", text, helps=["omit `--char netcdf` for other readers"])
    if arrays.fixed_strings:
        _report_usual_lengths(targets, parts, checked, report)
    if unreferred:  # a run that accepts this leaves these variables out
        rest = plan_store(without(checked, frozenset(loss.path for loss in unreferred)), form, options, Report())
        return None if rest is None else rest._replace(losses=tuple(lost))
    return StorePlan(checked, form, options, tuple(lost), storage, targets, parts, axis_names, places)


def _report_usual_lengths(
    targets: dict[str, dict[str, PartTarget]], parts: dict[str, Parts], checked: Checked, report: Report
) -> None:
    """Note the length of texts in arrays without values, which other programs will fill."""
    usual = find_usual_length(checked)
    assumed = [
        path
        for path, variable in checked.variables.items()
        if variable.type == "string"
        and targets[path][""].layout.dtype == f"|S{usual}"
        and not any(attribute.name == "_nczarr_maxstrlen" for attribute in variable.attributes)
        and not has_values(parts[path].get(""))
    ]
    if assumed:
        text = f"texts of {list_first(assumed, 5)} have no values yet: they get {usual} bytes each"
        helps = ("state another length by `_nczarr_maxstrlen`", "or write `zarr3`, whose texts have any length")
        report.add(Diagnostic("usual-length", Severity.NOTE, text, helps=helps))


def _find_unreferred(targets: dict[str, dict[str, PartTarget]], checked: Checked, writing: Writing) -> Iterator[Loss]:
    """Yield variables that cannot be referenced and are too large to be embedded in the target."""
    for path, part_targets in targets.items():
        apart = [target.apart for target in part_targets.values() if target.apart is not None]
        size = sum(size_of_part for size_of_part, _ in apart)
        if size > writing.embed:
            text = f"references cannot express `{path}`: {apart[0][1]}; the document would have to contain {size} bytes"
            yield Loss("unreferable-variable", "value", path, text, checked.variables[path].span)


def _rename(checked: Checked, renamed: dict[str, str], named: dict[str, tuple[str, ...]]) -> Iterator[Loss]:
    for fqn, what in {**renamed, **_nameless(checked, named)}.items():
        text = f"variable `{fqn}` uses two dimensions of the same name in its group: {what}"
        if fqn not in renamed:
            text = f"variable `{fqn}` uses a dimension with the name of a sibling group: {what}"
        yield Loss("renamed-dimension", "value", fqn, text, checked.variables[fqn].span)


def _nameless(checked: Checked, named: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return, by FQN, variables along a dimension that loses its name because a sibling group has it."""
    reasons: dict[str, str] = {}
    for path, group in groups(checked.dataset):
        taken = {child.name for child in group.groups}
        taken |= {child.name for child in group.variables if _is_group(child.type, checked)}
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            axes = itertools.zip_longest(named[fqn], variable.axes)  # the name of an axis alone is kept
            lost = [name for name, own in axes if name in taken and own is None]
            if lost and not _is_group(variable.type, checked):
                reasons[fqn] = f"`{lost[0]}`"
    return reasons


def _is_group(type_name: str, checked: Checked) -> bool:
    """Return whether such variables are stored as groups."""
    return type_name != "string" and not is_fixed(type_name, checked.types)


def _unmet(
    path: str, storage: Storage, targets: dict[str, PartTarget], checked: Checked, form: Format, itemsize: int
) -> Iterator[Loss]:
    """Yield unmet storage requests: at most one loss of filters, and one of the rest."""
    span, variable_type = checked.variables[path].span, checked.variables[path].type
    arrays = form.capabilities.arrays
    whole = targets.get("")
    plain = Storage()
    if whole is not None:
        described = metadata_storage(whole.layout, texts=arrays is not None and arrays.numpy_types, utf8=whole.utf8)
        plain = described.normalize(whole.layout.shape, variable_type)
    supported = table.nameable("none" if arrays is None else arrays.codecs)
    follows = arrays is None or codecs.expressible(codecs.nearest(storage.codecs, supported), supported)
    if not form.capabilities.storage and SHUFFLE in {codec.id for codec in storage.codecs}:
        follows = follows and SHUFFLE in {codec.id for codec in plain.codecs}  # left out where it moves nothing
    if not follows:
        yield Loss("filter", "annotation", path, f"variable `{path}`, filters", span)
    source_chunks = checked.variables[path].storage.chunks
    if source_chunks is not None and varies(source_chunks) and storage.chunks == largest(source_chunks):
        text = f"variable `{path}`, the different lengths of its chunks"
        yield Loss("storage", "annotation", path, text, span)
    moved = "" in targets and targets[""].layout.chunks == storage.chunks
    if storage.chunks is not None and not fits(storage.chunks, itemsize) and not moved:
        text = f"variable `{path}`, chunks of {volume(storage.chunks)} elements"
        yield Loss("storage", "annotation", path, text, span)
    elif not form.capabilities.storage:
        lost = unkept(storage, plain, codecs_too=follows)
        if lost:
            yield Loss("storage", "annotation", path, f"variable `{path}`, {', '.join(lost)}", span)


def _list_lost_shards(path: str, targets: dict[str, PartTarget], checked: Checked, way: str) -> Iterator[Loss]:
    """Yield the loss of shards of the source, which targets get on request alone."""
    for part, source in checked.parts.get(path, {}).items():
        shards = source.layout.shards
        if shards is not None and part in targets and targets[part].layout.shards is None:
            what = f"variable `{path}`, its shards of {' × '.join(map(str, shards))}"
            yield Loss("storage", "annotation", path, f"{what}, {way}" if way else what, checked.variables[path].span)
            return


def _nil(path: str, targets: dict[str, PartTarget], checked: Checked, form: Format) -> Iterator[Loss]:
    count = sum(number for target in targets.values() for _, number in target.nil)
    if count and not form.capabilities.typed_attributes:
        text = f"variable `{path}` has {count} NIL strings, which would become empty strings"
        yield Loss("lost-nil", "value", path, text, checked.variables[path].span)


def _check_shards(
    path: str, request: ShardRequest, targets: dict[str, PartTarget], checked: Checked, report: Report, *, named: bool
) -> None:
    """Report requested shard lengths that do not fit the chunks or type of the variable, which a request may name."""
    span = checked.variables[path].span
    whole = targets.get("")
    if whole is not None and not can_shard(whole.layout.dtype) and named:
        text = f"variable `{path}` has records or opaque values, which are not written in shards"
        report.error("unmatched-shards", text, span, helps=["zarr-python cannot read them in shards"])
        return
    for target in targets.values():
        layout = target.layout
        if isinstance(request, str) or layout.shape != checked.shapes[path] or not can_shard(layout.dtype):
            continue
        wrong = problem(request, layout.chunks, layout.shape, itemsize(layout.dtype) or 16)
        if wrong is not None:
            lengths = ", ".join(map(str, layout.chunks))
            helps = [f"its chunk lengths are {lengths}; `--chunks` requests others"]
            report.error("unmatched-shards", f"variable `{path}`: {wrong}", span, helps=helps)
            return


def _check_masking(
    path: str, variable: Variable, targets: dict[str, PartTarget], checked: Checked, report: Report
) -> None:
    """Report that xarray masks the fill value of unwritten cells, which the variable does not call `_FillValue`."""
    whole, source = targets.get(""), checked.parts.get(path, {}).get("")
    if whole is None or source is None or whole.layout.fill is None or not is_number(whole.layout.dtype):
        return
    stated = [attribute.value for attribute in variable.attributes if attribute.name == "_FillValue"]
    masked = [convert_to_stored(cast("bytes", fill.data), whole.layout.dtype) for fill in stated if is_finite(fill)]
    if len(stated) > len(masked) or whole.layout.fill in masked:
        return
    own = dict(patterns(checked.fills[path], variable.type, checked.types))[""][0]
    is_empty = next(iter(source.list_occupied(whole.layout.chunks)), None) is None
    if is_empty and (fill_of(source) or own) == own:  # all cells are missing
        return
    need = "but its unwritten cells need a fill value"
    lacks = (
        "has a fill value for unwritten cells that is not its `_FillValue`"
        if stated
        else f"has no `_FillValue`, {need}"
    )
    text = f"`{path}` {lacks}, which xarray masks in all cells"
    helps = ["give it a `_FillValue`, or open the store with `mask_and_scale=False`"]
    report.warning("masking-fill", text, variable.span, helps=helps)


def _check_fill(path: str, parts: Parts, checked: Checked, report: Report) -> None:
    for source in parts.values():
        if source.repeats and math.prod(source.layout.shape) > LARGEST_FILL:
            text = f"the fill value of `{path}` is a list that is repeated in {math.prod(checked.shapes[path])} cells"
            report.error("oversized-fill", text, checked.variables[path].span, helps=["use an empty fill value"])
