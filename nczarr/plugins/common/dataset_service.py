"""Datasets on servers that answer requests with whole documents.

    PROTOCOL:http://host/path

An open dataset is a source with its declarations (a header, DDS or DMR), and the
service for the rest. Invariants: an answer is limited to its maximum size, and a
status other than 200 raises an OSError with the server's text. Requests use
a connection: retries, time limits, no secrets.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.places import find_places
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.url import BadURLError, Location, LocationKind, location, lower_protocols

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

MOST_BYTES = 1 << 30
"""Maximum bytes of an answer of unknown size."""

LONGEST_DOCUMENT = 256 << 20
"""Maximum bytes of a header, DDS, DAS or DMR."""

KEPT_BYTES = 64 << 20
"""Bytes of answers that a service caches."""

WORDS = 300
"""Maximum characters of a server's error text."""

_MESSAGE = re.compile(r'\bmessage\s*=\s*"((?:\\.|[^"\\])*)|<(?:\w+:)?Message[^>]*>([^<]*)', re.IGNORECASE)
"""Messages in error documents of OPeNDAP."""


class ServiceProtocol(NamedTuple):
    """Protocol of a dataset on a server."""

    server: str
    document: str
    """Its declarations, in messages."""
    queries: tuple[str, ...]
    """Queries for the declarations; the next one is asked where a server does not know one."""
    begins: re.Pattern[bytes]
    """Beginning of the declarations."""
    is_binary: bool = False
    """True if all answers begin as the declarations do."""

    @property
    def has_suffixes(self) -> bool:
        """True if requests are suffixes of the URL, not queries."""
        return not self.queries[0].startswith("?")


class ServiceAnswer(NamedTuple):
    """Answer of a server."""

    type: str
    """Header `Content-Description`, else the content type."""
    data: bytes
    """Body."""


class RefusedAnswerError(OSError):
    """A status other than 200, with the server's text."""

    def __init__(self, status: int, words: str) -> None:
        number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT}.get(status, errno.EIO)
        super().__init__(number, f"the server reports {status}: {words}" if words else f"the server reports {status}")
        self.status = status


class Served(Source):
    """Declarations of a dataset on a server, with the service for its values."""

    __slots__ = ("service",)

    def __init__(self, data: bytes, service: Service) -> None:
        super().__init__(service.shown, data, binary=service.served_by.is_binary)
        self.service = service


def make_kind(protocol: ServiceProtocol) -> LocationKind:
    """Return the kind of location of datasets behind a protocol."""
    return LocationKind(
        _locate,
        lambda url, place, storage: read_served(url, protocol, storage),
        lambda place, storage: None,
        protocol.server,
    )


def _locate(text: str, rest: str) -> Location:
    """Return the location of a dataset on a server. Raises BadURLError."""
    url = "http:" + rest if rest.startswith("//") else lower_protocols(rest)
    if not url.partition("://")[2].partition("/")[0]:
        raise BadURLError("the URL names no server")
    return Location(url, remote=True)


def read_served(url: str, protocol: ServiceProtocol, storage: StorageOptions = NO_OPTIONS) -> Served:
    """Return the dataset at a URL, with its declarations. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, protocol, storage)
    queries = protocol.queries
    for query in queries[:-1]:
        try:
            answer = service.ask(query, LONGEST_DOCUMENT)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EIO):
                raise
            continue  # a server that lacks this document answers as it likes
        if service.served_by.begins.match(answer.data):
            return Served(answer.data, service)
    answer = service.ask(queries[-1], LONGEST_DOCUMENT)
    service.check(answer)
    return Served(answer.data, service)


class Service:
    """A dataset on a server, picklable like all connections."""

    def __init__(self, url: str, protocol: ServiceProtocol, options: StorageOptions = NO_OPTIONS) -> None:
        self.served_by = protocol
        self.url = url
        self.connection = find_places(url).connect(url, options, partial(_make_system, protocol.server))
        self.shown = self.connection.shown

    def __getstate__(self) -> dict[str, Any]:
        """Return only the description."""
        return {name: getattr(self, name) for name in ("served_by", "url", "connection", "shown")}

    @cached_property
    def base(self) -> str:
        """URL of the dataset. Raises BadURLError."""
        base, _, fragment = location(self.url).path.partition("#")
        if "?" in base and self.served_by.has_suffixes:
            raise BadURLError(
                "the URL of a dataset has a query; select variables and sections by `--var` and `--section`"
            )
        base = f"{base}%23{fragment}" if fragment else base
        return base.rstrip("/") if self.served_by.has_suffixes else base

    @cached_property
    def _kept(self) -> BoundedCache[str, bytes]:
        return BoundedCache(KEPT_BYTES, len)

    def answer(self, query: str, *, most: int = MOST_BYTES, size: int = 0, keep: bool = False) -> bytes:
        """Return the answer to an encoded query, which follows the URL of the dataset. Raises OSError.

        `most`: maximum bytes; `size`: approximate bytes; `keep`: cache the answer.
        """
        cached: bytes | None = self._kept.get(query)
        if cached is not None:
            return cached
        answer = self.ask(query, most, size)
        if self.served_by.is_binary:
            self.check(answer)
        if keep:
            self._kept.put(query, answer.data)
        return answer.data

    def ask(self, query: str, most: int, size: int = 0) -> ServiceAnswer:
        """Return the answer to an encoded query. `most`: maximum bytes; `size`: approximate bytes. Raises OSError."""
        url = self.base + (f"&{query[1:]}" if query[0] == "?" in self.base else query)
        answer: ServiceAnswer = self.connection.ask("ask", url, most, size=size)
        return answer

    def check(self, answer: ServiceAnswer) -> None:
        """Check that an answer begins as those of the protocol. Raises OSError."""
        if self.served_by.begins.match(answer.data):
            return
        head = answer.data[:4096].decode("utf-8", "replace")
        words = message(head)
        text = f"the server reports an error: {words[:WORDS]}"
        if words == " ".join(head.split()):
            begins = answer.data[:16].decode("latin-1")
            sent = f"{len(answer.data)} bytes of `{answer.type}` that begin with {begins!r}"
            sent = sent if answer.data else "an empty answer"
            text = f"this is not {self.served_by.server}: it sent {sent} instead of {self.served_by.document}"
        raise OSError(errno.EIO, text, self.shown)


def encode(text: str, safe: str = ",.:/;") -> str:
    """Return a part of a query as URLs contain it. `safe`: characters that stay."""
    from urllib.parse import quote

    return quote(text.encode("utf-8", "surrogateescape"), safe=safe)


def message(text: str) -> str:
    """Return the message of an error document, else the text, with single blanks."""
    match_of_message = _MESSAGE.search(text)
    return " ".join((text if match_of_message is None else match_of_message[1] or match_of_message[2] or text).split())


def _make_system(server: str, arguments: Mapping[str, Any]) -> AbstractFileSystem:
    """Return the file system for a server, as messages name it. Raises ImportError."""
    try:
        system: AbstractFileSystem = _asking()(**arguments)
    except ImportError as error:
        library = (error.name or "aiohttp").partition(".")[0]
        raise ImportError(f"{server} needs `{library}`, which is not installed") from None
    return system


@cache
def _asking() -> Any:
    """Return the HTTP file system class with requests that also return headers."""
    from fsspec.implementations.http import HTTPFileSystem
    from yarl import URL

    class Asking(HTTPFileSystem):  # type: ignore[misc]
        async def _ask(self, url: str, most: int) -> ServiceAnswer:
            """Send a GET request; raise RefusedAnswerError without status 200, ValueError above `most` bytes."""
            session = await self.set_session()
            async with session.get(URL(url, encoded=True), **self.kwargs) as response:
                if response.status != 200:
                    body = await response.content.read(4 * WORDS)
                    words = message(body.decode("utf-8", "replace"))
                    plain = "html" not in response.headers.get("Content-Type", "")
                    raise RefusedAnswerError(
                        response.status, words[:WORDS] if plain and words else str(response.reason or "")
                    )
                pieces, count = [], 0
                async for piece in response.content.iter_chunked(1 << 20):
                    count += len(piece)
                    if count > most:
                        raise ValueError(f"the answer has more than {most} bytes")  # is not asked for again
                    pieces.append(piece)
                kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
                kind = response.headers.get("Content-Description") or kind or "an answer without a content type"
                return ServiceAnswer(kind, b"".join(pieces))

    return Asking
