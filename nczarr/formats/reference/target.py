"""Writable store that becomes a reference document, of documents, short chunks and references.

Content stays in memory until finished, some forty bytes a reference. Then the
document is written next to its destination, one entry a line, and moved there;
or a folder of Parquet references is written.
"""

import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from nczarr.arrays.chunks.manifest import BATCH, WHOLE, Referred, some
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.formats.reference import ARRAY, TEXT
from nczarr.plan.plans import StorePlan
from nczarr.plan.requested_storage import place_omitted_fills
from nczarr.stores.base import Store, is_metadata
from nczarr.stores.memory import MemoryStore
from nczarr.stores.open import write_beside
from nczarr.stores.places import Unfinished
from nczarr.stores.target_urls import UnnamedTargetError, UrlNaming, note_properties

PARQUET = (".parq", ".parquet")
"""Suffixes of folders of Parquet references."""

NOTED = 16
"""Number of targets with notes; more only with many references to each."""

MANY = 10_000
"""Number of targets with notes if references are byte ranges, as in file series."""

_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def begin(path: str, plan: StorePlan, folder: Callable[[], Store]) -> tuple[Store, str]:
    """Return a new document for a plan, and its readable temporary path. Raises OSError, FileExistsError.

    `folder` creates a store at the path.
    """
    if path.rstrip("/").lower().endswith(PARQUET):
        store = folder()
        return ParquetTarget(path, plan, store), store.path
    target = JsonTarget(path, plan)
    return target, target.unfinished.path


def text(plan: StorePlan, fill: Callable[[Store], object]) -> Iterator[bytes]:
    """Yield the document of a plan; `fill` fills the store. Raises OSError."""
    store = DocumentStore("", plan)
    fill(store)
    yield from store.document()


class DocumentStore(MemoryStore):
    """Content of a document."""

    def __init__(self, path: str, plan: StorePlan) -> None:
        super().__init__()
        self.path = path
        self.arrays: list[Referred] = []
        self._fills = place_omitted_fills(plan)
        self._naming = UrlNaming(path, plan.options.reading.source, plan.options.target.writing)
        self._keeps_names = plan.options.target.writing.keep_names
        self._urls: dict[str, str] = {}
        self._notes: dict[str, dict[str, Any]] = {}

    def accepts(self, sources: tuple[str, ...]) -> bool:
        """Return True: `add` reports a target without a name."""
        return True

    def add(self, referred: Referred) -> None:
        """Add the chunk references of an array. Raises CompileError: unnamed-target."""
        columns, notes = referred.columns, referred.noted
        try:
            urls = tuple(self._choose_url(source, notes) for source in columns.sources)
        except UnnamedTargetError as error:
            text = f"`{referred.chunk_keys.prefix}`: {error}"
            fault = Diagnostic("unnamed-target", Severity.ERROR, text, helps=error.helps)
            raise CompileError([fault]) from None
        most = MANY if (columns.length != WHOLE).all() else NOTED
        if len(urls) <= max(most, len(columns.chunk) // 4):
            for source, url in zip(columns.sources, urls, strict=True):
                if url not in self._notes:
                    self._notes[url] = _facts(notes.get(source)) or note_properties(source)
        self.arrays.append(referred._replace(columns=columns._replace(sources=urls), noted={}))

    def _choose_url(self, source: str, notes: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the URL to write for a source: as its reader noted it, if the run keeps names, else a new one."""
        url = self._urls.get(source)
        if url is None:
            spelled = notes.get(source, {}).get("url") if self._keeps_names else None
            if spelled is None:
                spelled = self._naming.url(source)
            else:
                self._naming.check(source)
            url = self._urls[source] = spelled
        return url

    def document(self) -> Iterator[bytes]:
        """Yield version 1 JSON without templates and generators, which not all readers support."""
        yield b'{"version":1,\n"refs":{'
        before = b"\n"
        for key in sorted(self.content):
            yield before + f"{_json(key)}:{_json(text_of(self.content[key]))}".encode()
            before = b",\n"
        for array in self.arrays:
            for lines in _lines(array):
                yield before + lines
                before = b",\n"
        yield b"\n}"
        if self.noted:
            yield b',\n"nczarr":' + _json(self.noted).encode()
        yield b"}\n"

    @property
    def noted(self) -> dict[str, Any]:
        """Notes on targets, and places of `_FillValue` that only fill values state; possibly empty."""
        notes = {url: note for url, note in sorted(self._notes.items()) if note}
        members = {"targets": notes, "fill_values": self._fills}
        return {name: content for name, content in members.items() if content}


class JsonTarget(DocumentStore):
    """A document in a file or at a URL."""

    def __init__(self, path: str, plan: StorePlan) -> None:
        super().__init__(path, plan)
        self._stack = ExitStack()
        storage = plan.options.run.storage.of("target")
        self.unfinished: Unfinished = self._stack.enter_context(write_beside(path, storage))
        self._written = False

    def seal(self) -> None:
        if not self._written:
            with open(self.unfinished.path, "xb") as file:
                file.writelines(self.document())
            self._written = True

    def finish(self) -> None:
        self.seal()
        self._stack.close()

    def abort(self) -> None:
        self.unfinished.discard()
        self._stack.close()


class ParquetTarget(DocumentStore):
    """A folder of Parquet references."""

    def __init__(self, path: str, plan: StorePlan, store: Store) -> None:
        super().__init__(path, plan)
        self._store = store
        self._written = False

    def seal(self) -> None:
        """Write all documents, short chunks and references as Parquet, once, and make the target final."""
        if not self._written:
            from nczarr.formats.reference import parquet_rows

            documents = {key: data for key, data in sorted(self.content.items()) if is_metadata(key)}
            inline = {
                key: data
                for key, data in sorted(self.content.items())
                if not is_metadata(key) and not _is_in_sidecar(key, documents)
            }
            parquet_rows.write(self._store, documents.items(), inline, self.arrays, noted=self.noted)
            self._written = True
        self._store.seal()

    def finish(self) -> None:
        self.seal()
        self._store.finish()

    def abort(self) -> None:
        self._store.abort()


def _facts(note: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return recorded properties of a target as members of a document."""
    kinds = {"size": int, "mtime": str, "etag": str}
    return {name: note[name] for name, kind in kinds.items() if note and type(note.get(name)) is kind}


def text_of(data: bytes) -> str:
    """Return data as text: printable ASCII lines, or UTF-8 beginning with `{`, unchanged; else base64."""
    if data.isascii() and not data.startswith(TEXT.encode()):  # else it would be decoded
        text = data.decode("ascii")
        if text.replace("\n", "").isprintable():
            return text
    if data[:1] == b"{":
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8")
    return TEXT + binascii.b2a_base64(data, newline=False).decode("ascii")


def _is_in_sidecar(key: str, documents: Mapping[str, bytes]) -> bool:
    """Return whether a key belongs to the Awkward document of a variable, which copies no value.

    Parquet references hold only documents of Zarr and chunks of arrays.
    """
    from nczarr.formats.common.awkward.sidecar import FOLDER

    folder = key[: key.rfind("/") + 1]
    return f"/{folder}".endswith(f"/{FOLDER}") and folder + ARRAY not in documents


def _lines(array: Referred) -> Iterator[bytes]:
    """Yield the entries of an array in blocks, one entry a line."""
    quoted = array.chunk_keys._replace(prefix=_json(array.chunk_keys.prefix)[1:-1])
    urls = [_json(url) for url in array.columns.sources]
    for start in range(0, len(array.columns.chunk), BATCH):
        columns = some(array.columns, slice(start, start + BATCH))
        keys = array._replace(chunk_keys=quoted, columns=columns).keys()
        numbers = (column.tolist() for column in (columns.source, columns.offset, columns.length))
        entries = (
            f'"{key}":[{urls[number]}]' if size == WHOLE else f'"{key}":[{urls[number]},{begin},{size}]'
            for key, number, begin, size in zip(keys, *numbers, strict=True)
        )
        yield ",\n".join(entries).encode()
