"""Migration of a store in place: other documents for the chunks that it has.

    store ─ read ─> dataset ─ plan in place ─> documents ─ proof ─ commit ─> store

The new documents are read before anything is written: they must state the same
dataset, with the same keys and codecs for every chunk. No chunk is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nczarr import registry
from nczarr.diagnostics.report import Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.pipeline import endpoints, omissions, phases
from nczarr.pipeline.compare.diff import model
from nczarr.plan.plans import StorePlan
from nczarr.plugins.edit import document_change
from nczarr.plugins.edit.document_change import DocumentChange
from nczarr.plugins.edit.header_changes import find_row
from nczarr.plugins.edit.in_place import plan_in_place
from nczarr.plugins.edit.patches import documents
from nczarr.plugins.edit.patches.documents import DocumentPatch
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store
from nczarr.stores.lock import Lock, NoLock, assure
from nczarr.stores.url import trim

COMMAND = "migrate"


class MigrateRequest(NamedTuple):
    """Request for a migration."""

    target: str
    """Path or URL of the store."""
    form: str
    """Name of the format that it gets."""
    options: Options = Options()
    keeps: bool = False
    """Leave the old documents beside the new ones."""
    rehearsal: bool = False
    """Write nothing."""
    undo_file: str | None = None
    """Name of the undo file; None: a free one beside the store."""


class Migration(NamedTuple):
    """Result of a migration."""

    source: str
    """Format that the store had."""
    form: str
    """Format that it has now."""
    change: DocumentChange
    """Its documents before and after."""


def migrate(request: MigrateRequest, report: Report) -> Migration | None:
    """Give a store the documents of another format; None after an error. Raises OSError.

    Reports unknown-target, unchangeable-store, unmigratable-store, busy-target, and
    what reading and planning report.
    """
    form = registry.find_format(request.form)
    if form is None or not find_row(form.name).documents:
        names = ", ".join(name for name in registry.own_rows() if find_row(name).documents)
        text = f"`{request.form}` is not a format that a store can get in place"
        report.error("unknown-target", text, helps=[f"formats: {names}"])
        return None
    place = endpoints.locate(request.target, report)
    if place is None:
        return None
    options = request.options.change(storage=request.options.run.storage.at("target", place.server))
    request = request._replace(target=trim(place.path), options=options)
    if request.rehearsal:
        return _migrate(request, form, report, NoLock(None))
    with endpoints.lock_place(request.target, report, options.run, replaces=True) as lock:
        return None if lock is None else _migrate(request, form, report, lock)


def _migrate(request: MigrateRequest, form: Format, report: Report, lock: Lock) -> Migration | None:
    """Migrate the store at a path or URL that is locked; as `migrate`."""
    store = document_change.open_store(request.target, report, request.options, rehearsal=request.rehearsal)
    if store is None:
        return None
    source = registry.detect_store(store)
    checked = None if source is None else phases.read(store, report, request.options, source)
    if source is None or not find_row(source.name).documents:
        what = "has no known format" if source is None else f"has the format `{source.name}`"
        report.error("unchangeable-store", f"`{show(request.target)}` {what}, which is not migrated")
    if checked is None or source is None or report.errors:
        return None
    omissions.refuse(checked, request.options.run, report)
    plan = plan_in_place(checked, source, form, request.options, report)
    new = None if plan is None else registry.load(find_row(form.name).documents)(store, plan, source, report)
    if plan is None or new is None:
        return None
    if request.keeps:
        new = {key: data for key, data in new.items() if data is not None}
    patch = documents.patch_of(store, new)
    prove(checked, store, patch, plan, report)
    if report.errors:
        return None
    change = DocumentChange(request.target, patch)
    if request.rehearsal:
        return Migration(source.name, form.name, change)
    if assure(lock, request.target, report):
        change = document_change.commit(change, store, COMMAND, report, request.options, request.undo_file)
    return None if report.errors else Migration(source.name, form.name, change)


def prove(checked: Checked, store: Store, patch: DocumentPatch, plan: StorePlan, report: Report) -> None:
    """Report unmigratable-store if new documents do not state the same dataset and chunks. Raises OSError.

    The header is not compared where the plan has losses, which are reported.
    """
    after = patch.view(store)
    reading = Report()
    options = plan.options.change(masking_fill=False)
    again = phases.read(after, reading, options, registry.detect_store(after))
    reasons = [diagnostic.message for diagnostic in reading.list_sorted() if diagnostic.severity is Severity.ERROR]
    if again is not None and not reasons:
        if not plan.losses and again.dataset != checked.dataset:
            differences = [*model(checked, again, storage=plan.form.capabilities.storage)]
            values = [*model(checked, again)]  # the text of JSON may be another one, as in xarray's encoding of fills
            differences = [found for found in differences if found.kind != "attribute" or found in values]
            reasons = [f"`{found.path}`: {found.message}" for found in differences]
        reasons += _find_unequal(checked, again)
    elif not reasons:
        reasons = ["the new documents cannot be read"]
    if reasons:
        text = f"format `{plan.form.name}` does not hold the dataset with its chunks: {reasons[0]}"
        helps = ["write a new store: `nczarr convert SRC DST`"]
        report.error("unmigratable-store", text, notes=reasons[1:9], helps=helps)


def _find_unequal(one: Checked, other: Checked) -> Iterator[str]:
    """Yield the variables whose arrays do not have the same elements, chunks, keys and codecs in both."""
    for path in sorted(one.parts.keys() | other.parts.keys()):
        first, second = one.parts.get(path, {}), other.parts.get(path, {})
        if first.keys() == second.keys() and all(first[part].reads_as(second[part]) for part in first):
            continue
        types = [side.variables[path].type for side in (one, other) if path in side.variables]
        differs = len(types) < 2 or types[0] != types[1]
        yield f"`{path}`: {'type: ' + ' | '.join(types) if differs else 'its chunks would be read in another way'}"
