"""Client of CDM Remote: datasets that a server provides in sections over HTTP.

`open_path` returns `served` for such a URL: the header as a source, and the
service for the rest. Requests use `connection.py`: retries, time limits, the
server's error texts, no secrets. Invariant: answers are limited to their
maximum size, and an answer that is not a message stream raises an OSError that
describes it.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.source import Source
from nczarr.stores.connection import Connection, MissingProtocolError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

MOST_BYTES = 1 << 30
"""Maximum bytes of an answer of unknown size."""

LONGEST_HEADER = 256 << 20
"""Maximum bytes of a header."""

KEPT_BYTES = 64 << 20
"""Bytes of answers that a service caches."""

WORDS = 300
"""Maximum characters of a server's error text."""

BEGINNINGS = (b"CDFS", b"\xad\xec\xce\xda", b"\xab\xec\xce\xba", b"\xab\xeb\xbe\xba", b"\xab\xad\xba\xda")
"""Magic numbers of answers."""

_keeping = threading.Lock()


class Served(Source):
    """Header of a dataset on a server, with the service for its values."""

    __slots__ = ("service",)

    def __init__(self, name: str, data: bytes, service: Service) -> None:
        super().__init__(name, data, binary=True)
        self.service = service


class Answer(NamedTuple):
    """Answer of a server."""

    description: str
    """Header `Content-Description`."""
    type: str
    """Content type."""
    data: bytes
    """Body."""


class RefusedAnswerError(OSError):
    """A status other than 200, with the server's text."""

    def __init__(self, status: int, words: str) -> None:
        number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT}.get(status, errno.EIO)
        super().__init__(number, f"the server reports {status}: {words}" if words else f"the server reports {status}")
        self.status = status


def served(url: str, storage: StorageOptions = NO_OPTIONS) -> Served:
    """Return the dataset at a URL, with its header. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, storage)
    return Served(service.shown, service.ask("header", most=LONGEST_HEADER), service)


class Service(Connection):
    """A dataset on a server, picklable like all connections."""

    @cached_property
    def _opened(self) -> tuple[AbstractFileSystem, str]:
        try:
            system: AbstractFileSystem = _asking()(**self._arguments())
        except ImportError as error:
            library = (error.name or "aiohttp").partition(".")[0]
            raise MissingProtocolError(self.protocol, f"CDM Remote needs `{library}`, which is not installed") from None
        except Exception as error:  # the library refuses options as it likes
            raise self.failure(error) from None
        return system, self.place.path

    @cached_property
    def _kept(self) -> OrderedDict[str, bytes]:
        return OrderedDict()

    def ask(self, what: str, *, variable: str | None = None, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """Return the stream that answers `req=what`.

        `variable`: a section; `size`: approximate bytes; `most`: maximum bytes.
        Raises OSError, also if the answer is no stream.
        """
        from urllib.parse import quote

        query = f"req={what}"
        if variable is not None:
            query += "&var=" + quote(variable.encode("utf-8", "surrogateescape"), safe="")
        base, _, fragment = self.place.path.partition("#")
        if fragment:
            base += "%23" + fragment
        url = f"{base}{'&' if '?' in base else '?'}{query}"
        answer: Answer = self._tried("ask", (url, most), {}, "", size)
        if not answer.data.startswith(BEGINNINGS):
            raise OSError(errno.EIO, self._surprise(answer), self.shown)
        return answer.data

    def recall(self, what: str, *, variable: str, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """Return a cached answer, or `ask`."""
        with _keeping:
            known = self._kept.get(variable)
            if known is not None:
                self._kept.move_to_end(variable)
                return known
        data = self.ask(what, variable=variable, size=size, most=most)
        with _keeping:
            self._kept[variable] = data
            total = sum(map(len, self._kept.values()))
            while total > KEPT_BYTES and len(self._kept) > 1:
                total -= len(self._kept.popitem(last=False)[1])
        return data

    def _surprise(self, answer: Answer) -> str:
        kind = answer.description or answer.type.partition(";")[0].strip() or "an answer without a content type"
        begins = answer.data[:16].decode("latin-1")
        came = f"{len(answer.data)} bytes of `{kind}` that begin with {begins!r}" if answer.data else "an empty answer"
        return f"this is not a CDM Remote server: it sent {came} instead of a stream of messages"


@cache
def _asking() -> Any:
    """Return the HTTP file system class with requests that also return headers."""
    from fsspec.implementations.http import HTTPFileSystem
    from yarl import URL

    class Asking(HTTPFileSystem):  # type: ignore[misc]
        async def _ask(self, url: str, most: int) -> Answer:
            session = await self.set_session()
            async with session.get(URL(url, encoded=True), **self.kwargs) as response:
                if response.status != 200:
                    said = await response.content.read(4 * WORDS)
                    words = " ".join(said.decode("utf-8", "replace").split())
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
                told = response.headers
                return Answer(told.get("Content-Description", ""), told.get("Content-Type", ""), b"".join(pieces))

    return Asking
