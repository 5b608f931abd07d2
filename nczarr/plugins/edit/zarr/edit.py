"""Edit of the header of a store: documents that change, folders that get other names, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import names, registry
from nczarr.arrays.sources.memory import is_complete
from nczarr.arrays.sources.source import is_number
from nczarr.arrays.values.elements import convert_to_stored, is_element
from nczarr.ast import Constant, Variable
from nczarr.ast.plain_json import write_json
from nczarr.diagnostics.report import Report, Source
from nczarr.diagnostics.secrets import show, word
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.v3 import DOCUMENT
from nczarr.plan.losses import losses
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.plan.requested_storage import find_fill
from nczarr.plugins.edit.header_changes import HeaderEdit, NodeAddition, NodeRemoval, NodeRename, PreparedEdit, find_row
from nczarr.plugins.edit.in_place import plan_in_place
from nczarr.plugins.edit.patches.document_commit import find_repository, prepare_patch
from nczarr.plugins.edit.patches.documents import DocumentPatch, is_consolidated, list_outer_groups, reverse_moves
from nczarr.plugins.edit.patches.file_patch import PreparedFilePatch
from nczarr.plugins.edit.zarr.json_difference import apply_difference
from nczarr.plugins.edit.zarr.migrate import CONSOLIDATED, emit, encode
from nczarr.semantics import check
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store, is_metadata
from nczarr.stores.folder_moves import move_key
from nczarr.stores.url import is_remote, trim
from nczarr.syntax.json.tolerant import parse

CODE = "uneditable-target"
"""Code of what is not edited in a store."""


def edit(work: HeaderEdit, report: Report) -> PreparedEdit | None:
    """Return the prepared edit of a store; None after a reported error. Raises OSError.

    Reports uneditable-target, data-edit, and losses of the format.
    """
    assert not isinstance(work.source, Source)
    before = report.errors
    editor = StoreEditor(work, work.source, report)
    patch = None if report.errors > before else editor.prepare()
    if patch is None or report.errors > before:
        return None
    removals = (change for change in work.changes if isinstance(change, NodeRemoval))
    removed = [change.path for change in removals if change.kind in ("variable", "group")]
    if editor.store.refers and editor.repository is None:
        return _prepare_text(work, patch, [_key(path) for path in removed], report)
    arrays = work.form.capabilities.arrays
    assert arrays is not None
    notes = tuple(f"  chunks below {arrays.chunk_keys.prefix}{_key(path)}/ stay" for path in removed)
    return prepare_patch(work.target, editor.store, patch, work.options, notes=notes)


def _prepare_text(
    work: HeaderEdit, patch: DocumentPatch, removed: list[str], report: Report
) -> PreparedFilePatch | None:
    """Return the edit of the text that holds the references. Reports uneditable-target. Raises OSError."""
    form = registry.find_format(registry.REFERENCE)
    assert form is not None
    path = trim(work.target)
    try:
        return PreparedFilePatch(path, registry.load(find_row(form.name).text)(path, patch, removed))
    except ValueError as error:
        helps = [f"write a new document: `nczarr convert {word(work.target)} NEW`, and edit that"]
        report.error(CODE, f"`{show(work.target)}`: {error}", helps=helps)
    return None


HARMLESS = frozenset(
    {"storage", "filter", "definition-order", "kind", "dataset-name", "version", "default-fill", "compound-layout"}
)
"""Losses that leave the header as it reads."""


class StoreEditor:
    """Edit of one store."""

    def __init__(self, work: HeaderEdit, store: Store, report: Report) -> None:
        self.work = work
        self.store = store
        self.report = report
        self.repository = find_repository(work.target)
        self._refuse_places()
        renames = [change for change in work.changes if isinstance(change, NodeRename)]
        self.moves = [
            (_key(change.path), _key(names.join(names.parent(change.path), names.last(change.new_path))))
            for change in sorted(renames, key=lambda change: -change.path.count("/"))
            if change.kind in ("variable", "group")
        ]
        self._refuse_moves()
        self._refuse_removals()

    def _refuse(self, text: str, remedy: str = "") -> None:
        helps = [remedy or f"write a new dataset: `nczarr convert {word(self.work.target)} NEW`, and edit that"]
        self.report.error(CODE, f"`{show(self.work.target)}`: {text}", helps=helps)

    def _refuse_places(self) -> None:
        """Report places whose documents cannot be replaced."""
        for outer in list_outer_groups(self.work.target):
            if is_consolidated(outer):
                self._refuse(f"it is a group of `{outer}`, whose consolidated metadata would be stale: edit that")
                return
        if self.store.archive and is_remote(self.work.target):
            self._refuse("an archive behind a URL is not changed in place")
        elif self.repository is not None and self.repository.kind != "branch":
            self._refuse(f"an edit is a commit on a branch, and this is a {self.repository.kind}")
        elif self.repository is None and self.store.refers and not os.path.isfile(trim(self.work.target)):
            self._refuse("references in a folder of tables, or behind a URL, are not edited in place")

    def _refuse_moves(self) -> None:
        """Report new names that need chunks copied, or that are taken."""
        is_text = self.repository is None and self.store.refers
        moves_chunks = self.repository is not None or self.store.archive or is_remote(self.work.target)
        if self.moves and moves_chunks and not is_text:
            what = "archive" if self.store.archive else "bucket" if self.repository is None else "repository"
            self._refuse(f"a new name is a new key of each chunk, and the {what} does not move them at once")
        arrays = self.work.form.capabilities.arrays
        if self.moves and arrays is not None and arrays.portable_names:
            self._refuse("a new name is a new key of the document and of each chunk, at several places of the store")
        for _, new in self.moves if not self.report.errors else ():
            if self.store.children(f"{new}/") and new not in [old for old, _ in self.moves]:
                self._refuse(f"the new name `{names.last('/' + new)}` is the name of a folder with other keys")
        for path in self.work.renamed["variable"] if self.moves else ():
            if "" not in self.work.before.parts.get(path, {"": None}) and self._has_sidecar(path):
                self._refuse(f"documents for readers of Awkward arrays name the keys of `{path}`")
        if {old for old, _ in self.moves} & {new for _, new in self.moves}:
            remedy = "rename that node first, in an edit of its own; two nodes change names by way of a third name"
            self._refuse("a new name is the old name of another node", remedy)

    def _has_sidecar(self, path: str) -> bool:
        """Return whether a ragged variable has documents that name its keys."""
        from nczarr.formats.common.awkward.sidecar import FOLDER  # few datasets have lists

        return FOLDER.rstrip("/") in self.store.children(f"{_key(path)}/")

    def prepare(self) -> DocumentPatch | None:
        """Return the patch; None after an error. Raises OSError."""
        work, form = self.work, self.work.form
        old_plan = plan_in_place(work.before, form, form, work.options, Report())
        new_plan = plan_in_place(work.after, form, form, work.options, self.report)
        if old_plan is None or new_plan is None:
            return None
        new_plan = self._with_fills(new_plan)
        self._refuse_additions(new_plan)
        self._refuse_losses()
        if self.report.errors:
            return None
        plans = [(old_plan, new_plan), *self._plan_older_documents()]
        if self.report.errors:
            return None
        before = {move_key(key, self.moves): document for old, _ in plans for key, document in emit(old, Report())}
        after = {key: document for _, new in plans for key, document in emit(new, Report())}
        changes = self._list_changes(before, after)
        self._consolidate(changes, before.keys() - after.keys())
        patch = DocumentPatch(
            {key: data for key, (data, _) in changes.items()},
            {key: data for key, (_, data) in changes.items()},
            tuple(self.moves),
        )
        self._prove(patch)
        return patch

    def _plan_older_documents(self) -> Iterator[tuple[StorePlan, StorePlan]]:
        """Yield the plans of the documents of Zarr v2 that `migrate --keep` left beside those of Zarr v3."""
        work, root = self.work, self.store.get(".zattrs")
        if self.store.get(DOCUMENT) is None or (
            self.store.get(".zgroup") is None and self.store.get(".zarray") is None
        ):
            return
        form = registry.find_format("zarr2" if root is None or b'"_nczarr_superblock"' not in root else "nczarr")
        assert form is not None
        told = Report()
        plans = [plan_in_place(checked, form, form, work.options, told) for checked in (work.before, work.after)]
        old, new = plans
        if old is None or new is None:
            why = next((one.message for one in told.list_sorted()), "")
            remedy = f"`nczarr migrate {word(work.target)} --to {work.form.name}` removes them"
            self._refuse(f"its documents of Zarr v2 cannot follow: {why}", remedy)
        else:
            yield old, self._with_fills(new)

    # ---- documents -------------------------------------------------------------------------------------------------
    def _get(self, key: str) -> bytes | None:
        """Return a document as it is now, by its key after the edit. Raises OSError."""
        return self.store.get(move_key(key, reverse_moves(self.moves)))

    def _list_changes(
        self, before: Mapping[str, Json], after: Mapping[str, Json]
    ) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return the documents that change, as they are and as they will be."""
        different = [key for key, document in after.items() if not _is_same(before.get(key), document)]
        removed = [key for key in before if key not in after]
        self.store.expect(move_key(key, reverse_moves(self.moves)) for key in (*different, *removed))
        changes: dict[str, tuple[bytes | None, bytes | None]] = {}
        for key in different:
            stored_bytes = self._get(key)
            document = after[key]
            if key in before:
                document = apply_difference({} if stored_bytes is None else _parse(stored_bytes), before[key], document)
            changes[key] = stored_bytes, encode(document)
        for key in removed:
            stored_bytes = self._get(key)
            if stored_bytes is not None:
                changes[key] = stored_bytes, None
        return changes

    def _consolidate(
        self, changes: dict[str, tuple[bytes | None, bytes | None]], gone: frozenset[str] | set[str]
    ) -> None:
        """Change the documents in the consolidated metadata of all groups above them."""
        changed = {key: data for key, (_, data) in changes.items()}
        touched = {*changed, *gone, *(f"{new}/{DOCUMENT}" for _, new in self.moves)}
        groups = {"/".join((*key.split("/")[:depth], "")) for key in touched for depth in range(key.count("/") + 1)}
        for group in sorted(groups, key=lambda prefix: -prefix.count("/")):
            prefix = group.lstrip("/")
            for key in (prefix + CONSOLIDATED, prefix + DOCUMENT):
                data = changed.get(key) if key in changed else self._get(key)
                document: Any = None if data is None else _parse(data)
                members = _find_members(document)
                if data is None or members is None:
                    continue
                new = dict(self._change_members(members, changed, prefix, key.endswith(DOCUMENT)))
                if list(new.items()) != list(members.items()):
                    if key.endswith(CONSOLIDATED):
                        document = {**document, "metadata": new}
                    else:
                        content = {**document["consolidated_metadata"], "metadata": new}
                        document = {**document, "consolidated_metadata": content}
                    changes[key] = self._get(key), encode(document)

    def _change_members(
        self, members: Json, changed: Mapping[str, bytes | None], prefix: str, is_new: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield consolidated documents by name afterwards. `is_new`: names are those of nodes, as in Zarr v3."""
        end = f"/{DOCUMENT}" if is_new else ""
        old_prefix = move_key(prefix, reverse_moves(self.moves))
        present = set()
        for name, document in members.items():
            key = move_key(f"{old_prefix}{name}{end}", self.moves)
            present.add(key)
            if key not in changed:
                yield key.removeprefix(prefix).removesuffix(end), document
            elif (data := changed[key]) is not None:
                yield key.removeprefix(prefix).removesuffix(end), _parse(data)
        for key, data in changed.items():
            belongs = key.startswith(prefix) and is_metadata(key) and key not in present and data is not None
            own = key.removeprefix(prefix)
            if belongs and own not in (CONSOLIDATED, DOCUMENT) and key.endswith(DOCUMENT) is is_new:
                assert data is not None
                yield own.removesuffix(end), _parse(data)

    # ---- what changes beside attributes and names ------------------------------------------------------------------
    def _refuse_removals(self) -> None:
        """Report removed nodes of a repository, whose chunks go with them: no undo file would restore them."""
        for change in self.work.changes if self.repository is not None else ():
            if isinstance(change, NodeRemoval) and change.kind in ("variable", "group"):
                self._refuse(f"a repository removes the chunks of {change.kind} `{change.path}` with its document")

    def _refuse_additions(self, plan: StorePlan) -> None:
        """Report new nodes with the names of folders that have other keys, and arrays that need chunks."""
        for change in self.work.changes:
            if not isinstance(change, NodeAddition) or change.kind not in ("variable", "group"):
                continue
            parts = plan.targets.get(change.path, {})
            places = {_key(change.path) + "/", *(plan.chunk_keys(change.path, part).prefix for part in parts)}
            if any(map(self.store.children, places)):
                self._refuse(f"the name of `{change.path}` is the name of a folder with other keys")
            if not all(target.sparse for target in parts.values()):
                self._refuse(f"the new variable `{change.path}` needs chunks that say that it is empty")

    def _refuse_losses(self) -> None:
        """Report what the format cannot hold of the new header, and did not have to hold before."""
        form = self.work.form
        renamed = {old: new for names_of_kind in self.work.renamed.values() for old, new in names_of_kind.items()}
        old = {(loss.kind, renamed.get(loss.path, loss.path)) for loss in losses(self.work.before, form)}
        for loss in losses(self.work.after, form):
            if loss.kind in HARMLESS or (loss.kind, loss.path) in old:
                continue
            remedy = "`nczarr migrate` gives the store a format that holds it"
            if loss.kind == "unused-dimension":
                remedy = f"remove it as well: `--delete dim:{loss.path}`"
            self._refuse(f"format `{form.name}` does not hold it: {loss.message}", remedy)

    def _with_fills(self, plan: StorePlan) -> StorePlan:
        """Return the plan with the fill values of arrays whose `_FillValue` changes. Reports data-edit."""
        arrays = plan.form.capabilities.arrays
        assert arrays is not None
        old_paths = {new: old for old, new in self.work.renamed["variable"].items()}
        targets = dict(plan.targets)
        for path, variable in plan.checked.variables.items():
            old = self.work.before.variables.get(old_paths.get(path, path))
            target = targets[path].get("")
            if old is None or target is None:
                continue
            values = find_fill(old), find_fill(variable)
            if values[0] == values[1] or variable.type == "string":
                continue
            changed = self._change_fill(path, variable, target, values[1], fill_needed=arrays.fill_needed)
            targets[path] = {**targets[path], "": changed}
        return plan._replace(targets=targets)

    def _change_fill(
        self, path: str, variable: Variable, target: PartTarget, value: Constant | None, *, fill_needed: bool
    ) -> PartTarget:
        """Return the target of an array with another fill value. Reports data-edit if missing chunks would change."""
        source = self.work.after.parts.get(path, {}).get("")
        dtype = target.layout.dtype
        if not is_number(dtype):
            return target
        data = None if value is None or not isinstance(value.data, bytes) else value.data
        if source is not None and not is_complete(source):
            text = f"`_FillValue` of `{path}`: missing chunks would read as another value"
            helps = [f"`nczarr convert {word(self.work.target)} NEW` writes a new dataset"]
            self.report.error("data-edit", text, variable.span, helps=helps)
        fill: bytes | None = None
        if data is not None and is_element(data, dtype):
            fill = convert_to_stored(data, dtype)
        elif fill_needed:
            fill = bytes(len(target.layout.fill or b""))
        return target._replace(layout=target.layout._replace(fill=fill))

    # ---- proof -----------------------------------------------------------------------------------------------------
    def _prove(self, patch: DocumentPatch) -> None:
        """Report uneditable-target if the store would not read as the header afterwards. Raises OSError."""
        work, reading = self.work, Report()
        assert work.form.read is not None
        unchecked = registry.load(work.form.read)(patch.view(self.store), reading, work.options)
        again = None if unchecked is None else check(unchecked, reading)
        if again is None or reading.errors:
            found = next((diagnostic.message for diagnostic in reading.list_sorted()), "")
            self._refuse(f"the documents would not be readable: {found}")
            return
        expected, found_nodes = dict(_list_nodes(work.after)), dict(_list_nodes(again))
        for name in expected.keys() | found_nodes.keys():
            if expected.get(name) != found_nodes.get(name):
                self._refuse(f"format `{work.form.name}` does not hold the new {name[0]} `{name[1]}` as it is stated")
                return


def _list_nodes(checked: Checked) -> Iterator[tuple[tuple[str, str], object]]:
    """Yield the nodes of a header by kind and path, with everything that the format must hold of them."""
    for path, group in checked.groups.items():
        yield ("group", path), {attribute.name: (attribute.value, attribute.json) for attribute in group.attributes}
    for path, dimension in checked.dimensions.items():
        yield ("dimension", path), (dimension.size, dimension.unlimited)
    for path, variable in checked.variables.items():
        attributes = {attribute.name: (attribute.value, attribute.json) for attribute in variable.attributes}
        yield ("variable", path), (variable.type, variable.dimensions, attributes)


def _key(path: str) -> str:
    """Return the key prefix of a node without its final slash."""
    return "/".join(names.split(path))


def _parse(data: bytes) -> Any:
    """Return a document as it is read. It may be shared, and must not be modified."""
    return parse(data).value


def _is_same(one: Json | None, other: Json) -> bool:
    """Return whether two documents are equal, with their members in the same order."""
    return one is not None and write_json(one) == write_json(other)


def _find_members(document: Any) -> Json | None:
    """Return the consolidated documents in a document by name; None without any."""
    if not isinstance(document, dict):
        return None
    content = document.get("consolidated_metadata", document if "zarr_consolidated_format" in document else None)
    members = content.get("metadata") if isinstance(content, dict) else None
    return members if isinstance(members, dict) else None
