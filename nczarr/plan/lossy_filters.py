"""Lossy filters of sources: values that are decoded once are never encoded by them again."""

from collections.abc import Collection, Mapping

from nczarr import names
from nczarr.arrays.codecs import table
from nczarr.arrays.sources.source import Layout, Parts, big_descr
from nczarr.arrays.sources.windows import matches
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import Codec, Storage
from nczarr.diagnostics.report import Report
from nczarr.plan.plans import PartTarget
from nczarr.semantics.checked import Checked

NAMED = 4
"""Maximum variables in a message."""


def drop_from_file(checked: Checked, storage: Mapping[str, Storage], report: Report) -> dict[str, Storage]:
    """Return the storage without lossy filters of chunks that are encoded anew. Reports dropped-filter.

    Values of a text or a caller are encoded as they ask: that is the first time. A quantization that a
    source asks for is applied, and announced.
    """
    kept, dropped, rounded = dict(storage), dict[str, frozenset[str]](), []
    for path, request in storage.items():
        parts = checked.parts.get(path, {})
        if not parts or all(source.given for source in parts.values()):
            continue
        if request.quantize is not None:
            rounded.append(path)
        if not _is_copied(path, checked, request):
            lossy = _list_lossy(request.codecs, parts)
            if lossy:
                dropped[path] = lossy
                codecs = tuple(codec for codec in request.codecs if not table.is_lossy_filter(codec))
                kept[path] = request.model_copy(update={"codecs": codecs})
    if dropped:
        report_dropped(dropped, report)
    if rounded:
        text = f"values of {names.list_first(rounded, NAMED)} are rounded: the source asks for quantization"
        report.warning("lossy-filter", text)
    return kept


def _is_copied(path: str, checked: Checked, request: Storage) -> bool:
    """Return whether the chunks of a variable are copied to a netCDF file."""
    source, variable = checked.parts[path].get(""), checked.variables[path]
    if source is None or request.chunks is None or not is_fixed(variable.type, checked.types):
        return False
    dtype = descr(variable.type, checked.types)
    dtype = big_descr(dtype) if request.endian == "big" else dtype
    return matches(source.stored, Layout(dtype, checked.shapes[path], request.chunks, request.codecs))


def report_dropped_from_store(
    checked: Checked, storage: Mapping[str, Storage], targets: Mapping[str, Mapping[str, PartTarget]], report: Report
) -> None:
    """Report lossy filters of chunks that a store gets without them: dropped-filter."""
    dropped: dict[str, frozenset[str]] = {}
    for path, part_targets in targets.items():
        parts = {
            part: source
            for part, source in checked.parts.get(path, {}).items()
            if not source.given and part in part_targets and not matches(source.stored, part_targets[part].layout)
        }
        lossy = _list_lossy(storage[path].codecs, parts) if parts else frozenset[str]()
        if lossy:
            dropped[path] = lossy
    if dropped:
        report_dropped(dropped, report)


def _list_lossy(codecs: Collection[Codec], parts: Parts) -> frozenset[str]:
    filters = (table.filter_name(codec.id) for codec in codecs if table.is_lossy_filter(codec))
    return frozenset(filters).union(*(source.lossy for source in parts.values()))


def report_dropped(dropped: Mapping[str, frozenset[str]], report: Report) -> None:
    """Report the lossy filters that variables lose, by variable."""
    filters = ", ".join(sorted(frozenset().union(*dropped.values())))
    text = f"chunks of {names.list_first(list(dropped), NAMED)} are encoded anew without the lossy filter {filters}"
    helps = ["a second application would change the values again; chunks that are copied keep the filter"]
    report.warning("dropped-filter", text, helps=helps)
