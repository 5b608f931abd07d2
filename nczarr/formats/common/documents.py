"""Documents of a store by key: parsed once and tolerantly, with faults reported at their keys.

Consolidated metadata supply documents missing in the store. Unreadable content
is a value loss, an error unless the run allows it; the rest of the dataset
remains.
"""

import functools
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from nczarr import names
from nczarr.arrays.chunks.key_segments import is_own
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Report, Severity, Source, Span
from nczarr.formats.common.consolidated import match_documents
from nczarr.names import name_problem
from nczarr.options import RunOptions
from nczarr.semantics.check_names import make_unique, namesakes
from nczarr.semantics.checked import Namesake
from nczarr.stores.base import Store, UnsafeKeyError, is_metadata, is_safe
from nczarr.syntax.json.tolerant import NotJsonError, Parsed, parse

Json = dict[str, Any]

_UNREAD: Any = object()
"""Stands for a document that was not read yet."""


class DocumentCache:
    """Reader and reporter."""

    hides_attributes = True
    """True if a store reserves some attribute names."""

    def __init__(self, store: Store, report: Report, run: RunOptions) -> None:
        self.store = store
        self.consolidated: dict[str, Any] = {}
        """Documents in the consolidated metadata by key."""
        self._is_consolidated = False
        self._are_repeated = False
        """True if they are the documents as they stand: then `consolidated` has their keys alone."""
        self._compared_key = ""
        """Document of consolidated metadata that are only compared with the documents."""
        self._compared_text: bytes | None = None
        """Its bytes, until `fill_gaps` compares them."""
        self._texts: dict[str, bytes] = {}
        """Bytes of documents that were compared and are not yet decoded."""
        self.extra: dict[str, Any] = {}
        """Those that stand for documents missing in the store."""
        self.missing: list[str] = []
        """Keys of consolidated documents that the store lacks."""
        self._report = report
        self._run = run
        self._known: dict[str, Json | None] = {}
        self._present: set[str] = set()
        self._listed: dict[str, tuple[list[str], list[str]]] = {}
        self._spans: dict[str, Span] = {}
        self.namesakes: list[Namesake] = []
        """Things that got another name, because theirs was taken."""
        self.findings = 0
        """Number of findings so far."""

    def get(self, key: str) -> Json | None:
        """Return the object of a key; None if it is missing, or (reported) not a JSON object. Raises OSError."""
        document: Json | None = self._known.get(key, _UNREAD)
        if document is _UNREAD:
            document = self._known[key] = self._read(key)
        return document

    def _read(self, key: str) -> Json | None:
        """Parse the document of a key, and report its faults; None if it is missing or no JSON object."""
        data = self._get_text(key)
        if data is None:
            document = self.extra.get(key)
            return document if isinstance(document, dict) else None
        self._present.add(key)
        parsed = self.parse(key, data)
        if parsed is None:
            return None
        if type(parsed.value) is dict and not (parsed.remarks or parsed.repeated):
            return parsed.value
        for remark in parsed.remarks:
            self.warn("untidy-metadata", f"the document {remark}", key)
        for name in parsed.repeated:
            text = f"member `{name}` occurs twice in one object: only the last one is read"
            self.report_lost("duplicate-name", text, key)
        if not isinstance(parsed.value, dict):
            self.report_lost("bad-metadata", "the document is not a JSON object", key)
            return None
        return parsed.value

    def parse(self, key: str, data: bytes) -> Parsed | None:
        """Return the JSON value of a document; None (reported) if it is invalid."""
        try:
            return parse(data)
        except NotJsonError as fault:
            self.report_lost("bad-metadata", f"the document is not JSON: {fault}", key)
            return None

    def has(self, key: str) -> bool:
        """Return whether such a document exists, readable or not."""
        self.get(key)
        return key in self._present or key in self.extra

    def expect(self, prefixes: Iterable[str], documents: Iterable[str]) -> None:
        """Announce reads of documents below prefixes: distant stores fetch many at once. Raises OSError."""
        keys = (prefix + document for prefix in prefixes for document in documents)
        self.store.expect(key for key in keys if key not in self._known and is_safe(key))

    def consolidate_document(self, key: str, *, whole: bool) -> None:
        """Take the consolidated metadata in a document, as `consolidate`. Raises OSError.

        Those that are only compared are decoded by `fill_gaps`, unless they are the documents as they stand.
        """
        self._compared_text = self._get_text(key) if whole and self.store.listed else None
        if self._compared_text is None:
            self.consolidate((self.get(key) or {}).get("metadata"), whole=whole)
        else:
            self._compared_key = key

    def _compare_text(self, text: bytes) -> bool:
        """Return whether consolidated metadata are the documents as they stand. Else take them, decoded quickly."""
        if self.store.distant:
            listed = None
        else:
            with suppress(PermissionError):  # which the reader finds, if it must list
                self._entries("")  # a folder knows then which of its folders are links
            listed = match_documents(text, self._prepare_text)
        self._compared_text = None
        if listed is not None:
            self.consolidate(dict.fromkeys(listed), whole=True)
            self._are_repeated = True
            return True
        document = _decode_quickly(text)
        if document is None:  # `get` reads what is nearly JSON, or says what is wrong
            document, self._compared_key = self.get(self._compared_key) or {}, ""
        self.consolidate(document.get("metadata"), whole=True)
        return False

    def _get_text(self, key: str) -> bytes | None:
        """Return the bytes of a document; None without one, or (reported) for a damaged one. Raises OSError."""
        text = self._texts.pop(key, None)
        try:
            return self.store.get(key) if text is None else text
        except UnsafeKeyError:
            return None
        except CompileError as error:
            if error.diagnostics[0].code != "bad-metadata":
                raise
            self.report_lost("bad-metadata", error.diagnostics[0].message, key)
            return None

    def _prepare_text(self, key: str) -> bytes | None:
        """Return the bytes of a document, and keep them until it is decoded. Raises OSError."""
        text = self._get_text(key)
        if text is not None and key not in self._known:
            self._texts[key] = text
        return text

    def consolidate(self, members: Any, *, whole: bool) -> None:
        """Take consolidated metadata. They are the documents of a store that is not `whole` or not listed."""
        self.consolidated = members if isinstance(members, dict) else {}
        self._is_consolidated = isinstance(members, dict)
        if not (whole and self.store.listed):
            self.extra = self.consolidated

    def fill_gaps(self) -> None:
        """Let consolidated metadata stand for missing documents of nodes that have other keys. Raises OSError."""
        if self._compared_text is not None and self._compare_text(self._compared_text):
            return
        if not (self.consolidated and self.store.listed):
            return
        keys = [key for key in self.consolidated if is_safe(key)]
        self.store.expect(key for key in keys if "/" in key)
        gaps = [key for key in keys if self.get(key) is None and key not in self._present]
        if gaps and self._compared_key:
            self.consolidated = (self.get(self._compared_key) or {}).get("metadata") or {}
        self.extra = {key: self.consolidated[key] for key in self.consolidated if "/" not in key}
        for key in gaps:
            del self._known[key]
            if "/" in key:
                self.missing.append(key)
                if self.store.children(key[: key.rindex("/") + 1]):
                    self.extra[key] = self.consolidated[key]

    def compare_consolidated(self, key: str) -> None:
        """Report consolidated metadata of a document that differ from those that were read, and nodes without keys."""
        listed, documents = self.consolidated, self._known
        if not (self._is_consolidated and self.store.listed):
            return
        others = self._present.difference(listed) if self._are_repeated else self._present
        shown = [name for name in sorted(others) if is_metadata(name) and name != key]
        both = [name for name in shown if name in listed]
        missing = sorted(name for name in self.missing if find_content(listed[name], name))
        gone = [name for name in missing if name not in self.extra]
        nodes = [name for name in gone if not name.endswith("/.zattrs")]
        if nodes:
            text = f"nodes are in the consolidated metadata alone, without any key: {names.list_first(nodes, 5)}"
            self.report_lost("bad-metadata", text, key)
        lists = (
            ("have documents that do not exist", [] if nodes else gone),
            ("stand for documents that do not exist", [name for name in missing if name in self.extra]),
            ("lack", [name for name in shown if name not in listed and find_content(documents[name], name)]),
            ("differ from", [name for name in both if _are_unequal(listed[name], documents[name], name)]),
        )
        phrases = [f"{what}: {names.list_first(found, 5)}" for what, found in lists if found]
        if phrases:
            text = f"the consolidated metadata {'; they '.join(phrases)}. Documents that exist are read"
            self.warn("stale-consolidation", text, key)

    def _entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return what `entries` of the store returned first."""
        entries = self._listed.get(prefix)
        if entries is None:
            entries = self._listed[prefix] = self.store.entries(prefix)
        return entries

    def children(self, prefix: str) -> list[str]:
        """Return possible node names below a prefix in byte order; reports unreadable-array without listing."""
        below, links = self._entries(prefix)
        names_below = set(below)
        if not names_below and not self.extra and not self.store.listed:
            text = "the server cannot list keys, and there are no consolidated metadata: the nodes below are unknown"
            self.report_lost("unreadable-array", text, prefix)
        for name in links:
            if not name.startswith("."):
                text = f"`{prefix}{name}` is a symbolic link, which is not followed"
                self.report_lost("unreadable-array", text, prefix + name)
        for key in self.extra:
            if key.startswith(prefix):
                names_below.add(key[len(prefix) :].split("/", 1)[0])
        if "zarr.json" in names_below and not self._is_old_node(f"{prefix}zarr.json/"):
            names_below.discard("zarr.json")
        return sorted([name for name in names_below if name and not is_own(name)])

    def _is_old_node(self, prefix: str) -> bool:
        """Return whether there is a node of Zarr v2, which may be called like the document of one of Zarr v3."""
        return self.has(f"{prefix}.zarray") or self.has(f"{prefix}.zgroup")

    def span(self, key: str) -> Span:
        """Return a document as a place, shared by everything that it describes."""
        span = self._spans.get(key)
        if span is None:
            span = self._spans[key] = Span(Source(self.store.path, b"", key=key), 0, 0)
        return span

    def report_lost(self, code: str, message: str, key: str, pointer: str = "") -> None:
        """Report unreadable, dropped content: an error, unless the run allows it."""
        allowed = self._run.accepts(code)
        helps = () if allowed else (f"read the rest with `--allow-loss {code}`",)
        self.findings += 1
        diagnostic = Diagnostic(code, Severity.ERROR, message, self.place(key, pointer), helps=helps)
        self._report.lose(diagnostic, allowed=allowed)

    def warn(self, code: str, message: str, key: str, pointer: str = "", severity: Severity = Severity.WARNING) -> None:
        """Report content that is interpreted differently from its text."""
        self.findings += 1
        self._report.add(Diagnostic(code, severity, message, self.place(key, pointer)))

    def place(self, key: str, pointer: str) -> Label:
        """Return the place of a document's member."""
        return Label(self.span(key), key=key, pointer=pointer)

    def make_names_unique(self, items: Sequence[tuple[str, str]], keys: Iterable[str], scope: str) -> list[str]:
        """Return a unique name for each (kind, name) of one scope; `keys`: their documents."""
        shown = make_unique(items)
        if any(first is not None for _, first in shown):
            self.namesakes += namesakes(items, shown, scope, [self.place(key, "") for key in keys])
        return [name for name, _ in shown]

    def name(self, written: Any, key: str, pointer: str, what: str) -> str | None:
        """Return a simple name in the model's form; None (reported) if netCDF or keys cannot have it."""
        if not isinstance(written, str):
            self.report_lost("bad-metadata", f"the name of {what} is not a string", key, pointer)
            return None
        normal_name, problem = name_in_model(written)
        if problem is None:
            return normal_name
        code = "bad-metadata" if what == "an attribute" else "unreadable-array"
        self.report_lost(code, f"{what}: {problem}", key, pointer)
        return None


def _decode_quickly(text: bytes) -> Json | None:
    """Return a JSON object, without the spelling of numbers; None if the text is not one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _are_unequal(one: Any, other: Any, key: str) -> bool:
    """Return whether two states of a document differ, apart from redundant members. Most are equal as they stand."""
    return bool(one != other) and find_content(one, key) != find_content(other, key)


def find_content(document: Any, key: str) -> str | None:
    """Return a document of a node as comparable text, without redundant members; None for an empty one."""
    if not isinstance(document, dict):
        return json.dumps(document)
    if key.endswith(".zattrs"):
        return json.dumps(document, sort_keys=True) if document else None
    members = {
        name: value
        for name, value in document.items()
        if name != "consolidated_metadata" and value not in (None, [], {}) and (name, value) not in _DEFAULTS
    }
    return json.dumps(members, sort_keys=True) if members else None


_DEFAULTS = (
    ("dimension_separator", "."),
    ("chunk_key_encoding", {"name": "default"}),
    ("chunk_key_encoding", {"name": "default", "configuration": {"separator": "/"}}),
)
"""Members that zarr-python adds where it consolidates."""


@functools.lru_cache(maxsize=4096)
def name_in_model(written: str) -> tuple[str, str | None]:
    """Return a name in the model's form, and its problem or None. Cached: attributes share few names."""
    normal_name = names.normal(written)
    return normal_name, name_problem(normal_name)
