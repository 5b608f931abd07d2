"""A store in the making that is a reference document: it takes documents, short chunks, and where all others lie.

What it was given is held until everything is there: some forty bytes a reference. Then the document is written, an
entry a line, beside its place, and takes it when it is finished; or a folder of Parquet references.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from nczarr.arrays.chunk_references import BATCH, WHOLE, Referred, some
from nczarr.arrays.manifest import Columns
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store
from nczarr.stores.memory import MemoryStore, is_metadata
from nczarr.stores.single import Unfinished, beside
from nczarr.stores.target_urls import Naming, UnnamedTargetError, noted

PARQUET = (".parq", ".parquet")
"""How the names of folders of Parquet references end."""

NOTED = 16
"""Targets of which something is noted, at least; of more only if many references lead to each."""

MANY = 10_000
"""Targets of which something is noted where references lead to parts of them, as in a series of files."""

_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def begin(path: str, plan: StorePlan, folder: Callable[[], Store]) -> tuple[Store, str]:
    """A new document for a plan, and where it can be read before it is finished. `folder` begins one at the path.

    Raises OSError, FileExistsError.
    """
    if path.rstrip("/").lower().endswith(PARQUET):
        store = folder()
        return ParquetTarget(path, plan, store), store.path
    target = JsonTarget(path, plan)
    return target, target.unfinished.path


def text(plan: StorePlan, fill: Callable[[Store], object]) -> Iterator[bytes]:
    """The document of a plan as a text; `fill` puts everything into the store that it is given. Raises OSError."""
    held = Held("", plan)
    fill(held)
    yield from held.document()


class Held(MemoryStore):
    """What a document consists of."""

    def __init__(self, path: str, plan: StorePlan) -> None:
        super().__init__()
        self.path = path
        self.arrays: list[Referred] = []
        self._naming = Naming(path, plan.options.source, plan.options.writing)
        self._urls: dict[str, str] = {}
        self._notes: dict[str, dict[str, Any]] = {}

    def add(self, referred: Referred) -> None:
        """Hold where the chunks of an array lie. Raises CompileError: unnamed-target."""
        columns = referred.columns
        try:
            urls = tuple(self._url(source) for source in columns.sources)
        except UnnamedTargetError as error:
            helps = ("`--base URL` says where targets lie",)
            fault = Diagnostic(
                "unnamed-target", Severity.ERROR, f"`{referred.chunk_keys.prefix}`: {error}", helps=helps
            )
            raise CompileError([fault]) from None
        most = MANY if (columns.length != WHOLE).all() else NOTED
        if len(urls) <= max(most, len(columns.chunk) // 4):
            for source, url in zip(columns.sources, urls, strict=True):
                if url not in self._notes:
                    self._notes[url] = noted(source)
        self.arrays.append(referred._replace(columns=columns._replace(sources=urls)))

    def _url(self, source: str) -> str:
        known = self._urls.get(source)
        if known is None:
            known = self._urls[source] = self._naming.url(source)
        return known

    def document(self) -> Iterator[bytes]:
        """The JSON text: version 1, without templates and generators, which not all readers know."""
        yield b'{"version":1,\n"refs":{'
        before = b"\n"
        for key in sorted(self.content):
            yield before + f"{_json(key)}:{_json(_text(self.content[key]))}".encode()
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
        """What is noted of targets; empty: nothing."""
        notes = {url: note for url, note in sorted(self._notes.items()) if note}
        return {"targets": notes} if notes else {}


class JsonTarget(Held):
    """A document in a file or at a URL."""

    def __init__(self, path: str, plan: StorePlan) -> None:
        super().__init__(path, plan)
        self._stack = ExitStack()
        self.unfinished: Unfinished = self._stack.enter_context(beside(path, plan.options.storage.of("target")))
        self._written = False

    def seal(self) -> None:
        """Write the document beside its place. Raises OSError."""
        if not self._written:
            with open(self.unfinished.path, "xb") as file:
                file.writelines(self.document())
            self._written = True

    def finish(self) -> None:
        """Put it in its place. Raises OSError."""
        self.seal()
        self._stack.close()

    def abort(self) -> None:
        """Remove what is written, unless it is finished. Raises OSError."""
        self.unfinished.discard()
        self._stack.close()


class ParquetTarget(Held):
    """A folder of Parquet references."""

    def __init__(self, path: str, plan: StorePlan, store: Store) -> None:
        super().__init__(path, plan)
        self._store = store
        self._written = False

    def seal(self) -> None:
        """Write everything. Raises OSError; CompileError for what Parquet cannot hold."""
        if not self._written:
            from nczarr.formats.reference import write_parquet

            documents = [(key, data) for key, data in sorted(self.content.items()) if is_metadata(key)]
            inline = {key: data for key, data in sorted(self.content.items()) if not is_metadata(key)}
            write_parquet.write(self._store, documents, inline, self.arrays, noted=self.noted)
            self._written = True
        self._store.seal()

    def finish(self) -> None:
        """Put it in its place. Raises OSError."""
        self.seal()
        self._store.finish()

    def abort(self) -> None:
        """Remove what is written, unless it is finished."""
        self._store.abort()


def _text(data: bytes) -> str:
    """Data as a document holds them: as they are if they are printable ASCII, documents with line ends among them."""
    if data.isascii() and not data.startswith(b"base64:"):
        text = data.decode("ascii")
        if text.replace("\n", "").isprintable():
            return text
    if data[:1] == b"{":
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return "base64:" + base64.b64encode(data).decode("ascii")


def _lines(array: Referred) -> Iterator[bytes]:
    """The entries of an array, an entry a line, in blocks."""
    quoted = array.chunk_keys._replace(prefix=_json(array.chunk_keys.prefix)[1:-1])
    urls = [_json(url) for url in array.columns.sources]
    for start in range(0, len(array.columns.chunk), BATCH):
        columns = some(array.columns, slice(start, start + BATCH))
        keys = array._replace(chunk_keys=quoted, columns=columns).keys()
        yield ",\n".join(_entries(keys, urls, columns)).encode()


def _entries(keys: Iterator[str], urls: list[str], columns: Columns) -> Iterator[str]:
    source, offset, length = columns.source.tolist(), columns.offset.tolist(), columns.length.tolist()
    for key, number, begin, size in zip(keys, source, offset, length, strict=True):
        yield f'"{key}":[{urls[number]}]' if size == WHOLE else f'"{key}":[{urls[number]},{begin},{size}]'
